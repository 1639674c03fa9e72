"""What a parameter may be, and the one check that every parameter goes through."""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

from newfound.wording import shortened


class Number(NamedTuple):
    """A parameter that is a number from `low` to `high`; an open end is excluded."""

    low: float
    high: float = math.inf
    whole: bool = False
    is_low_open: bool = False

    def accepts(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        number: Any = value  # not as a float: 10**400 is none
        return bool(self.low <= number <= self.high) and not (self.is_low_open and number == self.low)

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        lowest = f"above {self.low:g}" if self.is_low_open else f"of at least {self.low:g}"
        return f"{kind} {lowest}" + ("" if self.high == math.inf else f" and at most {self.high:,g}")


class OneOf(NamedTuple):
    """A parameter that is one of a few values."""

    values: tuple

    def accepts(self, value: Any) -> bool:
        return any(value is v or (type(value) is type(v) and value == v) for v in self.values)

    def __str__(self) -> str:
        return " or ".join(repr(value) for value in self.values)


class Several(NamedTuple):
    """A parameter that is a tuple of one or more numbers."""

    one: Number

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (tuple, list)) and len(value) > 0 and all(self.one.accepts(v) for v in value)

    def __str__(self) -> str:
        return f"a tuple, each entry {self.one}"


Rule = Number | OneOf | Several


def check_parameters(values: Mapping[str, Any], rules: Mapping[str, tuple[Rule, ...]]) -> None:
    """Refuse a value that none of its rules accepts."""
    for name, allowed in rules.items():
        if not any(rule.accepts(values[name]) for rule in allowed):
            expected = ", or ".join(str(rule) for rule in allowed)
            raise ValueError(f"{name} must be {expected}; got {shortened(as_text(values[name]))}.")


def made_with(kind: type[Any], stored: Mapping[str, Any]) -> Any:
    """An object of stored parameters; refused where these are not its own. Values are checked where they count."""
    try:
        return kind(**stored)
    except TypeError as error:
        raise ValueError(
            f"The stored settings are of another newfound ({shortened(str(error))}). Fit the model again."
        ) from None


def as_text(value: Any) -> str:
    """As `repr`, also of numbers that Python refuses to print."""
    try:
        return repr(value)
    except ValueError:
        return f"a {type(value).__name__} of very many digits"
