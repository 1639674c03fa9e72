"""The Gaussian-mixture deep generative model (GM-DGM), the paper's section IV-A."""

import dataclasses

import numpy as np
from jaxtyping import Array, Float

from newfound.models.architecture import Architecture
from newfound.models.base import DeepGenerativeModel, Gaussian, shared_parts
from newfound.models.networks import normals, zeros


class GaussianMixtureDGM(DeepGenerativeModel):
    """p(x, y, z) = p(x | z) p(z | y) p(y):  each value of y is one Gaussian of a mixture in z.

    p(y)     = Cat(y | π)                       `log_p_y`
    p(z | y) = N(z | μ(y), Σ(y))                `component_mean`, `component_log_var`: a look-up table
    p(x | z) = the likelihood at decoder(z)     `decoder`, `likelihood`
    """

    component_mean: Float[Array, "K d_z"]
    component_log_var: Float[Array, "K d_z"]

    @classmethod
    def init(
        cls,
        rng: np.random.Generator,
        architecture: Architecture,
        log_p_y: Float[Array, " K"],
        sigma: Float[Array, ""],
    ) -> "GaussianMixtureDGM":
        table = (architecture.n_components, architecture.latent_dim)
        return cls(
            log_p_y=log_p_y,
            **shared_parts(rng, architecture, (architecture.latent_dim,), sigma),
            component_mean=normals(rng, *table),
            component_log_var=zeros(*table),
        )

    def p_z(self, y: Float[Array, " K"]) -> Gaussian:
        return Gaussian(y @ self.component_mean, y @ self.component_log_var)

    def p_x(self, y: Float[Array, " K"], z: Float[Array, " d_z"]) -> Float[Array, " d_x"]:
        (output,) = self.decoder(z)
        return output

    def place_components(self, mean: Float[Array, "K d_z"], log_var: Float[Array, "K d_z"]) -> "GaussianMixtureDGM":
        encoder = self.encoder.ignoring(1)
        return dataclasses.replace(self, encoder=encoder, component_mean=mean, component_log_var=log_var)

    def with_components(self, source: np.ndarray, log_p_y: Float[Array, " K"]) -> "GaussianMixtureDGM":
        shared = super().with_components(source, log_p_y)
        return dataclasses.replace(
            self,
            log_p_y=log_p_y,
            classifier=shared.classifier,
            encoder=shared.encoder,
            component_mean=self.component_mean[source],
            component_log_var=self.component_log_var[source],
        )
