"""What each setting of the estimators may be."""

from newfound.errors import Number, OneOf, Rule, WholeNumbers
from newfound.models.networks import ACTIVATIONS

RULES: dict[str, tuple[Rule, ...]] = {
    "n_new": (Number(0, 10_000, whole=True), OneOf(("auto",))),
    "latent_dim": (Number(1, 1_000, whole=True),),
    "hidden": (WholeNumbers(1, 100_000),),
    "posterior": (OneOf(("structured", "mean-field")),),
    "likelihood": (OneOf(("auto", "bernoulli", "gaussian", "gaussian-fixed")),),
    "sigma": (Number(0, 1e6, is_low_open=True),),
    "standardize": (OneOf(("auto", "min-max", True, False)),),
    "min_sd": (Number(0),),
    "known_mass": (Number(0.001, 0.999),),
    "alpha": (Number(0, 1e6),),
    "evidence": (Number(0, 1_000),),
    "smoothness": (Number(0, 1e6),),
    "reach": (Number(0, 10),),
    "expectation": (OneOf(("gumbel", "exact")),),
    "temperature": (Number(0.01, 100),),
    "n_y_samples": (Number(1, 1_000, whole=True),),
    "n_z_samples": (Number(1, 1_000, whole=True),),
    "activation": (OneOf(tuple(ACTIVATIONS)),),
    "kernel_sd": (Number(0, 10, is_low_open=True), OneOf((None,))),
    "batch_size": (Number(1, 100_000, whole=True),),
    "max_epochs": (Number(1, 1_000_000, whole=True), OneOf(("auto",))),
    "warm_epochs": (Number(0, 1_000_000, whole=True), OneOf(("auto",))),
    "start": (OneOf(("neighbours", "distances")),),
    "learning_rate": (Number(0, 1, is_low_open=True),),
    "max_gradient_norm": (Number(0, is_low_open=True),),
    "validation_fraction": (Number(0, 0.5),),
    "early_stopping": (OneOf((True, False)),),
    "patience": (Number(1, 1_000_000, whole=True),),
    "n_runs": (Number(1, 1_000, whole=True),),
    "progress": (OneOf(("auto", True, False)),),
}
