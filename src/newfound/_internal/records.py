"""JSON by types: what a file of a run or a model holds is one frozen record, decoded strictly, within bounds.

The types of a record's fields are the check of a stored one: a name that is missing or unknown, a value of another type
or out of bounds is refused in one sentence.
"""

from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

from newfound import __version__
from newfound._internal.words import DataError, reason_of

MAX_BYTES = 1 << 28  # of a file
Kind = TypeVar("Kind")

Count = Annotated[int, Meta(ge=0, lt=1 << 53)]
Share = Annotated[float, Meta(ge=0, le=1)]
JSON = bool | int | float | str | list[Any] | dict[str, Any] | None


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A frozen record that JSON keeps. A field may be an array of numbers."""

    def replace(self, **changes: Any) -> Self:
        return msgspec.structs.replace(self, **changes)


def to_json(value: Any) -> Any:
    """Return plain dictionaries, lists, strings and numbers."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_from_numpy))


def encoded(value: Any) -> bytes:
    """Return the content of a JSON file, indented for people."""
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=_from_numpy), indent=1)


def converted(value: Any, kind: type[Kind], what: str, remedy: str) -> Kind:
    """Return the record that plain JSON stands for; `what` and `remedy` are for the sentence that refuses it."""
    try:
        return msgspec.convert(value, kind, dec_hook=_to_numpy)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{what} is damaged ({reason_of(error)}). {remedy}") from None


def decoded(content: bytes, kind: type[Kind], what: str, remedy: str) -> Kind:
    """Return the record that a JSON text holds."""
    try:
        plain = msgspec.json.decode(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{what} is damaged ({reason_of(error)}). {remedy}") from None
    return converted(plain, kind, what, remedy)


def read_json(path: Path, kind: type[Kind], remedy: str) -> Kind:
    """Return the record that a file holds; files larger than newfound's own are not read."""
    if path.stat().st_size > MAX_BYTES:
        raise DataError(f"{str(path)!r} is damaged (it is larger than any that newfound writes). {remedy}")
    return decoded(path.read_bytes(), kind, repr(str(path)), remedy)


class _Header(msgspec.Struct):
    """What a file of any format has."""

    format: int
    newfound: str  # the version that wrote it


def check_format(plain: Any, reads: int, what: str, remedy: str) -> None:
    """Refuse a file of another format than the one this version reads."""
    header = converted(plain, _Header, what, remedy)
    if header.format > reads:
        raise DataError(
            f"{what} was written by a newer newfound ({header.newfound}, format {header.format}); this is newfound "
            f"{__version__}, which reads format {reads}. Upgrade with pip install --upgrade newfound."
        )
    if header.format < reads:
        raise DataError(
            f"{what} was written by an earlier newfound (format {header.format}); this one reads format {reads}. "
            f"{remedy}"
        )


def _from_numpy(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} is not JSON")


def _to_numpy(kind: Any, value: Any) -> np.ndarray:
    array = np.array(value if value else np.zeros(0))
    if not isinstance(value, list) or array.dtype.kind not in "biuf":
        raise ValueError("Expected lists of numbers, all of one length")
    return array
