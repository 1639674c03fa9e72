"""What a class is, in the user's own words: what sets it apart, a rule, whom it borders on, a name to suggest."""

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
from newfound.explain.rules import Condition, Grown, grow_rule
from newfound.explain.wording import Description, Descriptions, category_text, short_name
from newfound.tables.dataset import Column, Dataset

# ---- Hints for whoever decides about a class: what the class tree would do next, and whom its rows border on ----

BORDER = 0.1  # a row borders on another class that is more probable than this
MIN_SHARE = 0.05  # of a class's rows on a border, to be told


class TreeHints(NamedTuple):
    """What the class tree would do next, as far as the number of new classes leaves room for it."""

    closest: tuple[str, ...] = ()  # the two new classes that may be one
    divisible: str | None = None  # the new class that could be two


def tree_hints(tree: ClassTree | None, classes: Classes, n_new_range: tuple[int, int]) -> TreeHints:
    """Fewer or more classes are hinted at only where the range of their number says so."""
    closest, divisible = near_and_wide(tree, classes)
    n_new = int(classes.is_new.sum())
    return TreeHints(tuple(closest) if n_new_range[0] < n_new else (), divisible if n_new < n_new_range[1] else None)


def near_and_wide(tree: ClassTree | None, classes: Classes) -> tuple[list[str], str | None]:
    """Which two new classes the tree would join next, and which one it would divide."""
    components = np.array(classes.new_components, dtype=int)
    if tree is None or len(components) == 0:
        return [], None
    own = tree.among(components - (classes.n_components - tree.n_fragments))
    position = classes.component_class[components]
    held = [{int(i)} for i in position]  # by each node: the classes of its fragments
    closest: list[str] = []
    divisible = None
    for a, b in own.children.tolist():
        held.append(held[a] | held[b])
        if len(held[-1]) == 1:  # the last such join parts the widest class
            divisible = str(classes.names[next(iter(held[-1]))])
        elif not closest and len(held[a]) == len(held[b]) == 1:
            closest = [str(classes.names[i]) for i in sorted(held[-1])]
    return closest if classes.is_new.sum() > 2 else [], divisible  # two have no choice


def hints_for(name: str, tree: TreeHints, border: tuple[str, float] | None) -> tuple[str, ...]:
    """The hints in words."""
    said = ["It could be two classes."] if name == tree.divisible else []
    pair = tree.closest if name in tree.closest else ()
    said += [f"Close to “{other}”; the two may be one class." for other in pair if other != name]
    if border is not None and border[1] >= MIN_SHARE:
        said.append(f"{percent(border[1])} of it borders on “{border[0]}”.")
    return tuple(said)


