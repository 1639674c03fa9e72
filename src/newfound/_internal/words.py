"""What messages share: counts, lists, names cut short; and the exception that a user meets."""

import math
from collections.abc import Iterable
from difflib import get_close_matches

# ---- Words that messages share: counts, lists, names cut short, and what few labels can tell ----

SHOW_WARNING_BELOW = 30  # labels: a number from fewer is shown with their count


def and_list(words: Iterable[str]) -> str:
    """\"a, b and c\"."""
    words = list(words)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def quoted_list(names: Iterable[object], at_most: int = 5) -> str:
    """\"'a', 'b' and 7 more\"."""
    return short_list([repr(shortened(str(name))) for name in names], at_most)


def shortened(text: str, at_most: int = 80) -> str:
    """A name of any length in a sentence."""
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
    """\" (from 12 labels only)\" after a number from fewer than SHOW_WARNING_BELOW labels; else nothing."""
    return f" (from {count(n, 'label')} only)" if n < SHOW_WARNING_BELOW else ""


def percent(share: float | None) -> str:
    """A share, or a dash where there is none; only a certainty is written as 0% or 100%."""
    if share is None or not math.isfinite(share):
        return "–"
    if 0 < share < 0.01:
        return "<1%"
    if 0.99 < share < 1:
        return f"{math.floor(share * 1000) / 10:.1f}%"
    return f"{share:.0%}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A sentence with the names that were probably meant, or with all there are."""
    near = {other.casefold(): other for other in names}
    matches = [near[match] for match in get_close_matches(name.casefold(), near, n=3, cutoff=0.6)]
    if matches:
        return f"Did you mean {' or '.join(repr(shortened(match)) for match in matches)}?"
    return f"It has {quoted_list(near.values(), 10)}."


# ---- The exception of newfound. What a user can put right is a ValueError that says what is wrong and what to do ----

LONGEST = 2_000  # characters of a message


class DataError(ValueError):
    """A file, folder or array that cannot be used as it is. The message says why, and what to do about it."""

    def __init__(self, message: str):
        super().__init__(one_line(message))


def reason_of(error: BaseException, at_most: int = 200) -> str:
    """A library's error in one line, without a full stop."""
    return " ".join(str(error).split()).rstrip(".")[:at_most] or type(error).__name__


def one_line(message: str) -> str:
    """What can be printed anywhere: a message may quote a library, and a library what a file holds."""
    line = "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in message)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
