"""Words for messages, and the one check that every setting goes through."""

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple


def and_list(words: Iterable[str]) -> str:
    """\"a, b and c\"."""
    words = list(words)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


class Number(NamedTuple):
    """A setting that is a number from `low` to `high`; an open end is excluded."""

    low: float
    high: float = math.inf
    whole: bool = False
    is_low_open: bool = False

    def accepts(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        return self.low <= float(value) <= self.high and not (self.is_low_open and value == self.low)

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        lowest = f"above {self.low:g}" if self.is_low_open else f"of at least {self.low:g}"
        return f"{kind} {lowest}" + ("" if self.high == math.inf else f" and at most {self.high:,g}")


class OneOf(NamedTuple):
    """A setting that is one of a few values."""

    values: tuple

    def accepts(self, value: Any) -> bool:
        return any(value is v or (type(value) is type(v) and value == v) for v in self.values)

    def __str__(self) -> str:
        return " or ".join(repr(value) for value in self.values)


class WholeNumbers(NamedTuple):
    """A setting that is one or more whole numbers."""

    low: int
    high: int

    def accepts(self, value: Any) -> bool:
        one = Number(self.low, self.high, whole=True)
        return isinstance(value, (tuple, list)) and len(value) > 0 and all(one.accepts(v) for v in value)

    def __str__(self) -> str:
        return f"a tuple of whole numbers from {self.low} to {self.high:,}, one for each layer"


Rule = Number | OneOf | WholeNumbers


def check_settings(settings: Mapping[str, Any], rules: Mapping[str, tuple[Rule, ...]]) -> None:
    """Refuse a setting that none of its rules accepts."""
    for name, allowed in rules.items():
        if not any(rule.accepts(settings[name]) for rule in allowed):
            expected = ", or ".join(str(rule) for rule in allowed)
            raise ValueError(f"{name} must be {expected}; got {settings[name]!r}.")
