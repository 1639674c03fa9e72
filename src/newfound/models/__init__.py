"""The paper's models: `gmdgm` and `ssvae` are its equations, `objective` what both maximise.

A model is written in JAX, which is imported with the first one that is asked for: whoever only predicts (`inference`)
needs a model's name and its arrays, not its equations.
"""

from newfound.models.architecture import Architecture, log_prior
from newfound.models.on_demand import OnDemand

MODELS = OnDemand(
    {"gmdgm": "newfound.models.gmdgm.GaussianMixtureDGM", "ssvae": "newfound.models.ssvae.SemiSupervisedVAE"}
)

__all__ = ["MODELS", "Architecture", "log_prior"]
