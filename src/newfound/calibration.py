"""How sure is it? One number, the temperature T, makes the probabilities of a trained network honest.

    q_T(k | x) ∝ q(k | x)^(1/T)

T > 1 makes an overconfident network less sure, T < 1 a diffident one more so; T = 1 leaves it as it is. T is fitted on
labels that training did not see, and so knows nothing of new classes: it is applied to them on trust.
"""

import numpy as np

MIN_LABELS = 10  # fewer tell nothing, and the prior would decide alone
LOWEST, HIGHEST = 0.2, 20.0  # of T; below, the probabilities of thousands of components would underflow in float32
PRIOR_STD = 0.5  # of log T: where every held-out label is right, likelihood alone would make all rows certain


def fit_temperature(log_probabilities: np.ndarray, component_class: np.ndarray, labels: np.ndarray) -> float:
    """The T at which the true classes of held-out rows are most probable; 1 where there are fewer than MIN_LABELS.

    Minimises − Σ_rows log Σ_{k of the row's class} q_T(k | x) + (log T)² / (2 PRIOR_STD²).

    Parameters
    ----------
    log_probabilities : array of shape (rows, components)
        log q(k | x).
    component_class : array of shape (components,)
        The position of each component's class.
    labels : array of shape (rows,)
        The position of each row's true class.
    """
    from scipy.optimize import minimize_scalar

    if len(labels) < MIN_LABELS:
        return 1.0
    is_true = component_class == np.asarray(labels)[:, None]

    def cost(log_temperature: float) -> float:
        prior = log_temperature**2 / (2 * PRIOR_STD**2)
        return negative_log_likelihood(log_probabilities / np.exp(log_temperature), is_true) + prior

    found = minimize_scalar(cost, bounds=(np.log(LOWEST), np.log(HIGHEST)), method="bounded")
    return float(np.exp(found.x))


def negative_log_likelihood(logits: np.ndarray, is_true: np.ndarray) -> float:
    """− Σ_rows log of the probability of the components that are the row's own, from logits that need not be normed."""
    from scipy.special import logsumexp

    of_true = logsumexp(np.where(is_true, logits, -np.inf), axis=1)
    return float((logsumexp(logits, axis=1) - of_true).sum())
