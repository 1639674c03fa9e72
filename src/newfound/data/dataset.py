"""What every reader gives: a Dataset, and the Layout by which another file of the same kind is read alike."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from newfound.data.problems import DataError

UNLABELLED = -1  # as in newfound.models.objective, which this package does not import: it would bring JAX along
MISSING_CATEGORY = "(missing)"


@dataclass(frozen=True)
class Column:
    """A column of the source and the columns of X it became."""

    name: str
    role: str  # "numeric", "binary" or "category"
    positions: tuple[int, ...] = ()  # in X
    categories: tuple[str, ...] = ()  # one position each
    fill: float | None = None  # what a missing cell becomes
    n_missing: int = 0
    n_unknown: int = 0  # cells with a value the layout does not know: a new category, or a 2 among zeros and ones

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}={category}" for category in self.categories] or [self.name]


@dataclass(frozen=True)
class Layout:
    """What was decided about one file, so that the next one can be read in the same way."""

    kind: str
    columns: tuple[Column, ...]
    class_names: tuple[str, ...]
    label: str | None = None
    id: str | None = None
    left_out: tuple[str, ...] = ()
    image_shape: tuple[int, ...] | None = None
    dtype: str = "float32"

    @property
    def feature_names(self) -> list[str]:
        if self.image_shape is not None:
            return pixel_names(self.image_shape)
        return [name for column in self.columns for name in column.feature_names]

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers, for json.dumps."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Layout":
        try:
            columns = tuple(Column(**{name: _as_tuple(value) for name, value in c.items()}) for c in stored["columns"])
            return cls(**{name: _as_tuple(value) for name, value in stored.items()} | {"columns": columns})
        except (AttributeError, KeyError, TypeError) as error:
            raise DataError(f"The stored layout of the data is damaged ({error!r}). Fit the model again.") from None


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, their labels where there are any, and what was decided while reading them."""

    X: np.ndarray  # (n, d), float32 or uint8
    y: np.ndarray  # (n,), positions in class_names, UNLABELLED where there is no label
    class_names: list[str]
    feature_names: list[str]  # one for each column of X
    row_ids: np.ndarray  # (n,)
    kind: str  # "table", "images" or "matrix"
    image_shape: tuple[int, ...] | None = None  # (height, width) or (height, width, 3)
    columns: list[Column] = field(default_factory=list)  # none for images
    decisions: list[str] = field(default_factory=list)  # sentences, with counts
    groups: np.ndarray | None = None  # (n,), such as HAR's subjects
    label: str | None = None  # the source's own name of its label column,
    id: str | None = None  # of its id column,
    left_out: list[str] = field(default_factory=list)  # and of those that are not in X

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_labelled(self) -> int:
        return int((self.y != UNLABELLED).sum())

    @property
    def labels(self) -> np.ndarray:
        """The name of each row's class, "" where there is none."""
        return np.array([*self.class_names, ""], dtype=object)[self.y]  # UNLABELLED is the last position

    @property
    def layout(self) -> Layout:
        return Layout(
            kind=self.kind,
            columns=tuple(self.columns),
            class_names=tuple(self.class_names),
            label=self.label,
            id=self.id,
            left_out=tuple(self.left_out),
            image_shape=self.image_shape,
            dtype=str(self.X.dtype),
        )

    def take(self, rows: np.ndarray) -> "Dataset":
        """The given rows, by position or by flag."""
        groups = None if self.groups is None else self.groups[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], row_ids=self.row_ids[rows], groups=groups)

    def fingerprint(self) -> str:
        """SHA-256 of X, y and the names: the same for the same data, whatever file it came from."""
        digest = hashlib.sha256(repr((self.X.shape, self.feature_names, self.class_names)).encode())
        digest.update(np.ascontiguousarray(self.X).data)
        digest.update(np.ascontiguousarray(self.y, dtype=np.int64).data)
        return digest.hexdigest()


def pixel_names(shape: Sequence[int]) -> list[str]:
    """Row and column of each pixel, in the order of X: "r0c0", "r0c1", … or "r0c0 red", …"""
    colours = [""] if len(shape) == 2 else [" red", " green", " blue"]
    return [f"r{r}c{c}{colour}" for r in range(shape[0]) for c in range(shape[1]) for colour in colours]


def conform(dataset: Dataset, layout: Layout) -> Dataset:
    """The same rows with the layout's classes in the layout's order, once the features are seen to be the same."""
    expected = _form(len(layout.feature_names), layout.dtype, layout.image_shape)
    got = _form(dataset.X.shape[1], str(dataset.X.dtype), dataset.image_shape)
    if got != expected:
        raise DataError(
            f"The model was fitted on {expected}, these rows are {got}. "
            f"Give rows of the kind it was fitted on, or fit a model on rows like these."
        )
    names = [*layout.class_names, *(name for name in dataset.class_names if name not in layout.class_names)]
    recode = np.array([names.index(name) for name in dataset.class_names] + [UNLABELLED], dtype=np.int64)
    return replace(dataset, y=recode[dataset.y], class_names=names, feature_names=layout.feature_names)


def _form(width: int, dtype: str, image_shape: tuple[int, ...] | None) -> str:
    """What the rows of two sets must have in common, in words."""
    if image_shape is not None:
        colours = "grey" if len(image_shape) == 2 else "colour"
        return f"images of {image_shape[0]} × {image_shape[1]} pixels (height × width) in {colours}"
    return f"{width:,} features of type {dtype}"


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
