"""The exceptions of newfound. What a user can put right is a ValueError that says what is wrong and what to do."""

from collections.abc import Sequence

LONGEST = 2_000  # characters of a message


class DataError(ValueError):
    """A file, folder or array that cannot be used as it is. The message says why, and what to do about it."""

    def __init__(self, message: str):
        super().__init__(one_line(message))


def one_line(message: str) -> str:
    """What can be printed anywhere: a message may quote a library, and a library what a file holds."""
    line = "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in message)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


class DownloadError(DataError):
    """No mirror gave the file; `tried` says why, a line for each address."""

    def __init__(self, tried: Sequence[str]):
        super().__init__("; ".join(tried))
        self.tried = list(tried)
