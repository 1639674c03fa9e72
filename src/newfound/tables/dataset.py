"""What every reader returns: a Dataset; and its schema, so that the next file can be read in the same way."""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from newfound._internal.records import Count, Meta, Record
from newfound._internal.words import DataError, shortened
from newfound.labels import Labels

# ---- What is known about the columns of a data set, so that the next file can be read in the same way ----


def _pair(what: str) -> tuple[str, str]:
    return f"{what} (sin)", f"{what} (cos)"


MISSING_CATEGORY = "(missing)"
MAX_FEATURES = 100_000_000
Pixels = Annotated[int, Meta(ge=1, le=MAX_FEATURES)]
DataKind = Literal["table", "images", "matrix"]
FeatureType = Literal["numeric", "binary", "categorical", "date", "block"]
DatePart = Literal["days", "weekday", "hour"]
DATE_PARTS: dict[DatePart, tuple[str, ...]] = {
    "days": ("days since {start}",),
    "weekday": _pair("day of week"),
    "hour": _pair("hour"),
}
FILL_TYPES: dict[str, type] = {"numeric": float, "binary": float, "categorical": type(None)}  # others have a tuple


class Column(Record, frozen=True):
    """A column of the source (of a block of numbers: one or more) and the columns of X it became."""

    name: str
    feature_type: FeatureType
    positions: tuple[Count, ...] = ()  # in X
    categories: tuple[str, ...] = ()  # one position each
    fill_value: float | tuple[float, ...] | None = None  # what a missing cell becomes
    n_missing: Count = 0
    n_unknown: Count = 0  # cells with a value that the schema lacks: a new category, or a 2 among zeros and ones
    allows_text: bool = False  # where it is no number or date, it counts as missing
    number_format: Annotated[
        tuple[str, ...], Meta(max_length=3)
    ] = ()  # unit, thousands separator and decimal point of numbers that are not plain
    date_order: str = ""  # as in `dates.ORDERS`
    start: str = ""  # the first day, from which days are counted
    parts: tuple[DatePart, ...] = ()  # of dates, as in DATE_PARTS
    width: Annotated[int, Meta(ge=0, le=MAX_FEATURES)] = 0  # of a block that is one column of lists
    sources: tuple[str, ...] = ()  # of a block that is several columns
    is_double: bool = False  # single precision would round away what tells its values apart

    @property
    def read_from(self) -> tuple[str, ...]:
        """The columns of the source."""
        return self.sources or (self.name,)

    @property
    def feature_names(self) -> list[str]:
        if self.feature_type == "block":
            return list(self.sources) or [f"{self.name}[{i}]" for i in range(self.width)]
        if self.feature_type == "date":
            made = (word.format(start=self.start) for part in self.parts for word in DATE_PARTS[part])
            return [f"{self.name}: {word}" for word in made]
        return [f"{self.name}={category}" for category in self.categories] or [self.name]

    @property
    def model_type(self) -> str:
        """What the model is told about its columns of X: "numeric", "binary", or the name of a group of them."""
        if self.feature_type in ("categorical", "block"):
            return f"{'numeric' if self.feature_type == 'block' else 'categorical'}:{self.name}"
        return "numeric" if self.feature_type == "date" else self.feature_type


@dataclass(frozen=True)
class Dropped:
    """A column that is not in X."""

    name: str
    why: str  # a key of `log.WHY_DROPPED`
    detail: str = ""


