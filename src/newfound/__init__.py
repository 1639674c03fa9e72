"""newfound classifies the classes you labelled and discovers the ones you didn't."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from newfound.estimator import GMDGM, SSVAE
    from newfound.storage import load

__version__ = "0.1.0"
__all__ = ["GMDGM", "SSVAE", "__version__", "load"]

_HOME = {"GMDGM": "newfound.estimator", "SSVAE": "newfound.estimator", "load": "newfound.storage"}


def __getattr__(name: str) -> Any:
    """JAX and scikit-learn are imported with the first thing that needs them, not with the package."""
    if name not in _HOME:
        raise AttributeError(f"module 'newfound' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
