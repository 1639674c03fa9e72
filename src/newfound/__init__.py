"""newfound classifies the classes you labelled and discovers the ones you didn't.

What is listed here is public, and so are `newfound.metrics`, `newfound.model_selection` and `newfound.anndata`; every
other module is internal and may change.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from newfound._internal.words import DataError
    from newfound.config import Config
    from newfound.estimator import GMDGM, SSVAE, load
    from newfound.evaluation import evaluate
    from newfound.explain.audit import audit
    from newfound.explain.describe import describe
    from newfound.labels import mask_labels
    from newfound.predictor import load_predictor
    from newfound.runs.run import open_run
    from newfound.tables.read import read_dataset

__version__ = "0.1.0"
__all__ = [
    "GMDGM",
    "SSVAE",
    "Config",
    "DataError",
    "__version__",
    "audit",
    "describe",
    "evaluate",
    "load",
    "load_predictor",
    "mask_labels",
    "open_run",
    "read_dataset",
]

_HOME = {
    "GMDGM": "newfound.estimator",
    "SSVAE": "newfound.estimator",
    "Config": "newfound.config",
    "DataError": "newfound._internal.words",
    "audit": "newfound.explain.audit",
    "describe": "newfound.explain.describe",
    "evaluate": "newfound.evaluation",
    "load": "newfound.estimator",
    "load_predictor": "newfound.predictor",
    "mask_labels": "newfound.labels",
    "open_run": "newfound.runs.run",
    "read_dataset": "newfound.tables.read",
}


def __getattr__(name: str) -> Any:
    """JAX and scikit-learn are imported with the first thing that needs them, not with the package."""
    if name not in _HOME:
        raise AttributeError(f"module 'newfound' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
