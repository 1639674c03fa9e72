"""A model that someone edited, with checksums that fit again: what is left to notice is what it says."""

import hashlib
import json
from pathlib import Path

from newfound.saved import with_checksum


def sealed(model: Path, content: bytes, *, is_weights: bool) -> None:
    """Put `content` in place of the description or of the weights."""
    path = model / "model.json"
    if not is_weights:
        path.write_bytes(content)
        _seal(path)
        return
    description = json.loads(path.read_text())
    (model / description["weights"]).unlink()
    description["weights"] = f"weights-{hashlib.sha256(content).hexdigest()[:16]}.safetensors"
    (model / description["weights"]).write_bytes(content)
    path.write_text(json.dumps(description))
    _seal(path)


def _seal(path: Path) -> None:
    """Where it is an object at all."""
    try:
        description = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return
    if isinstance(description, dict):
        path.write_text(json.dumps(with_checksum(description)))
