"""Labels to start from: where a row has none, a guess that training can improve on.

If y is set free from the first step, the components die before z-space has any shape: few survive, and the new classes
share them. So training begins as if there were one component only, a plain variational auto-encoder. Its z-space, where
like rows lie closer than among the columns of X, is cut into components; every row is then trained on as if its
component were its label, before the real objective takes over. From few rows no such space can be learned, and their
columns are cut instead.
"""

import warnings
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from newfound.features import Scaling, in_batches
from newfound.models import DeepGenerativeModel
from newfound.models.objective import UNLABELLED

ROWS_FOR_SHAPING = 5_000  # to train on: with fewer, clusters of columns are the better guess
LABELS_PER_CLUSTER = 3  # expected in a cluster of a known class: enough to tell it from a new one
ROWS_TO_CLUSTER = 20_000  # clusters are found on a sample of so many rows
ROWS_PER_SHAPE = 10  # and dimension of z, for each cluster: fewer cannot tell its shape, only its centre
KMEANS_STARTS = 10


class Guess(NamedTuple):
    """Where training goes on from: a label for every row, and each component's place in z-space."""

    labels: np.ndarray
    mean: np.ndarray  # (components, d_z)
    log_var: np.ndarray  # (components, d_z)


class Positions(NamedTuple):
    """q(z | x) of every row, as long as there is one component only."""

    mean: np.ndarray  # (rows, d_z)
    var: np.ndarray  # (rows, d_z)


def positions(model: DeepGenerativeModel, X: np.ndarray, scaling: Scaling) -> Positions:
    """q(z | x, y) of every row, for the first component."""
    gaussians = in_batches(lambda rows: _first_posterior(model, rows, scaling), X)
    return Positions(gaussians[:, 0], np.exp(gaussians[:, 1]))


@jax.jit
def _first_posterior(model: DeepGenerativeModel, rows: Array, scaling: Scaling) -> Float[Array, "batch 2 d_z"]:
    first = jnp.eye(1, model.log_p_y.size)[0]
    return jax.vmap(lambda x: jnp.stack(model.q_z(x, first)))(scaling.apply(rows))


def guess(where: Positions, labels: np.ndarray, n_known: int, n_new: int, seed: int) -> Guess:
    """Pseudo-labels from the rows' positions, and the components they make."""
    scaled = (where.mean - where.mean.mean(axis=0)) / np.maximum(where.mean.std(axis=0), 1e-6)
    guesses = pseudo_labels(scaled, labels, n_known, n_new, seed)
    mean, var = _moments(where, guesses, n_known + n_new)
    return Guess(guesses, mean.astype(np.float32), np.log(var).astype(np.float32))


def _moments(where: Positions, component: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of z in each component; those of all rows where a component has none."""
    mean = np.tile(where.mean.mean(axis=0), (n_components, 1))
    var = np.tile(where.mean.var(axis=0) + where.var.mean(axis=0), (n_components, 1))
    for k in np.unique(component):
        rows = component == k
        mean[k] = where.mean[rows].mean(axis=0)
        var[k] = where.mean[rows].var(axis=0) + where.var[rows].mean(axis=0)
    return mean, var


def pseudo_labels(Z: np.ndarray, labels: np.ndarray, n_known: int, n_new: int, seed: int) -> np.ndarray:
    """Each row's label, or a component guessed by clustering: known where labels gather, new elsewhere.

    All rows are cut into clusters as small as the labels allow. A cluster in which labelled rows are at least half as
    common as in all the data belongs to the class most of them name. The rows of all other clusters are cut again,
    into the new components.
    """
    guesses = np.full(len(labels), UNLABELLED)
    if n_known:
        n_components = n_known + n_new
        n_wanted = int((labels != UNLABELLED).sum()) // LABELS_PER_CLUSTER
        n_clusters = min(max(n_wanted, n_components), 4 * n_components)
        clusters = _cluster(Z, np.arange(len(Z)), n_clusters, seed, starts=1)
        guesses = _class_of_cluster(clusters, labels, n_known)[clusters]
    rest = np.flatnonzero(guesses == UNLABELLED)
    if len(rest) < n_new:  # labels everywhere: the new components begin among all rows without one
        rest = np.flatnonzero(labels == UNLABELLED)
    guesses[rest] = n_known + _cluster(Z, rest, n_new, seed, starts=KMEANS_STARTS)
    return np.where(labels == UNLABELLED, guesses, labels)


def _class_of_cluster(clusters: np.ndarray, labels: np.ndarray, n_known: int) -> np.ndarray:
    """The known class each cluster belongs to, or UNLABELLED."""
    is_labelled = labels != UNLABELLED
    n_clusters = clusters.max() + 1
    counts = np.zeros((n_clusters, n_known))
    np.add.at(counts, (clusters[is_labelled], labels[is_labelled]), 1)
    share = counts.sum(axis=1) / np.maximum(np.bincount(clusters, minlength=n_clusters), 1)
    return np.where(share >= is_labelled.mean() / 2, counts.argmax(axis=1), UNLABELLED)


def _cluster(Z: np.ndarray, rows: np.ndarray, n_clusters: int, seed: int, starts: int) -> np.ndarray:
    """The cluster of each of the given rows: by k-means, then by a Gaussian mixture where there are rows enough."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    rng = np.random.default_rng(seed)
    sample = rows if len(rows) <= ROWS_TO_CLUSTER else rng.choice(rows, ROWS_TO_CLUSTER, replace=False)
    n_clusters = min(n_clusters, len(sample))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters, or not quite settled
        clusters = KMeans(n_clusters, n_init=starts, random_state=seed % 2**32).fit(Z[sample])
        if starts > 1 and len(sample) >= ROWS_PER_SHAPE * Z.shape[1] * n_clusters:
            clusters = GaussianMixture(
                n_clusters, means_init=clusters.cluster_centers_, reg_covar=1e-3, random_state=seed % 2**32
            ).fit(Z[sample])
    return clusters.predict(Z[rows])
