"""Published data sets by name: found in the user's folder, the cache or a system package, or else downloaded."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from newfound.data.catalogue import NAMED, NamedSet, RemoteFile
from newfound.data.dataset import TrainTest
from newfound.data.download import download
from newfound.errors import DataError, DownloadError
from newfound.wording import count, did_you_mean

DATA_VARIABLE = "NEWFOUND_DATA"  # a folder with a sub-folder for each data set
CACHE_VARIABLE = "NEWFOUND_CACHE"  # a folder for downloads, in place of the user's cache folder
MIRRORS_VARIABLE = "NEWFOUND_MIRRORS"  # addresses, separated by spaces, of folders laid out like the first


def load_named(name: str, mirrors: Sequence[str] | None = None, verbose: bool | str = "auto") -> TrainTest:
    """The train and test part of a data set, downloaded if need be."""
    return get_named(name).read(fetch_named(name, mirrors, verbose))


def get_named(name: str) -> NamedSet:
    if name not in NAMED:
        raise DataError(f"There is no data set {name!r} in newfound's list. {did_you_mean(name, NAMED)}")
    return NAMED[name]


def find_named(name: str) -> list[Path] | None:
    """The files of a data set where they are on this machine already; None where no folder has them all."""
    known = get_named(name)
    found = ([_existing(folder, file.name) for file in known.files] for folder in _folders(known))
    return next(([path for path in paths if path] for paths in found if None not in paths), None)


def fetch_named(name: str, mirrors: Sequence[str] | None = None, verbose: bool | str = "auto") -> list[Path]:
    """The files of a data set, downloaded into the cache where they are not on this machine."""
    known = get_named(name)
    found = find_named(name)
    if found is not None:
        return found
    folder = cache_folder() / name
    try:
        return [_existing(folder, file.name) or _get(known, file, folder, mirrors, verbose) for file in known.files]
    except DownloadError as error:
        raise DataError(_not_found(known, error.tried)) from None


def cache_folder() -> Path:
    """Where downloads are kept: below the folder in NEWFOUND_CACHE if it is set, else in the user's cache folder."""
    from platformdirs import user_cache_path

    own = os.environ.get(CACHE_VARIABLE)
    return (Path(own) if own else user_cache_path("newfound")) / "data"


def _get(known: NamedSet, file: RemoteFile, folder: Path, mirrors: Sequence[str] | None, verbose: bool | str) -> Path:
    bases = os.environ.get(MIRRORS_VARIABLE, "").split() if mirrors is None else mirrors
    addresses = [f"{base.rstrip('/')}/{known.name}/{quote(file.name)}" for base in bases] or file.addresses
    download(addresses, folder / file.name, file.check, verbose)
    return folder / file.name


def _folders(known: NamedSet) -> list[Path]:
    own = os.environ.get(DATA_VARIABLE)
    return [*([Path(own) / known.name] if own else []), cache_folder() / known.name, *map(Path, known.system_folders)]


def _existing(folder: Path, name: str) -> Path | None:
    """The file, or the same file already unzipped."""
    choices = (folder / name, folder / name.removesuffix(".gz"))
    return next((path for path in choices if path.is_file()), None)


def _not_found(known: NamedSet, tried: Sequence[str]) -> str:
    searched = [f"{folder} ({_lacking(folder, known)})" for folder in _folders(known)]
    if not os.environ.get(DATA_VARIABLE):
        searched.insert(0, f"the folder in {DATA_VARIABLE} (not set)")
    places = "".join(f"\n  - {place}" for place in [*searched, *tried])
    return (
        f"The data set {known.name!r} is not on this machine and could not be downloaded. Searched:{places}\n"
        f"Connect to the network and try again; or put {', '.join(repr(file.name) for file in known.files)} "
        f"into {cache_folder() / known.name}; or set {DATA_VARIABLE} to a folder with them in {known.name!r}."
    )


def _lacking(folder: Path, known: NamedSet) -> str:
    if not folder.is_dir():
        return "no such folder"
    n = sum(_existing(folder, file.name) is None for file in known.files)
    return f"lacks {n} of {count(len(known.files), 'file')}"
