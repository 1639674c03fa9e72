"""Small tables: new classes and the class of each row, by an exact semi-supervised mixture of Gaussians."""

from typing import NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.pu import LABEL_FREQUENCY_PRIOR
from newfound.discovery.record import Evidence
from newfound.labels import UNLABELLED, contingency

# ---- A semi-supervised mixture of Gaussians, one for each class, with exact updates and a bound on its evidence ----
#     y ~ Categorical(π)    x | y ~ N(μ_y, Σ_y)    label | y ~ Bernoulli(c_y) for a known class, never for a new one
#
# with conjugate priors π ~ Dirichlet(1), c_y ~ Beta(1, 1), Σ_y ~ InverseWishart(ν, ν Σ₀), μ_y ~ N(0, Σ_y / κ). The
# shared Σ₀, ν and κ are fitted too: ν → ∞ is one covariance for all classes, a small ν is one for each class. A row
# without a label is evidence: a known class with label frequency c explains it 1 − c times as well.
#
# The posterior is variational, q(y) q(π, c, μ, Σ): no iteration lowers the bound, and the bound, unlike a likelihood,
# does not always grow with the number of classes. It replaces BIC and is sharper if rows are few.

PRECISIONS = (1.0, 0.3, 0.1, 0.03, 0.01)  # κ
STRENGTHS = (0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e5)  # ν, above the least that has a mean
MIN_BLUR = 1e-3  # of a column's variance
MAX_DIM = 50


class Table(NamedTuple):
    """Whitened rows, their uncertainty from rounding, and the labels."""

    Z: np.ndarray  # (rows, d), zero mean
    spread: np.ndarray  # (d,): Z · spread are the principal components of the standardised columns
    blur: np.ndarray  # (d, d): the covariance of rounding errors
    labels: np.ndarray  # codes, UNLABELLED for none
    n_known: int


class Prior(NamedTuple):
    """The prior that all classes share. A column of several ν or κ stands for several priors."""

    nu: float | np.ndarray
    kappa: float | np.ndarray
    covariance: np.ndarray  # Σ₀


class Statistics(NamedTuple):
    """The sums over rows for the M step, weighted by responsibilities."""

    counts: np.ndarray  # (classes,)
    means: np.ndarray  # (classes, d)
    scatter: np.ndarray  # (classes, d, d), around the means


class Fit(NamedTuple):
    """A state of the mixture; the first n_known columns of the responsibilities belong to the known classes."""

    responsibilities: np.ndarray  # (rows, classes)
    prior: Prior
    bound: float


