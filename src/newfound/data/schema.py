"""What is known about the columns of a data set, so that the next file can be read in the same way."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from newfound.checked_json import misfit
from newfound.errors import DataError


def _pair(what: str) -> tuple[str, str]:
    return f"{what} (sin)", f"{what} (cos)"


MISSING_CATEGORY = "(missing)"
MOST_FEATURES = 100_000_000
DATE_PARTS = {"days": ("days since {start}",), "weekday": _pair("day of week"), "hour": _pair("hour")}


@dataclass(frozen=True)
class Column:
    """A column of the source (of a block of numbers: one or more) and the columns of X it became."""

    name: str
    feature_type: str  # "numeric", "binary", "categorical", "date" or "block"
    positions: tuple[int, ...] = ()  # in X
    categories: tuple[str, ...] = ()  # one position each
    fill_value: float | tuple[float, ...] | None = None  # what a missing cell becomes
    n_missing: int = 0
    n_unknown: int = 0  # cells with a value the schema does not know: a new category, or a 2 among zeros and ones
    allows_text: bool = False  # where it is no number or date, it counts as missing
    number_format: tuple[str, ...] = ()  # unit, thousands separator and decimal point of numbers that are not plain
    date_order: str = ""  # as in `dates.ORDERS`
    start: str = ""  # the first day, from which days are counted
    parts: tuple[str, ...] = ()  # of dates, as in DATE_PARTS
    width: int = 0  # of a block that is one column of lists
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
    why: str  # a key of `preprocessing_log.WHY_DROPPED`
    detail: str = ""


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
    image_size: int | None = None  # to which larger images were scaled down; None where none was larger

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

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers, for json.dumps."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Schema":
        wrong = misfit(stored, cls) or _too_large(stored)
        if wrong:
            raise DataError(f"The stored schema of the data is damaged ({wrong}). Fit the model again.")
        try:
            columns = tuple(Column(**{name: _as_tuple(value) for name, value in c.items()}) for c in stored["columns"])
            return cls(**{name: _as_tuple(value) for name, value in stored.items()} | {"columns": columns})
        except (AttributeError, KeyError, TypeError) as error:
            raise DataError(f"The stored schema of the data is damaged ({error!r}). Fit the model again.") from None


def _too_large(stored: dict[str, Any]) -> str | None:
    """Sizes that would fill the memory before anything is read by them."""
    shape, columns = stored.get("image_shape"), stored["columns"]
    if shape is not None and (len(shape) not in (2, 3) or min(shape) < 1 or math.prod(shape) > MOST_FEATURES):
        return f"image_shape is {shape}"
    if any(not 0 <= column.get("width", 0) <= MOST_FEATURES for column in columns):
        return "the width of a block is out of bounds"
    if any({*column.get("parts", ())} - {*DATE_PARTS} for column in columns):
        return f"parts of dates must be {', '.join(DATE_PARTS)}"
    return None


def pixel_names(shape: Sequence[int]) -> list[str]:
    """Row and column of each pixel, in the order of X: "r0c0", "r0c1", … or "r0c0 red", …"""
    channels = [""] if len(shape) == 2 else [" red", " green", " blue"]
    return [f"r{r}c{c}{channel}" for r in range(shape[0]) for c in range(shape[1]) for channel in channels]


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
