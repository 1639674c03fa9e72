"""Where fits of the mixture begin: at labelled rows, afresh at clusters of all rows, and where a class may be new."""

import numpy as np

from newfound.discovery.gaussians import Fit, Table, iterate, known_only, labelled_only, log_joint, statistics
from newfound.labels import UNLABELLED

SHORT = 6  # iterations, before most starts are given up
N_AFRESH = 8  # starts from clusters of all rows


def best_known(table: Table, seed: int) -> Fit:
    """The best mixture without new classes: begun at the labelled rows, and afresh."""
    begun = [known_only(table), *afresh(table, table.n_known, seed)]
    return max((iterate(table, fit.responsibilities, fit.prior) for fit in begun), key=lambda fit: fit.bound)


def afresh(table: Table, n_classes: int, seed: int) -> list[Fit]:
    """Fits begun at clusters of all rows; a known class is the cluster that holds most of its labels.

    What begins at the labelled rows may end where their chance selection has led it: few labels are a poor start, but
    can tell which of two ends is the better one.
    """
    from scipy.optimize import linear_sum_assignment
    from sklearn.cluster import KMeans

    if n_classes < 2 or len(np.unique(table.Z.round(9), axis=0)) < n_classes:
        return []
    rows = np.flatnonzero(table.labels != UNLABELLED)
    prior = labelled_only(table)[1]
    begun = []
    for start in range(N_AFRESH):
        points = table.Z * table.spread if start % 2 == 0 else table.Z
        cluster = KMeans(n_classes, n_init=1, random_state=seed + start).fit_predict(points)
        counts = np.zeros((n_classes, n_classes))
        np.add.at(counts, (table.labels[rows], cluster[rows]), 1)
        responsibilities = np.eye(n_classes)[linear_sum_assignment(-counts.T)[1][cluster]]
        responsibilities[rows] = np.eye(n_classes)[table.labels[rows]]
        begun.append(iterate(table, responsibilities, prior, max_iter=SHORT))
    return begun


def places(table: Table, fit: Fit, seed: int) -> list[np.ndarray]:
    """Rows without a label where a new class may begin: parts of a class, of all rows, and what is explained least."""
    free = np.flatnonzero(table.labels == UNLABELLED)
    plain = table.Z * table.spread
    shared = table.Z @ np.linalg.cholesky(np.linalg.inv(fit.prior.covariance))
    answer = fit.responsibilities[free].argmax(axis=1)
    n_classes = fit.responsibilities.shape[1]
    found = parts(plain, free, n_classes + 1, seed)
    for y in range(n_classes):
        for space in (plain, shared):
            halves = parts(space, free[answer == y], 2, seed)
            found += halves if y < table.n_known else halves[:1]
    for explained, shares in _explained(table, fit):
        order = free[np.argsort(explained[free], kind="stable")]
        least = [order[: max(1, int(share * len(order)))] for share in shares]
        found += [*least, *parts(plain, least[0], 2, seed)]
    return [rows for rows in found if len(rows)]


def _explained(table: Table, fit: Fit) -> list[tuple[np.ndarray, tuple[float, ...]]]:
    """How well each row is explained, by the fit and by the labelled rows alone; and shares of rows to begin with."""
    joint = log_joint(table, statistics(table, fit.responsibilities), fit.prior)
    found: list[tuple[np.ndarray, tuple[float, ...]]] = [(np.logaddexp.reduce(joint, axis=1), (0.1, 0.25))]
    if table.n_known:
        start, prior = labelled_only(table)
        joint = log_joint(table, statistics(table, start), prior)
        found.append((np.logaddexp.reduce(joint, axis=1), (0.25, 0.5, 0.75)))
    return found


def parts(Z: np.ndarray, rows: np.ndarray, n_parts: int, seed: int) -> list[np.ndarray]:
    """Rows cut by k-means; nothing where they are too few or all alike."""
    from sklearn.cluster import KMeans

    if len(rows) < 2 * n_parts or len(np.unique(Z[rows].round(9), axis=0)) < n_parts:
        return []
    part = KMeans(n_parts, n_init=2, random_state=seed).fit_predict(Z[rows])
    return [rows[part == i] for i in range(n_parts)]
