"""Parts of messages: counts, lists, shortened names; and the exception that a user sees."""

import math
from collections.abc import Iterable
from difflib import get_close_matches

SHOW_WARNING_BELOW = 30  # labels: a number that rests on fewer is marked


def and_list(words: Iterable[str]) -> str:
    """\"a, b and c\"."""
    words = list(words)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def quoted_list(names: Iterable[object], at_most: int = 5) -> str:
    """\"'a', 'b' and 7 more\"."""
    return short_list([repr(shortened(str(name))) for name in names], at_most)


def shortened(text: str, at_most: int = 80) -> str:
    """A name that fits into a sentence."""
    return text if len(text) <= at_most else f"{text[: at_most - 1]}…"


def short_list(words: Iterable[str], at_most: int) -> str:
    """\"a, b and 7 more\"."""
    words = list(words)
    if len(words) <= at_most + 1:
        return and_list(words)
    return f"{', '.join(words[:at_most])} and {len(words) - at_most:,} more"


def count(n: int, thing: str, things: str | None = None) -> str:
    """\"1 row\", \"1,200 rows\"."""
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def if_few_labels(n: int) -> str:
    """\" (from 12 labels only)\", after a number that rests on fewer than 30 labels; else nothing."""
    return f" (from {count(n, 'label')} only)" if n < SHOW_WARNING_BELOW else ""


def percent(share: float | None) -> str:
    """A share, or a dash if there is none; only exactly 0 and 1 are written as 0% and 100%."""
    if share is None or not math.isfinite(share):
        return "–"
    if 0 < share < 0.01:
        return "<1%"
    if 0.99 < share < 1:
        return f"{math.floor(share * 1000) / 10:.1f}%"
    return f"{share:.0%}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A sentence with the closest names, or with the first ten if none is close."""
    near = {other.casefold(): other for other in names}
    matches = [near[match] for match in get_close_matches(name.casefold(), near, n=3, cutoff=0.6)]
    if matches:
        return f"Did you mean {' or '.join(repr(shortened(match)) for match in matches)}?"
    return f"It has {quoted_list(near.values(), 10)}."


MAX_MESSAGE_LENGTH = 2_000


class DataError(ValueError):
    """A file, folder or array that cannot be used. The message gives the reason and a remedy."""

    def __init__(self, message: str):
        super().__init__(one_line(message))


def reason_of(error: BaseException, at_most: int = 200) -> str:
    """A library's error in one line, without a full stop."""
    return " ".join(str(error).split()).rstrip(".")[:at_most] or type(error).__name__


def one_line(message: str) -> str:
    """A message that can be printed anywhere: it may quote a library, which may quote the content of a file."""
    line = "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in message)
    return shortened(line, MAX_MESSAGE_LENGTH)