class Schema(Record, frozen=True):
    """Columns, classes and shape of a data set. It is stored with a model and applied to every later file."""

    kind: DataKind
    columns: tuple[Column, ...]  # none for images
    class_names: tuple[str, ...]
    label_column: str | None = None
    id_column: str | None = None
    dropped: tuple[str, ...] = ()  # columns of the source that are not in X
    image_shape: tuple[Pixels, ...] | None = None  # (height, width) or (height, width, 3)
    dtype: Literal["float32", "float64", "uint8"] = "float32"
    image_size: Pixels | None = None  # to which larger images were scaled down; None where none was larger

    def check(self) -> None:
        """Refuse a stored schema of sizes that do not fit each other."""
        shape = self.image_shape
        if shape is not None and (len(shape) not in (2, 3) or math.prod(shape) > MAX_FEATURES):
            raise ValueError(f"schema.image_shape is {shape}")
        n_features = sum(len(column.positions) for column in self.columns)
        for column in self.columns:
            is_block = column.feature_type == "block"
            n = len(column.sources) or column.width if is_block else len(column.feature_names)
            if len(column.positions) != n or any(position >= n_features for position in column.positions):
                raise ValueError(f"the column {shortened(column.name)!r} must have the positions of its features")
            fill, kind = column.fill_value, FILL_TYPES.get(column.feature_type, tuple)
            if not isinstance(fill, kind) or (isinstance(fill, tuple) and len(fill) != n):
                raise ValueError(f"the fill_value of the column {shortened(column.name)!r} is not that of its features")
            if len(column.number_format) not in (0, 3):
                raise ValueError("schema.columns.number_format must be of 3 texts")

    @property
    def feature_names(self) -> list[str]:
        if self.image_shape is not None:
            return pixel_names(self.image_shape)
        return [name for column in self.columns for name in column.feature_names]

    @property
    def feature_types(self) -> list[str] | None:
        """For each column of X "numeric", "numeric:<block>", "binary" or "categorical:<column>".

        None where all are numeric and none is in a block.
        """
        types = [column.model_type for column in self.columns for _ in column.feature_names]
        return None if all(feature_type == "numeric" for feature_type in types) else types


def pixel_names(shape: Sequence[int]) -> list[str]:
    """Row and column of each pixel, in the order of X: "r0c0", "r0c1", … or "r0c0 red", …"""
    channels = [""] if len(shape) == 2 else [" red", " green", " blue"]
    return [f"r{r}c{c}{channel}" for r in range(shape[0]) for c in range(shape[1]) for channel in channels]


# ---- What every reader returns: a Dataset. `align` gives it the classes of another one's schema ----


class Population(NamedTuple):
    """All rows of the source that a data set is a sample of; they are read again whenever they are needed."""

    n_rows: int
    label_counts: dict[str, int]  # the number of labelled rows of each class
    batches: "Callable[[Schema], Iterator[Dataset]]"  # data sets of some rows each, by the sample's schema


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, their labels if there are any, and how the source was read."""

    X: np.ndarray  # (n, d), float32, float64 if that would lose precision, or uint8
    labels: Labels  # of n rows; class names are text
    feature_names: list[str]  # one for each column of X
    row_ids: np.ndarray  # (n,)
    kind: DataKind
    image_shape: tuple[int, ...] | None = None  # (height, width) or (height, width, 3)
    columns: list[Column] = field(default_factory=list)  # none for images
    log: list[str] = field(default_factory=list)  # the preprocessing log: sentences, with counts
    flags: list[str] = field(default_factory=list)  # what a person should check before trusting the answer
    groups: np.ndarray | None = None  # (n,), such as HAR's subjects
    label_column: str | None = None  # the source's own name of its label column,
    id_column: str | None = None  # of its id column,
    group_column: str | None = None  # of the column that groups come from,
    dropped: list[str] = field(default_factory=list)  # and of those that are not in X
    image_size: int | None = None  # to which larger images were scaled down
    source: Any = None  # the opened table, with the user's own columns
    population: Population | None = None  # what the rows are a sample of; None if they are all rows

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
            dtype=str(self.X.dtype),  # type: ignore[arg-type]
            image_size=self.image_size,
        )

    def take(self, rows: np.ndarray) -> "Dataset":
        """The given rows, by position or by boolean mask."""
        groups = None if self.groups is None else self.groups[rows]
        parts = {"X": self.X[rows], "labels": self.labels.take(rows), "row_ids": self.row_ids[rows]}
        return replace(self, **parts, groups=groups, source=None, population=None)

    def fingerprint(self) -> str:
        """SHA-256 of X, labels and names: the same for the same data from any file."""
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
