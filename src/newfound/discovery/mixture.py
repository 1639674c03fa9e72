"""The number of new classes of a small table, and its rows' classes, by an exact mixture of Gaussians.

New classes are added one at a time, each begun at several places. One is believed in if

- it raises the bound on the evidence (`gaussians.py`);
- labels are missing from it beyond chance: of the labelled rows, asked without their labels, too few belong to it;
- between it and any other new class there is a valley, both are of a fair size, and it is more of a division than the
  division of any known class in two would be. No class is quite Gaussian, and several Gaussians always fit better.

Stricter and more lenient forms of the same tests give the range of the number.
"""

from typing import NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery.gaussians import (
    Fit,
    Table,
    covariances,
    e_step,
    evidence_bound,
    iterate,
    label_counts,
    labelled_only,
    log_joint,
    make_table,
    posterior,
    statistics,
)
from newfound.discovery.mixture_starts import SHORT, afresh, best_known, parts, places
from newfound.discovery.new_groups import Evidence
from newfound.labels import UNLABELLED

MAX_NEW = 20
N_STARTS = 3  # fits that are iterated to the end, of all that were begun


class MixtureFit(NamedTuple):
    """What was found."""

    n_new: int
    n_new_range: tuple[int, int]
    probabilities: np.ndarray  # (rows, known classes + new ones); given, for a row without a label, that it has none
    roughness: float  # nats a row that the least Gaussian known class would gain if it were two Gaussians; 0 for none
    p_new: np.ndarray  # of every row, out of fold where it has a label
    evidence: Evidence | None  # of each new class; None without labels


class Demands(NamedTuple):
    """What a new class must meet."""

    gain: float  # nats of evidence
    p: float  # of so few labels, were it known
    valley: float  # the density between two new classes, over that at the lower of their means


