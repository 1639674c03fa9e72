"""What is known about the columns of a data set, so that the next file can be read in the same way."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from newfound.errors import DataError

MISSING_CATEGORY = "(missing)"


@dataclass(frozen=True)
class Column:
    """A column of the source and the columns of X it became."""

    name: str
    feature_type: str  # "numeric", "binary" or "categorical"
    positions: tuple[int, ...] = ()  # in X
    categories: tuple[str, ...] = ()  # one position each
    fill_value: float | None = None  # what a missing cell becomes
    n_missing: int = 0
    n_unknown: int = 0  # cells with a value the schema does not know: a new category, or a 2 among zeros and ones

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}={category}" for category in self.categories] or [self.name]


@dataclass(frozen=True)
class Schema:
    """Columns, classes and shape of a data set. It is stored with a model and applied to every later file."""

    kind: str  # the data kind: "table", "images" or "matrix"
    columns: tuple[Column, ...]  # none for images
    class_names: tuple[str, ...]
    label_column: str | None = None
    id_column: str | None = None
    dropped: tuple[str, ...] = ()  # columns of the source that are not in X
    image_shape: tuple[int, ...] | None = None  # (height, width) or (height, width, 3)
    dtype: str = "float32"

    @property
    def feature_names(self) -> list[str]:
        if self.image_shape is not None:
            return pixel_names(self.image_shape)
        return [name for column in self.columns for name in column.feature_names]

    @property
    def feature_types(self) -> list[str] | None:
        """For each column of X "numeric", "binary" or "categorical:<column>"; None where all are numeric."""
        if all(column.feature_type == "numeric" for column in self.columns):
            return None
        return [
            f"categorical:{column.name}" if column.feature_type == "categorical" else column.feature_type
            for column in self.columns
            for _ in column.feature_names
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers, for json.dumps."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Schema":
        try:
            columns = tuple(Column(**{name: _as_tuple(value) for name, value in c.items()}) for c in stored["columns"])
            return cls(**{name: _as_tuple(value) for name, value in stored.items()} | {"columns": columns})
        except (AttributeError, KeyError, TypeError) as error:
            raise DataError(f"The stored schema of the data is damaged ({error!r}). Fit the model again.") from None


def pixel_names(shape: Sequence[int]) -> list[str]:
    """Row and column of each pixel, in the order of X: "r0c0", "r0c1", … or "r0c0 red", …"""
    channels = [""] if len(shape) == 2 else [" red", " green", " blue"]
    return [f"r{r}c{c}{channel}" for r in range(shape[0]) for c in range(shape[1]) for channel in channels]


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
