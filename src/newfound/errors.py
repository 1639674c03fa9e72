"""The exceptions of newfound. What a user can put right is a ValueError that says what is wrong and what to do."""

from collections.abc import Sequence


class DataError(ValueError):
    """A file, folder or array that cannot be used as it is. The message says why, and what to do about it."""


class DownloadError(DataError):
    """No mirror gave the file; `tried` says why, a line for each address."""

    def __init__(self, tried: Sequence[str]):
        super().__init__("; ".join(tried))
        self.tried = list(tried)
