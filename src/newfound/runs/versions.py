"""What a result may depend on beside its settings."""

import platform
from importlib.metadata import version

LIBRARIES = ("jax", "equinox", "optax", "numpy", "scikit-learn")


def versions() -> dict[str, str]:
    """Of Python and of the libraries that compute."""
    return {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}
