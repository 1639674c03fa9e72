"""What a class is, in the user's own columns: what sets it apart, a rule, its neighbours, a name to suggest."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from newfound._internal.words import and_list, count, percent
from newfound.classes import Classes
from newfound.discovery.tree import ClassTree
from newfound.explain.columns import (
    RowSample,
    SourceColumn,
    choose_rows,
    columns_from_names,
    histograms,
    named_columns,
    shortlist,
    source_columns,
)
from newfound.explain.differences import Found, Sides, find_differences
from newfound.explain.rules import Condition, grow_rule
from newfound.explain.wording import Description, Descriptions, category_text, short_name
from newfound.tables.dataset import Column, Dataset

# ---- Hints for a decision about a class: what the class tree would do next, and which classes its rows border on ----

BORDER = 0.1  # a row borders on another class with a probability above this
MIN_BORDER_SHARE = 0.05  # of a class's rows; below, there is no hint


class TreeHints(NamedTuple):
    """What the class tree would do next, if the range of the number of new classes allows it."""

    closest: tuple[str, ...] = ()  # the two new classes that may be one
    divisible: str | None = None  # the new class that could be two


def tree_hints(tree: ClassTree | None, classes: Classes, n_new_range: tuple[int, int]) -> TreeHints:
    """Hints at fewer or more classes, only if the range of their number includes that."""
    closest, divisible = near_and_wide(tree, classes)
    n_new = int(classes.is_new.sum())
    return TreeHints(tuple(closest) if n_new_range[0] < n_new else (), divisible if n_new < n_new_range[1] else None)


def near_and_wide(tree: ClassTree | None, classes: Classes) -> tuple[list[str], str | None]:
    """The two new classes that the tree would join next, and the one that it would divide."""
    components = np.array(classes.new_components, dtype=int)
    if tree is None or len(components) == 0:
        return [], None
    own = tree.among(components - (classes.n_components - tree.n_fragments))
    position = classes.component_class[components]
    held = [{int(i)} for i in position]  # for each node, the classes of its fragments
    closest: list[str] = []
    divisible = None
    for a, b in own.children.tolist():
        held.append(held[a] | held[b])
        if len(held[-1]) == 1:  # the last such join divides the widest class
            divisible = str(classes.names[next(iter(held[-1]))])
        elif not closest and len(held[a]) == len(held[b]) == 1:
            closest = [str(classes.names[i]) for i in sorted(held[-1])]
    return closest if classes.is_new.sum() > 2 else [], divisible  # with two classes there is only one pair


def hints_for(name: str, tree: TreeHints, border: tuple[str, float] | None) -> tuple[str, ...]:
    """The hints in words."""
    hints = ["It could be two classes."] if name == tree.divisible else []
    pair = tree.closest if name in tree.closest else ()
    hints += [f"Close to “{other}”; the two may be one class." for other in pair if other != name]
    if border is not None and border[1] >= MIN_BORDER_SHARE:
        hints.append(f"{percent(border[1])} of it borders on “{border[0]}”.")
    return tuple(hints)


def border_of(
    position: int, rows: np.ndarray, weight: np.ndarray, probabilities: np.ndarray
) -> tuple[int, float] | None:
    """The class that most of these rows border on, and their share.

    A row borders on the most probable other class if the probability is above BORDER. `probabilities` are those of
    classes for all rows; `rows` flags the rows of the class at `position`.
    """
    others = probabilities[rows].astype(float)
    if not len(others) or others.shape[1] < 2:
        return None
    others[:, position] = -1.0
    second = others.argmax(axis=1)
    is_border = others.max(axis=1) > BORDER
    shares = np.bincount(second, weight[rows] * is_border, minlength=others.shape[1]) / weight[rows].sum()
    return int(shares.argmax()), float(shares.max())


# ---- One sentence and a suggested name, from what sets a class apart ----

MAX_IN_SENTENCE = 3  # columns
MAX_IN_NAME = 2  # columns, unless the name is taken
MAX_RANK_CORRELATION = 0.8  # a column that correlates more with one already chosen is left out of the sentence
MIN_RELATIVE_EFFECT = 0.6  # of the strongest effect; weaker differences are left out of the sentence


def sentence_of(found: Sequence[Found]) -> str:
    """“Rows with island Dream and bill_length_mm 48.8, 9.9 more than Adelie.”; "" without differences."""
    chosen = strongest(found)
    words = [one for one in chosen if one.column.is_categorical]
    numbers = [one for one in chosen if not one.column.is_categorical]
    parts = [one.phrase for one in (*words, *numbers)]
    if len(numbers) == 1:
        parts[-1] = numbers[0].difference.text
    return f"Rows with {and_list(parts)}." if parts else ""


def strongest(found: Sequence[Found]) -> list[Found]:
    """The strongest differences, at most MAX_IN_SENTENCE, in columns that do not correlate."""
    chosen: list[Found] = []
    for one in found:
        is_strong = one.difference.effect >= MIN_RELATIVE_EFFECT * found[0].difference.effect
        if is_strong and all(_rank_correlation(one.column, other.column) < MAX_RANK_CORRELATION for other in chosen):
            chosen.append(one)
    return chosen[:MAX_IN_SENTENCE]


def _rank_correlation(one: SourceColumn, other: SourceColumn) -> float:
    """Of two columns of numbers; 0 for categories."""
    if one.is_categorical or other.is_categorical:
        return 0.0
    return abs(float(np.corrcoef(one.ranks[1], other.ranks[1])[0, 1]))


# ---- a name to suggest -----------------------------------------------------------------------------------------------


def suggest_name(conditions: Sequence[Condition], found: Sequence[Found], taken: Collection[str]) -> str | None:
    """“island Dream, bill_length_mm high”: from the rule, else from the differences; None if all are taken."""
    for name in _names(conditions, found):
        if name.casefold() not in {other.casefold() for other in taken}:
            return name
    return None


def _names(conditions: Sequence[Condition], found: Sequence[Found]) -> Iterator[str]:
    """Short ones first."""
    by_rule = {condition.column.name: _condition_name(condition) for condition in conditions}
    by_difference = {one.column.name: _difference_name(one) for one in found}
    rule = [name for name in by_rule.values() if name]
    others = [name for column, name in by_difference.items() if column not in by_rule and name]
    parts = [*rule, *others]
    first = min(max(len(rule), 1), MAX_IN_NAME)
    yield from (", ".join(parts[:n]) for n in range(first, len(parts) + 1))


def _condition_name(condition: Condition) -> str:
    name = short_name(condition.column.name)
    if condition.column.is_categorical:
        return f"{name} {category_text(condition.column.categories[condition.allowed[0]])}" * (
            len(condition.allowed) == 1
        )
    if not condition.has_upper:
        return f"{name} high"
    return f"{name} medium" if condition.has_lower else f"{name} low"


def _difference_name(found: Found) -> str:
    difference = found.difference
    name = short_name(difference.column)
    if found.column.is_categorical:
        return f"{name} {difference.value}"
    assert isinstance(difference.value, float)
    assert isinstance(difference.elsewhere, float)
    return f"{name} {'high' if difference.value > difference.elsewhere else 'low'}"


# ---- From a sample of rows and their classes to a description of each class ----


def describe(model: Any, X: Any, *, feature_names: Sequence[str] | None = None) -> Descriptions:
    """Describe each class of a fitted model in words: what sets it apart, a rule for a new class, a name to suggest.

    Parameters
    ----------
    model : fitted estimator
        A `GMDGM`, or another one of newfound's.
    X : matrix of numbers, or Dataset
        Rows to describe the classes by, in your own units, with the classes that the model predicts for them. A
        `Dataset` from `newfound.read_dataset` also has the names of columns and categories.
    feature_names : sequence of str or None
        A name for each column of X; the default is the column names of the fitted data frame, or else "x0", "x1", ….

    Returns
    -------
    A tuple of `Description`, in the order of `model.classes_`; `print` shows it as text.
    """
    matrix = X.X if isinstance(X, Dataset) else X
    predicted = model.predict(matrix).astype(str)
    columns = X.columns if isinstance(X, Dataset) else _columns(model, matrix, feature_names)
    sample = sample_of(model, matrix if hasattr(matrix, "iloc") else np.asarray(matrix), columns, predicted)
    hints = tree_hints(model.tree_, model.fitted_.classes, model.n_new_range_)
    return describe_classes(sample, columns, predicted[sample.rows], model.fitted_.classes, hints)


def _columns(model: Any, X: Any, names: Sequence[str] | None) -> list[Column]:
    if model.image_shape is not None:
        return []
    width = np.shape(X)[1]
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    names = [f"x{i}" for i in range(width)] if names is None else [str(name) for name in names]
    if len(names) != width:
        raise ValueError(f"X has {width:,} columns but {len(names):,} feature_names. Give one name for each column.")
    return columns_from_names(names, model.feature_types)


def sample_of(model: Any, X: Any, columns: Sequence[Column], names: np.ndarray) -> RowSample:
    """Rows of a matrix or data frame to describe classes by, from the class of every row.

    It has no X if no column can be described.
    """
    has_columns = bool(named_columns(columns))
    codes = np.unique(names, return_inverse=True)[1]
    rows, weight = choose_rows(codes, X.shape[1] if has_columns else 1)
    some = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    probabilities = model.predict_component_proba(some).astype(np.float16)
    return RowSample(rows, weight, np.asarray(some) if has_columns else None, model.transform(some), probabilities)


class _Table(NamedTuple):
    """The sample, in the form that the description of each class needs."""

    columns: list[SourceColumn]
    codes: np.ndarray  # for each row, the position of its class
    weight: np.ndarray
    histograms: list[np.ndarray]  # of the columns
    probabilities: np.ndarray  # of classes


def describe_classes(
    sample: RowSample, columns: Sequence[Column], names: np.ndarray, classes: Classes, hints: TreeHints
) -> Descriptions:
    """The description of each class, from the name of the class of each sampled row.

    Only new classes get a rule, hints and a suggested name.
    """
    class_names = classes.names.astype(str).tolist()
    position_of = {name: i for i, name in enumerate(class_names)}
    codes = np.array([position_of.get(name, -1) for name in names.astype(str).tolist()], int)
    kept = codes >= 0  # a row may have no answer
    codes, weight = codes[kept], sample.weight[kept].astype(float)
    found = [] if sample.X is None else source_columns(sample.X[kept], columns, weight)
    probabilities = classes.probabilities(sample.component_probability[kept].astype(np.float32))
    table = _Table(found, codes, weight, histograms(found, codes, len(classes)), probabilities)
    nearest = _nearest_known(sample.z[kept], codes, classes)
    described: list[Description] = []
    taken = list(class_names)
    for position in range(len(classes)):
        one = _describe(table, position, nearest[position], classes, hints, taken)
        taken += [] if one.suggested_name is None else [one.suggested_name]
        described.append(one)
    return Descriptions(described)


def _nearest_known(z: np.ndarray, codes: np.ndarray, classes: Classes) -> list[int | None]:
    """For each class, the position of the other known class with the nearest centre in latent space."""
    nowhere = np.full(z.shape[1], np.nan)
    own = [z[codes == position] for position in range(len(classes))]
    centres = np.array([np.median(z, axis=0) if len(z) else nowhere for z in own])
    distance = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    distance[np.isnan(distance)] = np.inf
    distance[:, classes.is_new] = np.inf
    np.fill_diagonal(distance, np.inf)
    return [int(row.argmin()) if np.isfinite(row).any() else None for row in distance]


def _describe(
    table: _Table, position: int, nearest: int | None, classes: Classes, hints: TreeHints, taken: Sequence[str]
) -> Description:
    names, own = classes.names.astype(str).tolist(), table.codes == position
    is_new = bool(classes.is_new[position])
    near = None if nearest is None else names[nearest]
    chosen = [table.columns[i] for i in shortlist(table.histograms, position, nearest)] if own.any() else []
    found = find_differences(chosen, Sides(own, ~own, None if near is None else table.codes == nearest, near or ""))
    grown = grow_rule(chosen, own, table.weight) if is_new else None
    sentence = sentence_of(found)
    if not sentence and own.any() and is_new and near is not None:  # as with images
        n_rows = count(round(float(table.weight[own].sum())), "row")
        sentence = f"{n_rows}, nearest to “{near}” of the known classes."
    border = border_of(position, own, table.weight, table.probabilities) if is_new else None
    conditions = () if grown is None else grown.conditions
    return Description(
        name=names[position],
        sentence=sentence,
        nearest=near,
        differences=tuple(one.difference for one in found),
        rule=None if grown is None else grown.rule,
        hints=hints_for(names[position], hints, border and (names[border[0]], border[1])) if is_new else (),
        suggested_name=None if classes.is_named[position] else suggest_name(conditions, found, taken),
    )
