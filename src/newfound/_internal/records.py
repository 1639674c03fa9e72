"""JSON that is read back: bounded in size, and compared with the record it is to become before that is made."""

import dataclasses
import json
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from newfound._internal.words import DataError, shortened

MOST_BYTES = 1 << 28  # of a file
PLAIN = {float: (int, float), int: (int,), str: (str,), bool: (bool,), type(None): (type(None),)}


def read_json(path: Path, remedy: str) -> Any:
    """What a file holds; refused where it is no JSON, too large or too deep."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(f"{str(path)!r} is larger than any that newfound writes. {remedy}")
        return parsed(path.read_bytes())
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{str(path)!r} is damaged ({_reason(error)}). {remedy}") from None


def parsed(content: bytes | str) -> Any:
    """JSON as the standard has it: without NaN, and with numbers of bounded length."""
    return json.loads(content, parse_constant=_refuse_constant, parse_int=_whole)


def checked(stored: Any, record: Any, what: str, remedy: str = "Fit the model again.") -> Any:
    """The stored value itself, if a record of this type can be made of it."""
    wrong = misfit(stored, record)
    if wrong is not None:
        raise DataError(f"The stored {what} is damaged ({wrong}). {remedy}")
    return stored


def misfit(value: Any, hint: Any, at: str = "") -> str | None:
    """Where a stored value is not of the type that a record needs; None where all fits."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or hint is np.ndarray:
        return None
    if origin is Literal:
        return None if value in inner else _expected(at, " or ".join(map(repr, inner)), value)
    if origin in (Union, types.UnionType):
        wrong = [misfit(value, one, at) for one in inner]
        return None if None in wrong else wrong[0]
    if hint in PLAIN:
        is_fitting = isinstance(value, PLAIN[hint]) and (hint is bool or not isinstance(value, bool))
        return None if is_fitting else _expected(at, hint.__name__, value)
    if origin in (list, tuple, Sequence):
        return _misfit_of_items(value, origin, inner, at)
    if origin in (dict, Mapping):
        return _misfit_of_entries(value, inner, at)
    return _misfit_of_record(value, hint, at)


def _misfit_of_items(value: Any, origin: Any, inner: tuple[Any, ...], at: str) -> str | None:
    if not isinstance(value, (list, tuple)):
        return _expected(at, "list", value)
    is_open = origin is not tuple or (len(inner) == 2 and inner[1] is Ellipsis)
    if not is_open and len(value) != len(inner):
        return _expected(at, f"list of {len(inner)}", value)
    hints = [inner[0]] * len(value) if is_open else inner
    wrong = (misfit(one, hint, f"{at}[{i}]") for i, (one, hint) in enumerate(zip(value, hints, strict=True)))
    return next(filter(None, wrong), None)


def _misfit_of_entries(value: Any, inner: tuple[Any, ...], at: str) -> str | None:
    if not isinstance(value, dict):
        return _expected(at, "object", value)
    return next(filter(None, (misfit(one, inner[1], f"{at}.{name}") for name, one in value.items())), None)


def _misfit_of_record(value: Any, record: Any, at: str) -> str | None:
    if not isinstance(value, dict):
        return _expected(at, "object", value)
    hints, required = _fields(record)
    unknown = next((name for name in value if name not in hints), None)
    if unknown is not None:
        return f"it has {shortened(unknown)!r}, which is unknown"
    lacking = next((name for name in required if name not in value), None)
    if lacking is not None:
        return f"it lacks {lacking!r}"
    return next(filter(None, (misfit(one, hints[name], f"{at}.{name}") for name, one in value.items())), None)


def _fields(record: Any) -> tuple[dict[str, Any], list[str]]:
    """The types of a record's fields, and the names of those without a default."""
    hints = get_type_hints(record)
    if not dataclasses.is_dataclass(record):
        return hints, [name for name in record._fields if name not in record._field_defaults]
    none = dataclasses.MISSING
    fields = dataclasses.fields(record)
    return {f.name: hints[f.name] for f in fields}, [
        f.name for f in fields if f.default is none and f.default_factory is none
    ]


def _expected(at: str, what: str, value: Any) -> str:
    return f"{shortened(at.lstrip('.')) or 'it'} must be a value of type {what}, got {shortened(repr(value), 40)}"


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"it holds {name}, which is no JSON")


def _whole(text: str) -> int:
    if len(text) > 25:
        raise ValueError("it holds a number of more than 25 digits")
    return int(text)


def _reason(error: Exception) -> str:
    return shortened(" ".join(str(error).split()) or type(error).__name__, 200)
