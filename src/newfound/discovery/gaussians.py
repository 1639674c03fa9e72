"""A semi-supervised mixture of Gaussians, one for each class, with exact updates and a bound on its evidence.

    y ~ Categorical(π)    x | y ~ N(μ_y, Σ_y)    label | y ~ Bernoulli(c_y) for a known class, never for a new one

with conjugate priors π ~ Dirichlet(1), c_y ~ Beta(1, 1), Σ_y ~ InverseWishart(ν, ν Σ₀), μ_y ~ N(0, Σ_y / κ). Σ₀, what
the classes share, ν, how much of it, and κ are fitted too: ν → ∞ is one covariance for all classes, a small ν one for
each. A row without a label is thus evidence: a known class with label frequency c explains it 1 − c times as well.

The posterior is variational, q(y) q(π, c, μ, Σ): each iteration cannot lower the bound, and the bound, unlike a
likelihood, need not grow with the number of classes. It takes the place of BIC and is sharper where rows are few.
"""

from typing import NamedTuple

import numpy as np

from newfound.labels import UNLABELLED

PRECISIONS = (1.0, 0.3, 0.1, 0.03, 0.01)  # κ
STRENGTHS = (0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e5)  # ν, above the least that has a mean
MIN_BLUR = 1e-3  # of a column's variance
MAX_DIM = 50


class Table(NamedTuple):
    """Rows in decorrelated units of their own, what is uncertain about each of them, and the labels."""

    Z: np.ndarray  # (rows, d), zero mean
    spread: np.ndarray  # (d,): Z · spread are the principal components of the standardised columns
    blur: np.ndarray  # (d, d): the covariance of what rounding hides
    labels: np.ndarray  # codes, UNLABELLED where there is none
    n_known: int


class Prior(NamedTuple):
    """What all classes have in common. In a column of several ν or κ, each stands for a prior of its own."""

    nu: float | np.ndarray
    kappa: float | np.ndarray
    covariance: np.ndarray  # Σ₀


class Statistics(NamedTuple):
    """What the M step needs: the sums over rows, weighted by responsibilities."""

    counts: np.ndarray  # (classes,)
    means: np.ndarray  # (classes, d)
    scatter: np.ndarray  # (classes, d, d), around the means


class Fit(NamedTuple):
    """A state of the mixture; the first n_known columns of the responsibilities are those of the known classes."""

    responsibilities: np.ndarray  # (rows, classes)
    prior: Prior
    bound: float


def make_table(
    points: np.ndarray, labels: np.ndarray, n_known: int, rows_per_dim: int, binary_blur: float = 1 / 12
) -> Table:
    """Whiten; where columns are many for the rows, keep the leading principal components.

    A value is known to its column's step only (1 for counts, for 0 and 1): it is blurred by as much, a variance of 1/12
    of the step's square, or a category that no row of a class has would be infinite evidence. For columns of two values
    it is `binary_blur`.
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
    """log p(rows of each class), with μ and Σ integrated out, summed over classes; of each prior, if there are more."""
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
    """For each known class, its rows with a label and, expected, without."""
    is_labelled = table.labels != UNLABELLED
    labelled = np.bincount(table.labels[is_labelled], minlength=table.n_known)
    return labelled, responsibilities[~is_labelled, : table.n_known].sum(axis=0)


def _log_multigamma(a: np.ndarray, d: int) -> np.ndarray:
    from scipy.special import gammaln

    return gammaln(a[..., None] - np.arange(d) / 2).sum(axis=-1) + d * (d - 1) / 4 * np.log(np.pi)


# ---- the E step ------------------------------------------------------------------------------------------------------


def log_joint(table: Table, of: Statistics, prior: Prior) -> np.ndarray:
    """E[log π_y + log N(x | μ_y, Σ_y)] for each row and class, whatever its label."""
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
    """q(y) of each row: of rows without a label given that they have none; a label decides."""
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
    """Until the bound no longer grows by `tol` nats; the prior is fitted at every fifth iteration."""
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
    """Responsibilities of the labelled rows, none of the others, and a prior to begin with."""
    d = table.Z.shape[1]
    rows = np.flatnonzero(table.labels != UNLABELLED)
    start = np.zeros((len(table.labels), table.n_known))
    start[rows, table.labels[rows]] = 1
    return start, Prior(d + 12.0, 0.1, np.eye(d))


def known_only(table: Table) -> Fit:
    """The mixture without new classes, begun at the labelled rows; without labels, one class of all rows."""
    start, prior = labelled_only(table)
    if table.n_known == 0:
        return iterate(table, np.ones((len(table.labels), 1)), prior)
    return iterate(table, e_step(table, start, statistics(table, start), prior), prior)
