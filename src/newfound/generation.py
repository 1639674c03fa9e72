"""The other way: from classes to rows."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from newfound import inference
from newfound.fitted import Fitted
from newfound.models.randomness import key_of
from newfound.parameters import Number, check_parameters
from newfound.processes import refuse_fork


class GeneratesRows:
    """What a fitted estimator can draw from p(x, y, z)."""

    fitted_: Fitted
    latent_dim: int

    def sample(
        self, n_samples: int = 1, class_name: Any = None, *, mean: bool = False, random_state: Any = None
    ) -> np.ndarray:
        """Generate rows of a class, or of classes drawn from p(y); without noise if `mean`."""
        check_is_fitted(self)
        check_parameters({"n_samples": n_samples}, {"n_samples": (Number(1, whole=True),)})
        rng = check_random_state(random_state)
        weights = np.exp(self.fitted_.model.log_p_y.astype(float)) * self.fitted_.classes.is_kept
        if class_name is not None:
            weights = weights * (self.fitted_.classes.component_class == self.fitted_.classes.position(class_name))
        components = rng.choice(len(weights), size=n_samples, p=weights / weights.sum())
        return self._generate(components, rng.standard_normal((n_samples, self.latent_dim)), mean, rng)

    def sample_grid(self, n_rows: int = 10, *, random_state: Any = None) -> np.ndarray:
        """Means of p(x | y, z), (n_rows, components, features): one shared draw behind z a row, one y a column."""
        check_is_fitted(self)
        rng = check_random_state(random_state)
        n_components = self.fitted_.classes.n_components
        shared = np.repeat(rng.standard_normal((n_rows, self.latent_dim)), n_components, axis=0)
        rows = self._generate(np.tile(np.arange(n_components), n_rows), shared, True, rng)
        return rows.reshape(n_rows, n_components, -1)

    def _generate(
        self, components: np.ndarray, epsilon: np.ndarray, mean: bool, rng: np.random.RandomState
    ) -> np.ndarray:
        refuse_fork()
        one_hot = np.eye(self.fitted_.classes.n_components, dtype=np.float32)[components]
        key = key_of(int(rng.randint(2**31 - 1)))
        rows = inference.generated(self.fitted_.model, one_hot, epsilon.astype(np.float32), key, mean=mean)
        return self.fitted_.preprocessing.restore(np.asarray(rows))