def make_table(
    points: np.ndarray, labels: np.ndarray, n_known: int, rows_per_dim: int, binary_blur: float = 1 / 12
) -> Table:
    """Whiten; with many columns for the rows, keep the leading principal components.

    A value is known only to the step of its column (1 for counts). So it is blurred by a variance of 1/12 of the
    squared step; otherwise a category that no row of a class has would be infinite evidence. For columns of two values
    the factor is `binary_blur`.
    """
    X = np.asarray(points, float)
    X = X[:, X.std(axis=0) > 1e-6]
    if X.shape[1] == 0:
        return Table(np.zeros((len(X), 1)), np.ones(1), np.eye(1), labels, n_known)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    values = [np.unique(column.round(5)) for column in X.T]
    variances = [np.diff(v).min() ** 2 * (binary_blur if len(v) == 2 else 1 / 12) for v in values]
    blur = np.maximum(variances, MIN_BLUR)
    eigenvalues, vectors = np.linalg.eigh(X.T @ X / len(X) + np.diag(blur))
    n_kept = min(X.shape[1], MAX_DIM, max(2, len(X) // rows_per_dim))
    spread = np.sqrt(eigenvalues[::-1][:n_kept])
    whiten = vectors[:, ::-1][:, :n_kept] / spread
    return Table(X @ whiten, spread, whiten.T @ (blur[:, None] * whiten), labels, n_known)


# ---- the M step ------------------------------------------------------------------------------------------------------


def statistics(table: Table, responsibilities: np.ndarray) -> Statistics:
    counts = responsibilities.sum(axis=0) + 1e-10
    means = responsibilities.T @ table.Z / counts[:, None]
    squares = (responsibilities.T[:, None, :] * table.Z.T) @ table.Z
    around = squares - counts[:, None, None] * (means[:, :, None] * means[:, None, :] - table.blur)
    return Statistics(counts, means, around)


def scale_matrices(of: Statistics, prior: Prior) -> np.ndarray:
    """ν Σ₀ + scatter + κN/(κ + N) m mᵀ: of the inverse Wishart posterior of each class."""
    weight = prior.kappa * of.counts / (prior.kappa + of.counts)
    between = weight[..., None, None] * of.means[:, :, None] * of.means[:, None, :]
    return np.asarray(prior.nu)[..., None, None] * prior.covariance + of.scatter + between


def covariances(of: Statistics, prior: Prior) -> np.ndarray:
    return scale_matrices(of, prior) / (prior.nu + of.counts)[:, None, None]


def update_prior(of: Statistics, prior: Prior) -> Prior:
    """Σ₀ by a step of EM, Σ₀⁻¹ = mean over classes of E[Σ_y⁻¹]; then the best κ and ν of a few."""
    d = of.means.shape[1]
    prior = prior._replace(covariance=np.linalg.inv(np.linalg.inv(covariances(of, prior)).mean(axis=0)))
    kappas = np.array([prior.kappa, *PRECISIONS])
    prior = prior._replace(kappa=kappas[log_marginal(of, prior._replace(kappa=kappas[:, None])).argmax()])
    nus = np.array([prior.nu, *(d + 2 + strength for strength in STRENGTHS)])
    return prior._replace(nu=nus[log_marginal(of, prior._replace(nu=nus[:, None])).argmax()])


# ---- the bound -------------------------------------------------------------------------------------------------------


def log_marginal(of: Statistics, prior: Prior) -> np.ndarray:
    """log p(rows of each class), with μ and Σ integrated out, summed over classes; for each of several priors."""
    d, nu, counts = of.means.shape[1], np.asarray(prior.nu), of.counts
    log_det = np.linalg.slogdet(scale_matrices(of, prior))[1]
    log_det_prior = np.linalg.slogdet(nu[..., None, None] * prior.covariance)[1]
    gammas = _log_multigamma((nu + counts) / 2, d) - _log_multigamma(nu / 2, d)
    determinants = nu / 2 * log_det_prior - (nu + counts) / 2 * log_det
    means = d / 2 * np.log(prior.kappa / (prior.kappa + counts))
    return (gammas + determinants + means - counts * d / 2 * np.log(np.pi)).sum(axis=-1)


def evidence_bound(table: Table, responsibilities: np.ndarray, of: Statistics, prior: Prior) -> float:
    """log p(x, labels) ≥ E[log p(x, labels, y)] + H(q(y)), all parameters integrated out; new classes have no order."""
    from scipy.special import betaln, entr, gammaln

    n_classes = len(of.counts)
    shares = gammaln(1 + of.counts).sum() + gammaln(n_classes) - gammaln(n_classes + of.counts.sum())
    labelled, unlabelled = label_counts(table, responsibilities)
    labels = betaln(1 + labelled, 1 + unlabelled).sum()
    order = gammaln(n_classes - table.n_known + 1)
    return float(log_marginal(of, prior) + shares + labels + entr(responsibilities).sum() + order)


def label_counts(table: Table, responsibilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each known class, its number of rows with a label, and the expected number without."""
    is_labelled = table.labels != UNLABELLED
    labelled = np.bincount(table.labels[is_labelled], minlength=table.n_known)
    return labelled, responsibilities[~is_labelled, : table.n_known].sum(axis=0)


def _log_multigamma(a: np.ndarray, d: int) -> np.ndarray:
    from scipy.special import gammaln

    return gammaln(a[..., None] - np.arange(d) / 2).sum(axis=-1) + d * (d - 1) / 4 * np.log(np.pi)


# ---- the E step ------------------------------------------------------------------------------------------------------


def log_joint(table: Table, of: Statistics, prior: Prior) -> np.ndarray:
    """E[log π_y + log N(x | μ_y, Σ_y)] for each row and class, without its label."""
    from scipy.special import digamma

    d = table.Z.shape[1]
    nu, kappa = prior.nu + of.counts, prior.kappa + of.counts
    root = np.linalg.inv(np.linalg.cholesky(scale_matrices(of, prior)))  # Lᵀ⁻¹L⁻¹ is the inverse
    offsets = (root @ ((of.counts / kappa)[:, None] * of.means)[:, :, None])[:, :, 0]
    distances = np.stack([np.square(table.Z @ r.T - o).sum(axis=1) for r, o in zip(root, offsets, strict=True)], axis=1)
    distances += np.einsum("kij,jl,kil->k", root, table.blur, root)
    log_det = digamma((nu[:, None] - np.arange(d)) / 2).sum(axis=1) + 2 * np.log(
        np.diagonal(root, axis1=1, axis2=2)
    ).sum(axis=1)
    log_share = digamma(1 + of.counts) - digamma(len(of.counts) + of.counts.sum())
    return log_share + (log_det - d * np.log(np.pi) - d / kappa - nu * distances) / 2


def posterior(log_weights: np.ndarray) -> np.ndarray:
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def e_step(table: Table, responsibilities: np.ndarray, of: Statistics, prior: Prior) -> np.ndarray:
    """q(y) of each row: its label, or else the posterior given that it has none."""
    from scipy.special import digamma

    joint = log_joint(table, of, prior)
    labelled, unlabelled = label_counts(table, responsibilities)
    joint[:, : table.n_known] += digamma(1 + unlabelled) - digamma(2 + labelled + unlabelled)
    found = posterior(joint)
    rows = np.flatnonzero(table.labels != UNLABELLED)
    found[rows] = 0
    found[rows, table.labels[rows]] = 1
    return found


# ---- both, in turn ---------------------------------------------------------------------------------------------------


def iterate(table: Table, responsibilities: np.ndarray, prior: Prior, max_iter: int = 100, tol: float = 0.01) -> Fit:
    """Iterate until the bound grows by less than `tol` nats per iteration; every fifth one fits the prior."""
    last = -np.inf
    for i in range(max_iter):
        of = statistics(table, responsibilities)
        if i % 5 == 0:
            prior = update_prior(of, prior)
        if i % 5 == 4:
            bound = evidence_bound(table, responsibilities, of, prior)
            if bound - last < 5 * tol:
                break
            last = bound
        responsibilities = e_step(table, responsibilities, of, prior)
    of = statistics(table, responsibilities)
    return Fit(responsibilities, prior, evidence_bound(table, responsibilities, of, prior))


def labelled_only(table: Table) -> tuple[np.ndarray, Prior]:
    """The responsibilities of the labelled rows only, and an initial prior."""
    d = table.Z.shape[1]
    rows = np.flatnonzero(table.labels != UNLABELLED)
    start = np.zeros((len(table.labels), table.n_known))
    start[rows, table.labels[rows]] = 1
    return start, Prior(d + 12.0, 0.1, np.eye(d))


def known_only(table: Table) -> Fit:
    """The mixture without new classes, started at the labelled rows; without labels, one class of all rows."""
    start, prior = labelled_only(table)
    if table.n_known == 0:
        return iterate(table, np.ones((len(table.labels), 1)), prior)
    return iterate(table, e_step(table, start, statistics(table, start), prior), prior)


# ---- Starts of the mixture: labelled rows, clusters of all rows, and candidate rows for a new class ----

SHORT_ITERATIONS = 6  # after which most starts are dropped
N_CLUSTER_STARTS = 8  # from clusters of all rows


def best_known(table: Table, seed: int) -> Fit:
    """The best mixture without new classes, from the labelled rows or from clusters."""
    begun = [known_only(table), *from_clusters(table, table.n_known, seed)]
    return max((iterate(table, fit.responsibilities, fit.prior) for fit in begun), key=lambda fit: fit.bound)


def from_clusters(table: Table, n_classes: int, seed: int) -> list[Fit]:
    """Fits started at clusters of all rows; a known class is the cluster with most of its labels.

    Few labels are a poor start, because their selection is random; but they can decide which of two fits is better.
    """
    from scipy.optimize import linear_sum_assignment
    from sklearn.cluster import KMeans

    if n_classes < 2 or len(np.unique(table.Z.round(9), axis=0)) < n_classes:
        return []
    rows = np.flatnonzero(table.labels != UNLABELLED)
    prior = labelled_only(table)[1]
    begun = []
    for start in range(N_CLUSTER_STARTS):
        points = table.Z * table.spread if start % 2 == 0 else table.Z
        cluster = KMeans(n_classes, n_init=1, random_state=seed + start).fit_predict(points)
        counts = contingency(table.labels[rows], cluster[rows], (n_classes, n_classes))
        responsibilities = np.eye(n_classes)[linear_sum_assignment(-counts.T)[1][cluster]]
        responsibilities[rows] = np.eye(n_classes)[table.labels[rows]]
        begun.append(iterate(table, responsibilities, prior, max_iter=SHORT_ITERATIONS))
    return begun


def candidate_starts(table: Table, fit: Fit, seed: int) -> list[np.ndarray]:
    """Sets of unlabelled rows to start a new class with: parts of a class or of all rows, and the least explained."""
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
    begun: list[tuple[np.ndarray, Prior, tuple[float, ...]]] = [(fit.responsibilities, fit.prior, (0.1, 0.25))]
    if table.n_known:
        begun.append((*labelled_only(table), (0.25, 0.5, 0.75)))  # explained by the labelled rows alone
    for responsibilities, prior, shares in begun:
        joint = log_joint(table, statistics(table, responsibilities), prior)
        explained = np.logaddexp.reduce(joint, axis=1)
        order = free[np.argsort(explained[free], kind="stable")]
        least = [order[: max(1, int(share * len(order)))] for share in shares]
        found += [*least, *parts(plain, least[0], 2, seed)]
    return [rows for rows in found if len(rows)]


def parts(Z: np.ndarray, rows: np.ndarray, n_parts: int, seed: int) -> list[np.ndarray]:
    """The rows cut by k-means; nothing if they are too few or all equal."""
    from sklearn.cluster import KMeans

    if len(rows) < 2 * n_parts or len(np.unique(Z[rows].round(9), axis=0)) < n_parts:
        return []
    part = KMeans(n_parts, n_init=2, random_state=seed).fit_predict(Z[rows])
    return [rows[part == i] for i in range(n_parts)]


# ---- The number of new classes ----
# New classes are added one at a time, each from several starts. One is accepted if
#
# - it raises the bound on the evidence;
# - it has fewer labels than chance explains: too few labelled rows, judged without their labels, belong to it;
# - there is a valley between it and any other new class, both have at least `min_new_share` of the size of a known
#   class, and it raises the bound per row by more than a division of any known class in two. (No class is exactly
#   Gaussian, so several Gaussians always fit better.)
#
# Stricter and more lenient limits of the same tests give the range of the number.

ROWS_PER_COLUMN = 10  # rows per principal component of the mixture
MAX_ROUGHNESS = 0.5  # nats per row that a known class may gain as two Gaussians; above, the graph is used
NEW_CLASS_VALLEY = 0.5  # maximal density between two new classes, relative to that at their means
MAX_NEW = 20
N_STARTS = 3  # starts that are iterated to the end


class MixtureFit(NamedTuple):
    """The result of the mixture."""

    n_new: int
    n_new_range: tuple[int, int]
    probabilities: np.ndarray  # (rows, known classes + new ones); for a row without a label, given that it has none
    roughness: float  # nats per row that the least Gaussian known class would gain as two Gaussians; 0 for none
    p_new: np.ndarray  # of every row, out of fold if it has a label
    evidence: Evidence | None  # of each new class; None without labels


class Limits(NamedTuple):
    """The limits for a new class."""

    gain: float  # nats of evidence
    p: float  # of at most this many labels if it were known
    valley: float  # the density between two new classes, relative to that at the lower of their means


class Candidate(NamedTuple):
    """A fit with one more new class, and the strictest level of limits that it meets (0 for none)."""

    fit: Fit
    level: int


def fit_mixture(
    points: np.ndarray,
    labels: np.ndarray,
    n_known: int,
    settings: Initialisation,
    seed: int,
    n_new: int | None = None,
) -> MixtureFit:
    """From scaled columns and codes of labels (UNLABELLED for none) to classes of all rows.

    n_new = None finds the number; a given number is used as it is and is also the range.
    """
    of_number, of_rows = (
        make_table(points, np.asarray(labels), n_known, ROWS_PER_COLUMN, blur) for blur in (1 / 4, 1 / 12)
    )
    if n_new is not None:
        found = _of_number(of_number, n_new, settings, seed)
        low, high = n_new, n_new
    else:
        fewest, found, most = _search(of_number, settings, seed)
        low, n_new, high = (_n_new(of_number, fit) for fit in (fewest, found, most))
    probabilities = _sharpened(of_rows, found.responsibilities)
    evidence, p_new = None, probabilities[:, n_known:].sum(axis=1)
    if n_known:
        labelled, membership = _membership_without_own_label(of_number, found, settings, seed)
        p_new[labelled] = membership[:, n_known:].sum(axis=1)
        evidence = missing_labels(of_number, found, settings, seed)
    return MixtureFit(n_new, (low, high), probabilities, _roughness(of_number, found, seed), p_new, evidence)


def _search(table: Table, settings: Initialisation, seed: int) -> list[Fit]:
    """The fits by strict limits, by those of the settings, and by lenient ones."""
    fit = best_known(table, seed)
    candidates = _candidates(table, fit, settings, seed)
    found = []
    for level in (3, 2, 1):  # each continues from the one before
        while _n_new(table, fit) < MAX_NEW and any(c.level >= level for c in candidates):
            fit = _best([c for c in candidates if c.level >= level])
            candidates = _candidates(table, fit, settings, seed)
        found.append(fit)
    return found


def _sharpened(table: Table, responsibilities: np.ndarray) -> np.ndarray:
    """The final responsibilities, with the usual blur of categories; unchanged if a class would lose all its rows.

    While the number is open, categories are blurred more: a category is a group with a gap around it, but rarely a
    class.
    """
    prior = labelled_only(table)[1]
    ended = iterate(table, responsibilities, prior).responsibilities
    is_lost = (ended.sum(axis=0) < 0.5) & (responsibilities.sum(axis=0) >= 0.5)
    return responsibilities if is_lost.any() else ended


def prefers_mixture(shape: tuple[int, ...], settings: Initialisation, fit: MixtureFit | None = None) -> bool:
    """Whether the mixture should answer instead of the graph.

    It should for few rows that are at least as many as the free entries of a covariance matrix and, once it is fitted,
    if the known classes look Gaussian. Hiding a known class would not decide it: on small tables both find it.
    """
    n_rows, n_columns = shape
    is_small = n_columns * (n_columns + 1) / 2 <= n_rows <= settings.mixture_max_rows
    return is_small and (fit is None or fit.roughness <= MAX_ROUGHNESS)


def _of_number(table: Table, n_new: int, settings: Initialisation, seed: int) -> Fit:
    """The given number of new classes; some are empty if the mixture cannot find enough."""
    fit = best_known(table, seed)
    if n_new == 0 and table.n_known == 0:
        raise ValueError("There is no class: no label is known and n_new is 0. Ask for one new class or more.")
    while _n_new(table, fit) < n_new:
        candidates = _candidates(table, fit, settings, seed)
        if not candidates:
            n_missing = n_new - _n_new(table, fit)
            empty = np.zeros((len(table.labels), n_missing))
            return fit._replace(responsibilities=np.hstack([fit.responsibilities, empty]))
        fit = _best([c for c in candidates if c.level >= 2] or candidates)
    return fit


def _n_new(table: Table, fit: Fit) -> int:
    return fit.responsibilities.shape[1] - table.n_known


def _best(candidates: list[Candidate]) -> Fit:
    return max(candidates, key=lambda c: c.fit.bound).fit


# ---- one more new class ----------------------------------------------------------------------------------------------


def _candidates(table: Table, fit: Fit, settings: Initialisation, seed: int) -> list[Candidate]:
    """Fits with one more new class: begun at every place, the best few of them iterated to the end."""
    started = []
    for rows in candidate_starts(table, fit, seed):
        start = np.hstack([fit.responsibilities, np.zeros((len(table.labels), 1))])
        start[rows] = np.eye(start.shape[1])[-1]
        started.append(iterate(table, start, fit.prior, max_iter=SHORT_ITERATIONS))
    started += from_clusters(table, fit.responsibilities.shape[1] + 1, seed)
    started.sort(key=lambda begun: -begun.bound)
    is_other = [i == 0 or abs(started[i - 1].bound - begun.bound) > 0.05 for i, begun in enumerate(started)]
    others = [begun for begun, other in zip(started, is_other, strict=True) if other][:N_STARTS]
    ended = [iterate(table, begun.responsibilities, begun.prior) for begun in others]
    return [Candidate(new, _level(table, fit, new, settings, seed)) for new in ended]


# ---- whether to accept it ----------------------------------------------------------------------------------------


def _level(table: Table, old: Fit, new: Fit, settings: Initialisation, seed: int) -> int:
    """The level of limits that the last class of `new` meets: 3 strict, 2 those of the settings, 1 lenient, 0 none."""
    p, valley = settings.new_class_p, NEW_CLASS_VALLEY
    levels = (Limits(0.0, 5 * p, min(1.5 * valley, 1.0)), Limits(3.0, p, valley), Limits(10.0, p / 10, valley / 2))
    gain, lenient = new.bound - old.bound, levels[0]
    if gain > levels[-1].gain:  # clear from the rows: then a dozen labels need not be significant
        levels = (lenient, levels[1]._replace(p=lenient.p), levels[-1])
    if gain <= lenient.gain:
        return 0
    n_new = _n_new(table, new)
    deepest = _valley(table, new) if n_new > 1 else 0.0
    if deepest > lenient.valley or (n_new > 1 and not _is_division(table, old, new, settings, seed)):
        return 0
    worst = float(missing_labels(table, new, settings, seed).p_value.max()) if table.n_known else 0.0
    return sum(gain > limits.gain and worst < limits.p and deepest <= limits.valley for limits in levels)


def missing_labels(table: Table, fit: Fit, settings: Initialisation, seed: int) -> Evidence:
    """For each new class, the labels expected if it were of known classes, and those it holds.

    It holds the labelled rows that belong to it when judged without their own label. Expected are the label frequencies
    of the classes that it resembles, each shrunk towards that of all classes.
    """
    n_known = table.n_known
    held = _membership_without_own_label(table, fit, settings, seed)[1][:, n_known:].sum(axis=0)
    joint = log_joint(table, statistics(table, fit.responsibilities), fit.prior)
    resembled = fit.responsibilities[:, n_known:].T @ posterior(joint[:, :n_known])
    labelled, unlabelled = label_counts(table, fit.responsibilities)
    rows = labelled + unlabelled + resembled
    common = labelled.sum() / rows.sum(axis=1, keepdims=True)
    frequencies = (labelled + LABEL_FREQUENCY_PRIOR) / (rows + LABEL_FREQUENCY_PRIOR / common)
    size = resembled.sum(axis=1)
    frequency = (resembled * frequencies).sum(axis=1) / np.maximum(size, 1e-9)
    return Evidence(size, (size + held) * frequency, held)


def _membership_without_own_label(
    table: Table, fit: Fit, settings: Initialisation, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The labelled rows, and P(y | x) of each, by fold: after a few iterations without the labels of the fold."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(table.labels != UNLABELLED))
    rows = rows[np.argsort(table.labels[rows], kind="stable")]
    found = np.zeros((len(rows), fit.responsibilities.shape[1]))
    for fold in range(settings.n_folds):
        held_out = rows[fold :: settings.n_folds]
        labels = table.labels.copy()
        labels[held_out] = UNLABELLED
        without, of = table._replace(labels=labels), fit.responsibilities.copy()
        of[held_out] = 0
        for _ in range(4):
            of = e_step(without, of, statistics(without, of), fit.prior)
        joint = log_joint(without, statistics(without, of), fit.prior)
        found[fold :: settings.n_folds] = posterior(joint[held_out])
    return rows, found


def _valley(table: Table, fit: Fit) -> float:
    """The shallowest valley between the last class and another new one: 0 is deep, 1 is none.

    The lowest density between the means of two Gaussians relative to that at the lower mean, along the direction that
    separates the two best.
    """
    of = statistics(table, fit.responsibilities)
    covariance = covariances(of, fit.prior)
    last = len(of.counts) - 1
    return max(
        _valley_between(of.counts[[i, last]], of.means[[i, last]], covariance[[i, last]])
        for i in range(table.n_known, last)
    )


def _valley_between(counts: np.ndarray, means: np.ndarray, covariance: np.ndarray) -> float:
    pooled = np.tensordot(counts / counts.sum(), covariance, axes=1)
    direction = np.linalg.solve(pooled, means[1] - means[0])
    centres, stds = means @ direction, np.sqrt(np.einsum("i,kij,j->k", direction, covariance, direction)) + 1e-12
    between = np.linspace(centres[0], centres[1], 65)[:, None]
    density = (counts / stds * np.exp(-(((between - centres) / stds) ** 2) / 2)).sum(axis=1)
    return float(density.min() / min(density[0], density[-1]))


def _is_division(table: Table, old: Fit, new: Fit, settings: Initialisation, seed: int) -> bool:
    """Whether a second or later new class is large enough and gains more per row than a known class cut in two."""
    sizes = new.responsibilities.sum(axis=0)
    n_known = table.n_known
    usual = np.median(sizes[:n_known]) if n_known else sizes.mean()
    if sizes[n_known:].min() < settings.min_new_share * usual:
        return False
    parent = (new.responsibilities[:, -1] @ old.responsibilities).argmax()
    return new.bound - old.bound > _roughness(table, old, seed) * old.responsibilities[:, parent].sum()


def _roughness(table: Table, fit: Fit, seed: int) -> float:
    """Nats per row that the bound would rise if a known class were two, for the class with the largest rise."""
    gains_per_row = [0.0]
    for y in range(table.n_known):
        rows = np.flatnonzero(fit.responsibilities[:, y] > 0.5)
        alone = Table(table.Z[rows], table.spread, table.blur, np.full(len(rows), UNLABELLED), 0)
        whole = np.ones((len(rows), 1))
        of = statistics(alone, whole)
        gains = [0.0]
        for covariance in (covariances(of, fit.prior)[0], fit.prior.covariance):
            space = np.linalg.cholesky(np.linalg.inv(covariance))
            for half in parts(alone.Z @ space, np.arange(len(rows)), 2, seed)[:1]:
                split = np.eye(2)[np.isin(np.arange(len(rows)), half).astype(int)]
                for _ in range(15):
                    split = e_step(alone, split, statistics(alone, split), fit.prior)
                bound = evidence_bound(alone, split, statistics(alone, split), fit.prior)
                gains.append(bound - evidence_bound(alone, whole, of, fit.prior))
        gains_per_row.append(max(gains) / max(len(rows), 1))
    return max(gains_per_row)