def border_of(
    position: int, rows: np.ndarray, weight: np.ndarray, probabilities: np.ndarray
) -> tuple[int, float] | None:
    """The class that most of these rows border on, and their share.

    A row borders on the most probable other class, if that is more probable than BORDER. `probabilities` are of
    classes, for all rows; `rows` are flags of those of the class at `position`.
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

IN_A_SENTENCE = 3
IN_A_NAME = 2
SAME_STORY = 0.8  # correlation of ranks from which on a second column tells nothing new
WEAK = 0.6  # share of the strongest effect below which a difference is left out of the sentence


def sentence_of(found: Sequence[Found]) -> str:
    """“Rows with island Dream and bill_length_mm 48.8, 9.9 more than Adelie.”; "" where there is nothing to tell."""
    told = telling(found)
    words = [one for one in told if one.column.is_categorical]
    numbers = [one for one in told if not one.column.is_categorical]
    parts = [one.phrase for one in (*words, *numbers)]
    if len(numbers) == 1:
        parts[-1] = numbers[0].difference.text
    return f"Rows with {and_list(parts)}." if parts else ""


def telling(found: Sequence[Found]) -> list[Found]:
    """The strongest few that do not all tell the same story."""
    chosen: list[Found] = []
    for one in found:
        is_strong = one.difference.effect >= WEAK * found[0].difference.effect
        if is_strong and all(_alike(one.column, other.column) < SAME_STORY for other in chosen):
            chosen.append(one)
    return chosen[:IN_A_SENTENCE]


def _alike(one: SourceColumn, other: SourceColumn) -> float:
    """The rank correlation of two columns of numbers."""
    if one.is_categorical or other.is_categorical:
        return 0.0
    return abs(float(np.corrcoef(one.ranks[1], other.ranks[1])[0, 1]))


def size_sentence(n_rows: int, nearest: str | None) -> str:
    """Where no column says anything to a person, as with images: “182 rows, nearest to “7” of the known classes.”."""
    return "" if nearest is None else f"{count(n_rows, 'row')}, nearest to “{nearest}” of the known classes."


# ---- a name to suggest -----------------------------------------------------------------------------------------------


def suggest_name(conditions: Sequence[Condition], found: Sequence[Found], taken: Collection[str]) -> str | None:
    """“island Dream, bill_length_mm high”: from the rule, else from the differences; None where none is left."""
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
    first = min(max(len(rule), 1), IN_A_NAME)
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


# ---- From a sample of rows and their classes to what is said of each class ----


def describe(model: Any, X: Any, *, feature_names: Sequence[str] | None = None) -> Descriptions:
    """What each class of a fitted model is, in words: what sets it apart, a rule for a new one, a name to suggest.

    Parameters
    ----------
    model : fitted estimator
        A `GMDGM`, or another one of newfound's.
    X : matrix of numbers, or Dataset
        Rows to tell it by, in your own units; their classes are those that the model predicts. A `Dataset` of
        `newfound.read_dataset` brings the names of columns and categories along.
    feature_names : sequence of str or None
        A name for each column of X; by default the data frame's that the model was fitted on, else "x0", "x1", ….

    Returns
    -------
    a tuple of `Description`, in the order of `model.classes_`; `print` shows it as text.
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

    It is without X where no column would be spoken of.
    """
    speaks = bool(named_columns(columns))
    codes = np.unique(names, return_inverse=True)[1]
    rows, weight = choose_rows(codes, X.shape[1] if speaks else 1)
    some = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    probabilities = model.predict_component_proba(some).astype(np.float16)
    return RowSample(rows, weight, np.asarray(some) if speaks else None, model.transform(some), probabilities)


class _Table(NamedTuple):
    """The sample, as all classes need it."""

    columns: list[SourceColumn]
    codes: np.ndarray  # the position of each row's class
    weight: np.ndarray
    of_columns: list[np.ndarray]  # histograms
    probabilities: np.ndarray  # of classes


def describe_classes(
    sample: RowSample, columns: Sequence[Column], names: np.ndarray, classes: Classes, hints: TreeHints
) -> Descriptions:
    """What is said of each class, from the name of each sampled row's class; in the order of the classes.

    Only new classes get a rule, hints and a name to suggest: a known class has one.
    """
    class_names = classes.names.astype(str).tolist()
    sample, codes = _of_classes(sample, names.astype(str), class_names)
    table = _table(sample, columns, codes, classes)
    nearest = _nearest_known(sample, codes, classes)
    described: list[Description] = []
    taken = list(class_names)
    for position in range(len(classes)):
        one = _describe(table, position, nearest[position], classes, hints, taken)
        taken += [] if one.suggested_name is None else [one.suggested_name]
        described.append(one)
    return Descriptions(described)


def _of_classes(sample: RowSample, names: np.ndarray, class_names: list[str]) -> tuple[RowSample, np.ndarray]:
    """The rows that belong to one of the classes, and its position; a row may have no answer."""
    place = {name: i for i, name in enumerate(class_names)}
    codes = np.array([place.get(name, -1) for name in names.tolist()], int)
    kept = codes >= 0
    X = None if sample.X is None else sample.X[kept]
    some = RowSample(sample.rows[kept], sample.weight[kept], X, sample.z[kept], sample.component_probability[kept])
    return some, codes[kept]


def _table(sample: RowSample, columns: Sequence[Column], codes: np.ndarray, classes: Classes) -> _Table:
    weight = sample.weight.astype(float)
    found = [] if sample.X is None else source_columns(sample.X, columns, weight)
    probabilities = classes.probabilities(sample.component_probability.astype(np.float32))
    return _Table(found, codes, weight, histograms(found, codes, len(classes)), probabilities)


def _nearest_known(sample: RowSample, codes: np.ndarray, classes: Classes) -> list[int | None]:
    """Of each class, the position of the known one, other than itself, whose centre in latent space is nearest."""
    nowhere = np.full(sample.z.shape[1], np.nan)
    own = [sample.z[codes == position] for position in range(len(classes))]
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
    chosen = [table.columns[i] for i in shortlist(table.of_columns, position, nearest)] if own.any() else []
    found = _differences(table, chosen, own, nearest, names)
    grown = grow_rule(chosen, own, table.weight) if is_new else None
    near = None if nearest is None else names[nearest]
    sentence = sentence_of(found)
    if not sentence and own.any() and is_new:
        sentence = size_sentence(round(float(table.weight[own].sum())), near)
    border = border_of(position, own, table.weight, table.probabilities) if is_new else None
    return Description(
        name=names[position],
        sentence=sentence,
        nearest=near,
        differences=tuple(one.difference for one in found),
        rule=None if grown is None else grown.rule,
        hints=hints_for(names[position], hints, border and (names[border[0]], border[1])) if is_new else (),
        suggested_name=None if classes.is_named[position] else _suggestion(grown, found, taken),
    )


def _differences(
    table: _Table, columns: Sequence[SourceColumn], own: np.ndarray, nearest: int | None, names: Sequence[str]
) -> list[Found]:
    if nearest is None:
        return find_differences(columns, Sides(own, ~own, None))
    return find_differences(columns, Sides(own, ~own, table.codes == nearest, names[nearest]))


def _suggestion(grown: Grown | None, found: Sequence[Found], taken: Sequence[str]) -> str | None:
    return suggest_name(() if grown is None else grown.conditions, found, taken)
