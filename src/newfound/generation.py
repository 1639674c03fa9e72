"""The other way: from classes to rows."""

from typing import Any

import numpy as np

from newfound import decoding
from newfound.fitted import Fitted
from newfound.fitted_attributes import check_fitted
from newfound.parameters import Number, check_parameters
from newfound.processes import refuse_fork


def random_numbers(random_state: Any) -> np.random.RandomState:
    """By scikit-learn's rule, which is not imported for a plain seed."""
    if isinstance(random_state, int):
        return np.random.RandomState(random_state)
    from sklearn.utils import check_random_state

    return check_random_state(random_state)


class GeneratesRows:
    """What a fitted estimator can draw from p(x, y, z)."""

    fitted_: Fitted
    latent_dim: int

    def sample(
        self, n_samples: int = 1, class_name: Any = None, *, mean: bool = False, random_state: Any = None
    ) -> np.ndarray:
        """Generate rows of a class, or of classes drawn from p(y); without noise if `mean`."""
        check_fitted(self)
        check_parameters({"n_samples": n_samples}, {"n_samples": (Number(1, whole=True),)})
        rng = random_numbers(random_state)
        weights = np.exp(self.fitted_.restart.weights[".log_p_y"].astype(float)) * self.fitted_.classes.is_kept
        if class_name is not None:
            weights = weights * (self.fitted_.classes.component_class == self.fitted_.classes.position(class_name))
        components = rng.choice(len(weights), size=n_samples, p=weights / weights.sum())
        return self._generate(components, rng.standard_normal((n_samples, self.latent_dim)), mean, rng)

    def sample_grid(self, n_rows: int = 10, *, random_state: Any = None) -> np.ndarray:
        """Means of p(x | y, z), (n_rows, components, features): one shared draw behind z a row, one y a column."""
        check_fitted(self)
        rng = random_numbers(random_state)
        n_components = self.fitted_.classes.n_components
        shared = np.repeat(rng.standard_normal((n_rows, self.latent_dim)), n_components, axis=0)
        rows = self._generate(np.tile(np.arange(n_components), n_rows), shared, True, rng)
        return rows.reshape(n_rows, n_components, -1)

    def _generate(
        self, components: np.ndarray, epsilon: np.ndarray, mean: bool, rng: np.random.RandomState
    ) -> np.ndarray:
        fitted, weights = self.fitted_, self.fitted_.restart.weights
        if decoding.is_known(fitted.architecture):
            rows = decoding.means(
                fitted.architecture, decoding.decoded(fitted.architecture, weights, components, epsilon)
            )
            rows = rows if mean else decoding.draws(fitted.architecture, weights, rows, rng)
        else:
            from newfound.compiled_inference import generated_rows

            refuse_fork()
            rows = generated_rows(fitted, components, epsilon, rng, mean=mean)
        return fitted.preprocessing.restore(rows)
