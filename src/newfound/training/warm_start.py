"""Labels to start from: where a row has none, a guess that training can improve on.

If y is set free from the first step, the components die before z-space has any shape: few survive, and the new classes
share them. So training begins as if there were one component only, a plain variational auto-encoder. Rows are then cut
into components by who their neighbours are, among the columns of X and in the auto-encoder's z-space; every row is
trained on as if its component were its label, before the real objective takes over. From few rows no auto-encoder can
be learned, and the columns alone must do.
"""

import warnings
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from newfound.features import Scaling, in_batches
from newfound.models import DeepGenerativeModel
from newfound.models.objective import UNLABELLED
from newfound.training.edges import edges
from newfound.training.evidence import Views, weigh_labels
from newfound.training.neighbours import (
    MODES,
    coordinates,
    join_neighbours,
    of_length_1,
    principal_axes,
)

if TYPE_CHECKING:
    from sklearn.cluster import KMeans

ROWS_FOR_SHAPING = 5_000  # to train on: with fewer, clusters of columns are the better guess
LABELS_PER_CLUSTER = 3  # expected in a cluster of a known class: enough to tell it from a new one
ROWS_TO_CLUSTER = 20_000  # clusters are found on a sample of so many rows
ROWS_PER_SHAPE = 10  # and dimension, for each cluster: fewer cannot tell its shape, only its centre
KMEANS_STARTS = 10
SMALLEST_GROUP = 0.1  # of what a new component would hold if all were alike: a smaller one is not worth a component


class Place(NamedTuple):
    """Where each component begins in z-space."""

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


def places(where: Positions, component: np.ndarray, n_components: int) -> Place:
    """The mean and variance of z in each component; those of all rows where a component has none."""
    mean = np.tile(where.mean.mean(axis=0), (n_components, 1))
    var = np.tile(where.mean.var(axis=0) + where.var.mean(axis=0), (n_components, 1))
    for k in np.unique(component):
        rows = component == k
        mean[k] = where.mean[rows].mean(axis=0)
        var[k] = where.mean[rows].var(axis=0) + where.var[rows].mean(axis=0)
    return Place(mean.astype(np.float32), np.log(var).astype(np.float32))


class Images(NamedTuple):
    """All rows as images, with every pixel."""

    pixels: np.ndarray  # (rows, pixels)
    shape: tuple[int, ...]  # (height, width) or (height, width, channels)


class Rows(NamedTuple):
    """All rows, and what is known of them before training in earnest."""

    X: np.ndarray
    scaling: Scaling
    images: Images | None  # if that is what rows are
    where: Positions | None  # in z-space, if it has a shape already
    labels: np.ndarray  # UNLABELLED where there is none, or where it is held out


class Start(NamedTuple):
    """What training sets out from."""

    labels: np.ndarray  # of every row: its own, or a guess
    shares: np.ndarray  # (rows, known classes): how probable each is; no column where that is not asked for


def find_start(rows: Rows, n_known: int, n_new: int, by: str, weighs_labels: bool, seed: int) -> Start:
    """Guess a label for every row without one: a known class where labels gather, a new component elsewhere."""
    labels = rows.labels
    space, views = _look(rows, n_known + n_new, by, weighs_labels, seed)
    if n_known and views is not None:
        shares = weigh_labels(views, labels, n_known, seed, all_known=n_new == 0)
        guesses = np.where(shares.sum(axis=1) >= 0.5, shares.argmax(axis=1), UNLABELLED)
    else:
        shares = np.zeros((len(labels), 0), np.float32)
        guesses = _known_where_labels_gather(space, labels, n_known, n_new, seed)
    rest = np.flatnonzero(guesses == UNLABELLED)
    if len(rest) < n_new:  # labels everywhere: the new components begin among all rows without one
        rest = np.flatnonzero(labels == UNLABELLED)
    if n_new:
        has_shapes = by == "distances"
        smallest = 0.0 if has_shapes else SMALLEST_GROUP
        clusters = cluster(space, rest, n_new, seed, starts=KMEANS_STARTS, smallest=smallest, has_shapes=has_shapes)
        guesses[rest] = n_known + clusters
    return Start(np.where(labels == UNLABELLED, guesses, labels), shares)


