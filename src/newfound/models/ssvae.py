"""The semi-supervised variational auto-encoder (SSVAE), Kingma's M2: the paper's section II-B."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from newfound.models.architecture import Architecture
from newfound.models.base import DeepGenerativeModel, Gaussian, shared_parts


class SemiSupervisedVAE(DeepGenerativeModel):
    """p(x, y, z) = p(x | y, z) p(y) p(z):  y and z are independent causes of x.

    p(y)        = Cat(y | π)                         `log_p_y`
    p(z)        = N(z | 0, I)
    p(x | y, z) = the likelihood at decoder(z, y)    `decoder`, `likelihood`
    """

    @classmethod
    def init(
        cls,
        rng: np.random.Generator,
        architecture: Architecture,
        log_p_y: Float[Array, " K"],
        sigma: Float[Array, ""],
    ) -> "SemiSupervisedVAE":
        decoder_inputs = (architecture.latent_dim, architecture.n_components)
        return cls(log_p_y=log_p_y, **shared_parts(rng, architecture, decoder_inputs, sigma))

    def p_z(self, y: Float[Array, " K"]) -> Gaussian:
        return Gaussian(jnp.zeros(self.latent_dim), jnp.zeros(self.latent_dim))

    def p_x(self, y: Float[Array, " K"], z: Float[Array, " d_z"]) -> Float[Array, " d_x"]:
        (output,) = self.decoder(z, y)
        return output

    def place_components(self, mean: Float[Array, "K d_z"], log_var: Float[Array, "K d_z"]) -> "SemiSupervisedVAE":
        """Here p(z) is the same for every y and stays as it is."""
        return dataclasses.replace(self, encoder=self.encoder.ignoring(1), decoder=self.decoder.ignoring(1))

    def with_components(self, source: np.ndarray, log_p_y: Float[Array, " K"]) -> "SemiSupervisedVAE":
        shared = super().with_components(source, log_p_y)
        return dataclasses.replace(
            self,
            log_p_y=log_p_y,
            classifier=shared.classifier,
            encoder=shared.encoder,
            decoder=self.decoder.with_inputs(1, source),
        )
