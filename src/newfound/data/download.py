"""Downloads that are checked before they are used: several mirrors in turn, then one move into place.

pooch fetches a file from one address and checks its bytes. Here mirrors are tried in turn, and what is checked is the
content: inside the gzip, or of the whole archive.
"""

import hashlib
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from newfound.data.idx_reader import open_unzipped
from newfound.errors import DataError, DownloadError

TIMEOUT = 30  # seconds without an answer
CHUNK = 1 << 20  # bytes


def download(
    addresses: Sequence[str], target: Path, check: Callable[[Path], object], verbose: bool | str = "auto"
) -> None:
    """Get `target` from the first address whose file passes `check`; a file that fails is deleted."""
    target.parent.mkdir(parents=True, exist_ok=True)
    tried = []
    for address in addresses:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".download-", suffix=target.suffix)
        os.close(handle)
        try:
            _fetch(address, name, target.name, verbose)
            check(Path(name))
            os.replace(name, target)
            return
        except (DataError, OSError) as error:  # requests' own errors are OSErrors
            tried.append(f"{address} ({_reason(error)})")
        finally:
            Path(name).unlink(missing_ok=True)
    raise DownloadError(tried)


def check_content(sha256: str) -> Callable[[Path], None]:
    """A check of what is inside the gzip: mirrors compress the same content into different bytes."""

    def check(path: Path) -> None:
        digest = hashlib.sha256()
        try:
            with open_unzipped(path) as file:
                while chunk := file.read(CHUNK):
                    digest.update(chunk)
        except (EOFError, zlib.error):
            raise DataError("cut short or damaged") from None
        if digest.hexdigest() != sha256:
            raise DataError(f"wrong checksum: expected {sha256[:12]}…, got {digest.hexdigest()[:12]}…")

    return check


def _fetch(address: str, name: str, title: str, verbose: bool | str) -> None:
    import pooch

    with _bar(verbose, title) as bar:
        pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT)(address, name, None)


def _reason(error: Exception) -> str:
    from requests import exceptions

    if isinstance(error, exceptions.HTTPError) and error.response is not None:
        return f"HTTP {error.response.status_code}"
    if isinstance(error, exceptions.Timeout):
        return f"no answer within {TIMEOUT} seconds"
    if isinstance(error, exceptions.ConnectionError):
        return "no connection"
    return str(error)


@contextmanager
def _bar(verbose: bool | str, title: str) -> Iterator[Any]:
    """A progress bar; "auto" shows it only in a terminal."""
    if verbose is False or (verbose == "auto" and not sys.stderr.isatty()):
        yield False
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Bar(progress, progress.add_task(title, total=None))


class _Bar:
    """rich's bar with the four names that pooch uses."""

    def __init__(self, progress: Any, task: Any):
        self.progress, self.task = progress, task

    @property
    def total(self) -> float | None:
        return self.progress.tasks[0].total

    @total.setter
    def total(self, n: int) -> None:
        self.progress.update(self.task, total=n or None)

    def update(self, n: int) -> None:
        self.progress.advance(self.task, n)

    def reset(self) -> None:
        self.progress.update(self.task, completed=0)

    def close(self) -> None:
        """The bar is closed with its Progress."""