def _look(rows: Rows, n_groups: int, by: str, weighs_labels: bool, seed: int) -> tuple[np.ndarray, Views | None]:
    """The space in which rows are cut into components, and the views by which labels are weighed, if they are."""
    if by == "distances":
        space = _scaled(rows.X, rows.scaling) if rows.where is None else _standardised(rows.where.mean)
        return space, Views(rows.X, _axes(rows, seed), space, None) if weighs_labels else None
    axes = _axes(rows, seed)
    graph = join_neighbours([axes] if rows.where is None else [axes, _standardised(rows.where.mean)], seed)
    space = coordinates(graph, n_groups)
    return space, Views(rows.X, axes, of_length_1(space[:, :MODES]), graph) if weighs_labels else None


def _axes(rows: Rows, seed: int) -> np.ndarray:
    """The principal axes of what rows look like: of the edges of images, else of the columns."""
    images = rows.images
    if images is None:
        return principal_axes(rows.X, lambda some: _scaled(some, rows.scaling), seed)
    return principal_axes(images.pixels, lambda some: edges(some, images.shape), seed)


def _scaled(rows: np.ndarray, scaling: Scaling) -> np.ndarray:
    return (rows - np.asarray(scaling.shift)) * np.asarray(scaling.scale)


def _standardised(Z: np.ndarray) -> np.ndarray:
    return (Z - Z.mean(axis=0)) / np.maximum(Z.std(axis=0), 1e-6)


def _known_where_labels_gather(Z: np.ndarray, labels: np.ndarray, n_known: int, n_new: int, seed: int) -> np.ndarray:
    """A known class, or UNLABELLED, for every row; all rows are cut into clusters as small as the labels allow.

    A cluster in which labelled rows are at least half as common as in all the data belongs to the class most of them
    name.
    """
    if n_known == 0:
        return np.full(len(labels), UNLABELLED)
    is_labelled = labels != UNLABELLED
    n_components = n_known + n_new
    n_clusters = min(max(int(is_labelled.sum()) // LABELS_PER_CLUSTER, n_components), 4 * n_components)
    clusters = cluster(Z, np.arange(len(Z)), n_clusters, seed)
    counts = np.zeros((clusters.max() + 1, n_known))
    np.add.at(counts, (clusters[is_labelled], labels[is_labelled]), 1)
    share = counts.sum(axis=1) / np.maximum(np.bincount(clusters), 1)
    return np.where(share >= is_labelled.mean() / 2, counts.argmax(axis=1), UNLABELLED)[clusters]


def cluster(
    Z: np.ndarray,
    rows: np.ndarray,
    n_clusters: int,
    seed: int,
    *,
    starts: int = 1,
    smallest: float = 0.0,
    has_shapes: bool = False,
) -> np.ndarray:
    """The cluster of each of the given rows: by k-means and, if clusters have shapes, by a Gaussian mixture."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    rng = np.random.default_rng(seed)
    sample = rows if len(rows) <= ROWS_TO_CLUSTER else rng.choice(rows, ROWS_TO_CLUSTER, replace=False)
    n_clusters = min(n_clusters, len(sample))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters, or not quite settled
        clusters = _k_means(Z[sample], n_clusters, seed, starts, smallest)
        if has_shapes and len(sample) >= ROWS_PER_SHAPE * Z.shape[1] * n_clusters:
            clusters = GaussianMixture(
                n_clusters, means_init=clusters.cluster_centers_, reg_covar=1e-3, random_state=seed % 2**32
            ).fit(Z[sample])
    return clusters.predict(Z[rows])


def _k_means(points: np.ndarray, n_clusters: int, seed: int, starts: int, smallest: float) -> "KMeans":
    """Clusters of which none has less than the share `smallest` of the mean number of points.

    Odd points that are far from all others would take a cluster for a handful of them, and training would lose it. They
    are left out, and belong to the nearest of the clusters that the others make.
    """
    from sklearn.cluster import KMeans

    fewest = smallest * len(points) / n_clusters
    while True:
        clusters = KMeans(n_clusters, n_init=starts, random_state=seed % 2**32).fit(points)
        is_small = np.bincount(clusters.labels_, minlength=n_clusters) < fewest
        if not is_small.any():
            return clusters
        rest = points[~is_small[clusters.labels_]]
        if len(np.unique(rest, axis=0)) < n_clusters:
            return clusters
        points = rest
