"""Checkpoints of a long fit on disk, from which it continues with the same bits.

A checkpoint is one safetensors file: parameters, moments of the optimiser and keys of every restart, the states to go
back to, the histories, the rows drawn but not used yet, and the labels and targets of the phase. The JSON in its header
has the state of the random generators and the position in the schedule. Its name contains the step and a checksum. The
discovery is in a file of its own. Reading never runs code.
"""

import hashlib
import json
import re
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import asdict
from safetensors.numpy import load as tensors_from_bytes
from safetensors.numpy import save as tensors_to_bytes

from newfound._internal.files import disk, make_folders, replace_file
from newfound.discovery.record import Discovery, Evidence, Selection
from newfound.discovery.tree import ClassTree

SECONDS = 60.0  # between two checkpoints; shorter fits have none
N_KEPT = 2  # in case the last one is damaged
NAME = re.compile(r"training-(\d+)-([0-9a-f]{16})\.safetensors")
DISCOVERY = re.compile(r"discovery-([0-9a-f]{16})\.safetensors")

Tensors = dict[str, np.ndarray]


class Checkpoint(NamedTuple):
    """The content of a checkpoint."""

    tensors: Tensors
    about: dict[str, Any]


@dataclass
class Checkpoints:
    """A folder for checkpoints, and their interval; `resumed` is the one from which a fit continues."""

    folder: Path
    every: float = SECONDS
    resumed: Checkpoint | None = None
    found: Discovery | None = None  # once discovered
    identity: str = ""  # of the rows, labels and settings
    last: float = field(default_factory=time.monotonic)
    has_failed: bool = False

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self.last >= self.every

    def identify(self, *parts: Any) -> None:
        """Refuse to continue with other rows, labels or settings than those of the checkpoint."""
        self.identity = _digest(parts)
        if self.resumed is not None and self.resumed.about["identity"] != self.identity:
            raise ValueError(
                "The checkpoint is of another fit: the data or the settings have changed. Fit again without --resume."
            )

    def save(self, tensors: Tensors, about: dict[str, Any]) -> None:
        """Write a checkpoint and remove older ones; if it cannot be written, warn once and continue."""
        self.last = time.monotonic()
        try:
            make_folders(self.folder)
            about = about | {"identity": self.identity, "discovery": self._save_discovery()}
            content = tensors_to_bytes(
                {name: np.asarray(array, order="C") for name, array in tensors.items()},
                metadata={"about": json.dumps(about)},
            )
            replace_file(self.folder / f"training-{about['step']:010d}-{_sum(content)}.safetensors", content)
            for path in checkpoint_files(self.folder)[:-N_KEPT]:
                disk.remove(path)
        except OSError as error:
            if not self.has_failed:
                warnings.warn(f"No checkpoint could be written ({error}); training continues.", stacklevel=2)
            self.has_failed = True

    def _save_discovery(self) -> str | None:
        if self.found is None:
            return None
        content = discovery_to_bytes(self.found)
        name = f"discovery-{_sum(content)}.safetensors"
        if not (self.folder / name).is_file():
            replace_file(self.folder / name, content)
        return name


def checkpoint_files(folder: Path) -> list[Path]:
    """The checkpoints of a folder, the oldest first."""
    return sorted(path for path in folder.glob("training-*") if NAME.fullmatch(path.name))


def latest(folder: Path, every: float = SECONDS) -> Checkpoints | None:
    """To continue from the last undamaged checkpoint in a folder; None without one."""
    for path in reversed(checkpoint_files(folder)):
        content = path.read_bytes()
        if NAME.fullmatch(path.name)[2] != _sum(content):  # type: ignore[index]
            continue
        about = _about(content)
        found, is_whole = _read_discovery(folder, about["discovery"])
        if is_whole:
            return Checkpoints(folder, every, Checkpoint(tensors_from_bytes(content), about), found)
    return None


def _read_discovery(folder: Path, name: str | None) -> tuple[Discovery | None, bool]:
    if name is None:
        return None, True
    path = folder / Path(name).name
    content = path.read_bytes() if path.is_file() else b""
    if not DISCOVERY.fullmatch(path.name) or _sum(content) not in path.name:
        return None, False
    return discovery_from_bytes(content), True


def _about(content: bytes) -> dict[str, Any]:
    """The JSON in the header of a safetensors file."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["about"])


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _digest(parts: Any) -> str:
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(repr((part.shape, part.dtype.str)).encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()


# ---- the discovery as a file ----


def discovery_to_bytes(found: Discovery) -> bytes:
    tensors, about = {}, {}
    for name, value in found._asdict().items():
        if isinstance(value, np.ndarray):
            tensors[name] = value
        elif isinstance(value, ClassTree | Evidence):
            tensors |= {f"{name}.{part}": array for part, array in asdict(value).items()}
        else:
            about[name] = asdict(value) if isinstance(value, Selection) else value
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    return tensors_to_bytes(arrays, metadata={"about": json.dumps(about)})


def discovery_from_bytes(content: bytes) -> Discovery:
    tensors, about = tensors_from_bytes(content), _about(content)
    selection, has_evidence = about["selection"], "evidence" not in about
    return Discovery(
        n_new=about["n_new"],
        n_new_range=tuple(about["n_new_range"]),
        tree=ClassTree(**dict(_parts(tensors, "tree."))),
        evidence=Evidence(**dict(_parts(tensors, "evidence."))) if has_evidence else None,
        selection=None if selection is None else Selection(**selection | {"worst": tuple(selection["worst"])}),
        method=about["method"],
        **{name: tensors[name] for name in ("labels", "targets", "p_new", "is_sure")},
    )


def _parts(tensors: Mapping[str, np.ndarray], prefix: str) -> Iterator[tuple[str, np.ndarray]]:
    return ((name.removeprefix(prefix), array) for name, array in tensors.items() if name.startswith(prefix))