class Candidate(NamedTuple):
    """A fit with one more new class, and the most demanding of the levels it meets (0 for none)."""

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
    """From scaled columns and codes of labels (UNLABELLED where there is none) to classes of all rows.

    n_new = None finds the number; a number is obeyed, and then the range is that number.
    """
    of_number, of_rows = (
        make_table(points, np.asarray(labels), n_known, settings.mixture_rows_per_column, blur)
        for blur in (1 / 4, 1 / 12)
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
    """What is found by strict demands, by those of the settings, and by lenient ones."""
    fit = best_known(table, seed)
    candidates = _candidates(table, fit, settings, seed)
    found = []
    for level in (3, 2, 1):  # each goes on where the one before ended
        while _n_new(table, fit) < MAX_NEW and any(c.level >= level for c in candidates):
            fit = _best([c for c in candidates if c.level >= level])
            candidates = _candidates(table, fit, settings, seed)
        found.append(fit)
    return found


def _sharpened(table: Table, responsibilities: np.ndarray) -> np.ndarray:
    """Once the number is settled, categories may count in full; a class that would lose all its rows keeps them.

    While it is not, they are blurred more: a category is a group with a gap around it, but seldom a class.
    """
    prior = labelled_only(table)[1]
    ended = iterate(table, responsibilities, prior).responsibilities
    is_lost = (ended.sum(axis=0) < 0.5) & (responsibilities.sum(axis=0) >= 0.5)
    return responsibilities if is_lost.any() else ended


def prefers_mixture(shape: tuple[int, ...], settings: Initialisation, fit: MixtureFit | None = None) -> bool:
    """Whether the mixture should answer, rather than the graph.

    It should for few rows, if they are at least as many as the free entries of a covariance matrix, and, once it is
    fitted, if the known classes look like Gaussians. Hiding a known class does not tell the two apart on tables this
    small: both find it again.
    """
    n_rows, n_columns = shape
    is_small = n_columns * (n_columns + 1) / 2 <= n_rows <= settings.mixture_max_rows
    return is_small and (fit is None or fit.roughness <= settings.mixture_max_roughness)


def _of_number(table: Table, n_new: int, settings: Initialisation, seed: int) -> Fit:
    """As many new classes as are asked for, if need be empty ones."""
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
    for rows in places(table, fit, seed):
        start = np.hstack([fit.responsibilities, np.zeros((len(table.labels), 1))])
        start[rows] = np.eye(start.shape[1])[-1]
        started.append(iterate(table, start, fit.prior, max_iter=SHORT))
    started += afresh(table, fit.responsibilities.shape[1] + 1, seed)
    started.sort(key=lambda begun: -begun.bound)
    is_other = [i == 0 or abs(started[i - 1].bound - begun.bound) > 0.05 for i, begun in enumerate(started)]
    others = [begun for begun, other in zip(started, is_other, strict=True) if other][:N_STARTS]
    ended = [iterate(table, begun.responsibilities, begun.prior) for begun in others]
    return [Candidate(new, _level(table, fit, new, settings, seed)) for new in ended]


# ---- whether to believe in it ----------------------------------------------------------------------------------------


def _level(table: Table, old: Fit, new: Fit, settings: Initialisation, seed: int) -> int:
    """3 where the last class of `new` meets demands stricter than the settings', 2 where theirs, 1 lenient, 0 none."""
    p, valley = settings.new_class_p, settings.new_class_valley
    levels = (Demands(0.0, 5 * p, min(1.5 * valley, 1.0)), Demands(3.0, p, valley), Demands(10.0, p / 10, valley / 2))
    gain, lenient = new.bound - old.bound, levels[0]
    if gain > levels[-1].gain:  # where rows speak so clearly, labels need not: a dozen of them hardly can
        levels = (lenient, levels[1]._replace(p=lenient.p), levels[-1])
    if gain <= lenient.gain:
        return 0
    n_new = _n_new(table, new)
    deepest = _valley(table, new) if n_new > 1 else 0.0
    if deepest > lenient.valley or (n_new > 1 and not _is_division(table, old, new, settings, seed)):
        return 0
    worst = float(missing_labels(table, new, settings, seed).p_value.max()) if table.n_known else 0.0
    return sum(gain > demand.gain and worst < demand.p and deepest <= demand.valley for demand in levels)


def missing_labels(table: Table, fit: Fit, settings: Initialisation, seed: int) -> Evidence:
    """For each new class, the labels it would hold if it were of known classes, and those it holds.

    What labels it holds is asked of the labelled rows, each without its own label. It should hold them as often as the
    classes it resembles, were its rows theirs; the frequency of one class leans on that of all.
    """
    n_known = table.n_known
    held = _membership_without_own_label(table, fit, settings, seed)[1][:, n_known:].sum(axis=0)
    joint = log_joint(table, statistics(table, fit.responsibilities), fit.prior)
    resembled = fit.responsibilities[:, n_known:].T @ posterior(joint[:, :n_known])
    labelled, unlabelled = label_counts(table, fit.responsibilities)
    rows = labelled + unlabelled + resembled
    common = labelled.sum() / rows.sum(axis=1, keepdims=True)
    frequencies = (labelled + settings.label_frequency_prior) / (rows + settings.label_frequency_prior / common)
    size = resembled.sum(axis=1)
    frequency = (resembled * frequencies).sum(axis=1) / np.maximum(size, 1e-9)
    return Evidence(size, (size + held) * frequency, held)


def _membership_without_own_label(
    table: Table, fit: Fit, settings: Initialisation, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The labelled rows, and P(y | x) of each, fold by fold, each fold after a few iterations without its labels."""
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

    Along the direction that parts two Gaussians best, the least density between their means over that at the lower one.
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
    """Whether a second or later new class is of a fair size, and gains more a row than a known class cut in two."""
    sizes = new.responsibilities.sum(axis=0)
    n_known = table.n_known
    usual = np.median(sizes[:n_known]) if n_known else sizes.mean()
    if sizes[n_known:].min() < settings.min_new_share * usual:
        return False
    parent = (new.responsibilities[:, -1] @ old.responsibilities).argmax()
    return new.bound - old.bound > _roughness(table, old, seed) * old.responsibilities[:, parent].sum()


def _roughness(table: Table, fit: Fit, seed: int) -> float:
    return max([0.0, *(_gain_of_division(table, fit, y, seed) for y in range(table.n_known))])


def _gain_of_division(table: Table, fit: Fit, y: int, seed: int) -> float:
    """How much the bound would rise, for each row of a class, if it were two."""
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
    return max(gains) / max(len(rows), 1)
