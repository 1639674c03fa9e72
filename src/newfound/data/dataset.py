"""What every reader returns: a Dataset. `align` gives it the classes of another one's schema."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from newfound.data.schema import Column, Schema
from newfound.errors import DataError
from newfound.labels import Labels


class Population(NamedTuple):
    """All rows of a source of which a data set is a sample: too many to be held, read as often as they are needed."""

    n_rows: int
    label_counts: dict[str, int]  # how many of them carry the label of each class
    batches: "Callable[[Schema], Iterator[Dataset]]"  # data sets of some rows each, by the sample's schema


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, their labels where there are any, and how the source was read."""

    X: np.ndarray  # (n, d), float32, float64 where that would lose something, or uint8
    labels: Labels  # of n rows; class names are text
    feature_names: list[str]  # one for each column of X
    row_ids: np.ndarray  # (n,)
    kind: str  # the data kind: "table", "images" or "matrix"
    image_shape: tuple[int, ...] | None = None  # (height, width) or (height, width, 3)
    columns: list[Column] = field(default_factory=list)  # none for images
    log: list[str] = field(default_factory=list)  # the preprocessing log: sentences, with counts
    flags: list[str] = field(default_factory=list)  # what a person should look at before believing the answer
    groups: np.ndarray | None = None  # (n,), such as HAR's subjects
    label_column: str | None = None  # the source's own name of its label column,
    id_column: str | None = None  # of its id column,
    group_column: str | None = None  # of the column that groups come from,
    dropped: list[str] = field(default_factory=list)  # and of those that are not in X
    image_size: int | None = None  # to which larger images were scaled down
    source: Any = None  # the table as it was opened, in which the user's own columns are
    population: Population | None = None  # what the rows are a sample of; None where they are all there are

    def __len__(self) -> int:
        return len(self.X)

    @property
    def schema(self) -> Schema:
        return Schema(
            kind=self.kind,
            columns=tuple(self.columns),
            class_names=tuple(map(str, self.labels.classes)),
            label_column=self.label_column,
            id_column=self.id_column,
            dropped=tuple(self.dropped),
            image_shape=self.image_shape,
            dtype=str(self.X.dtype),
            image_size=self.image_size,
        )

    def take(self, rows: np.ndarray) -> "Dataset":
        """The given rows, by position or by boolean mask."""
        groups = None if self.groups is None else self.groups[rows]
        parts = {"X": self.X[rows], "labels": self.labels.take(rows), "row_ids": self.row_ids[rows]}
        return replace(self, **parts, groups=groups, source=None, population=None)

    def fingerprint(self) -> str:
        """SHA-256 of X, labels and names: the same for the same data, whatever file it came from."""
        digest = hashlib.sha256(repr((self.X.shape, self.feature_names, list(self.schema.class_names))).encode())
        digest.update(np.ascontiguousarray(self.X).data)
        digest.update(np.ascontiguousarray(self.labels.codes, dtype=np.int64).data)
        return digest.hexdigest()


class TrainTest(NamedTuple):
    """The official split of a data set."""

    train: Dataset
    test: Dataset


def align(dataset: Dataset, schema: Schema) -> Dataset:
    """The same rows with the schema's classes first, after a check that the features are the same."""
    expected = _shape_in_words(len(schema.feature_names), schema.dtype, schema.image_shape)
    got = _shape_in_words(dataset.X.shape[1], str(dataset.X.dtype), dataset.image_shape)
    if got != expected:
        raise DataError(
            f"The model was fitted on {expected}, but these rows are {got}. "
            f"Give data of the same shape and type, or fit a model on data like this."
        )
    own = dataset.schema.class_names
    declared = [*schema.class_names, *(name for name in own if name not in schema.class_names)]
    labels = Labels.of_distinct([*own, None], dataset.labels.codes, declared)  # UNLABELLED is the last position
    return replace(dataset, labels=labels, feature_names=schema.feature_names)


def _shape_in_words(n_features: int, dtype: str, image_shape: tuple[int, ...] | None) -> str:
    if image_shape is not None:
        colours = "grey" if len(image_shape) == 2 else "colour"
        return f"{colours} images of {image_shape[0]} × {image_shape[1]} pixels (height × width)"
    return f"{n_features:,} features of type {dtype}"
