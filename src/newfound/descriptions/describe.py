"""From a sample of rows and their classes to what is said of each class."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from newfound.classes import Classes
from newfound.data import Dataset
from newfound.data.schema import Column
from newfound.descriptions.description import Description, Descriptions
from newfound.descriptions.differences import Found, Sides, find_differences
from newfound.descriptions.hints import TreeHints, border_of, hints_for, tree_hints
from newfound.descriptions.row_sample import RowSample, choose_rows
from newfound.descriptions.rules import Grown, grow_rule
from newfound.descriptions.short_texts import sentence_of, size_sentence, suggest_name
from newfound.descriptions.shortlists import histograms, shortlist
from newfound.descriptions.source_columns import SourceColumn, columns_from_names, named_columns, source_columns


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
