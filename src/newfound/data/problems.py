"""What goes wrong with other people's files: one kind of error, and the words its messages share."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from newfound.errors import and_list


class DataError(ValueError):
    """A source that cannot be read as it is. The message says what, and what to do about it."""


def some(names: Iterable[object], at_most: int = 5) -> str:
    """\"'a', 'b' and 7 more\"."""
    quoted = [repr(str(name)) for name in names]
    if len(quoted) <= at_most + 1:
        return and_list(quoted)
    return f"{', '.join(quoted[:at_most])} and {len(quoted) - at_most:,} more"


def count(n: int, thing: str, things: str | None = None) -> str:
    """\"1 row\", \"1,200 rows\"."""
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def check_one_of(name: str, names: Sequence[str], what: str, where: str) -> None:
    """Refuse a name that is not there, and say which ones it may have meant."""
    if name in names:
        return
    near = {other.casefold(): other for other in names}
    matches = [near[match] for match in get_close_matches(name.casefold(), near, n=3, cutoff=0.6)]
    hint = f"Did you mean {' or '.join(map(repr, matches))}?" if matches else f"It has {some(names, 10)}."
    raise DataError(f"There is no {what} {name!r} in {where}. {hint}")
