"""The paper's models: `gmdgm` and `ssvae` are its equations, `objective` what both maximise."""

from newfound.models.base import Architecture, DeepGenerativeModel, log_prior
from newfound.models.gmdgm import GaussianMixtureDGM
from newfound.models.ssvae import SemiSupervisedVAE

MODELS: dict[str, type[DeepGenerativeModel]] = {"gmdgm": GaussianMixtureDGM, "ssvae": SemiSupervisedVAE}

__all__ = ["MODELS", "Architecture", "DeepGenerativeModel", "GaussianMixtureDGM", "SemiSupervisedVAE", "log_prior"]
