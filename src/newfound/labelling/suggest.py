"""Which rows to label next: those whose labels would help most, spread so that no two give the same information.

A label corrects the rows similar to it (`given.corrected`, a Gaussian process). A row helps if many rows similar to it
are in doubt and no label is near. Rows are chosen one after the other: each time the one whose label would leave the
least variance over all rows, weighted by their doubt (expected integrated variance, Cohn 1996). New classes without a
name come first, each with its most typical row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from newfound.classes import Classes

NEIGHBOUR = 10  # the length scale is the median distance to this neighbour,
N_SAMPLED = 500  # over so many rows
NOISE = 0.1  # variance of a label, relative to that of the process
N_LENGTHS = 1.0  # length scale of a correction in latent space, in distances to a neighbour
MIN_DOUBT = 0.3  # of any row: even a row with a sure class may be wrong
MAX_ROWS = 2_000  # rows that are compared, a sample of all
MAX_EACH = 500  # suggestions from one sample
MAX_LABELS = 2_000  # labelled rows that are used, a sample of all
CLEAR_MARGIN = 0.9  # a larger margin over the other classes is not reported as doubt
PROTOTYPES_SHARE = 0.25  # of the suggestions, at most


class Likeness(NamedTuple):
    """The kernel k(a, b) = exp(−½ |a − b|²), with rows in units of the length scale."""

    places: np.ndarray  # (rows, dimensions)

    @classmethod
    def of(cls, places: np.ndarray, n_lengths: float, seed: int = 0) -> "Likeness":
        """With a length scale of `n_lengths` times the distance to a neighbour."""
        return cls((places / (n_lengths * neighbour_distance(places, seed))).astype(np.float32))

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(rows a, rows b), by row numbers."""
        from scipy.spatial.distance import cdist

        return np.exp(-0.5 * cdist(self.places[a], self.places[b], "sqeuclidean"))

    def among(self, rows: np.ndarray) -> np.ndarray:
        """Between labelled rows, with the variance of their labels."""
        return self.between(rows, rows) + NOISE * np.eye(len(rows))


def joined(*features: np.ndarray) -> np.ndarray:
    """Several sets of features as one, centred and of the same mean square length."""
    centred = [of - of.mean(axis=0) for of in features]
    lengths = [float(np.sqrt(np.mean(np.sum(np.square(of), axis=1)))) for of in centred]
    return np.hstack([of / max(length, 1e-12) for of, length in zip(centred, lengths, strict=True)])


def neighbour_distance(places: np.ndarray, seed: int = 0) -> float:
    """The median distance of a row to its 10th neighbour; 1 if all rows are equal."""
    from scipy.spatial.distance import cdist

    some = np.random.default_rng(seed).permutation(len(places))[:N_SAMPLED]
    distances, k = cdist(places[some], places), min(NEIGHBOUR, len(places) - 1)
    nearest = np.partition(distances, k, axis=1)[:, k]
    return float(np.median(nearest)) or float(distances.mean()) or 1.0


class Suggestion(NamedTuple):
    """A row to label, and its present answer."""

    row: int
    class_name: object  # as in `classes_`
    probability: float  # of that class
    reason: str


@dataclass(frozen=True, eq=False)
class Suggestions:
    """Rows to label, the most helpful first."""

    rows: np.ndarray  # their numbers
    class_names: np.ndarray  # the present class of each
    probabilities: np.ndarray  # of that class
    reasons: tuple[str, ...]  # "known or new? login or new-2"; "between new-1 and new-2"; "typical of new-3"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Suggestion]:
        columns = (self.rows.tolist(), self.class_names.tolist(), self.probabilities.tolist(), self.reasons)
        return (Suggestion(*fields) for fields in zip(*columns, strict=True))


class Doubt(NamedTuple):
    """The two most probable classes of each row, and how far apart they are."""

    position: np.ndarray  # of its class
    other: np.ndarray  # position of the most probable other class; −1 if there is none
    probability: np.ndarray  # of its class
    margin: np.ndarray  # by how much its class is more probable than the other

    @property
    def weight(self) -> np.ndarray:
        return np.clip(1 - self.margin, 0, 1) + MIN_DOUBT


def suggest_rows(
    classes: Classes, of_components: np.ndarray, latent: np.ndarray, n: int, is_open: np.ndarray, seed: int = 0
) -> Suggestions:
    """At most n of the open rows, from the probabilities of components and the latent positions of all rows.

    There are fewer if fewer are open or if rows are equal: of equal rows only one is suggested.
    """
    doubt = doubts(classes, of_components)
    standardised = (latent - latent.mean(axis=0)) / np.maximum(latent.std(axis=0), 1e-12)
    rows = np.flatnonzero(is_open)
    if len(rows):
        rows = rows[np.sort(np.unique(standardised[rows], axis=0, return_index=True)[1])]  # the first of equal ones
    typical = _prototypes(classes, doubt, standardised, rows)[: int(PROTOTYPES_SHARE * n)]
    rest, settled = np.setdiff1d(rows, typical), np.append(np.flatnonzero(~is_open), typical)
    others = _spread(standardised, doubt.weight, rest, n - len(typical), settled, seed)
    chosen = np.concatenate([typical, others])
    names = classes.names[doubt.position]
    reasons = [f"typical of {names[row]}, which has no name yet" for row in typical]
    reasons += [_reason(classes, doubt, row) for row in others]
    return Suggestions(chosen, names[chosen], doubt.probability[chosen], tuple(reasons))


def doubts(classes: Classes, of_components: np.ndarray) -> Doubt:
    """For each row its class and the most probable other one."""
    answer = classes.answer(of_components)
    others = classes.probabilities(of_components).astype(float)
    others[np.arange(len(others)), answer.position] = -1.0
    other = others.argmax(axis=1) if len(classes) > 1 else np.full(len(others), -1)
    margin = answer.probability - np.maximum(others.max(axis=1), 0)
    return Doubt(answer.position, other, answer.probability, margin)


def _prototypes(classes: Classes, doubt: Doubt, latent: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """For each new class without a name the row nearest to its centre; the largest class first."""
    unnamed = np.flatnonzero(classes.is_new & ~classes.is_named)
    members = [rows[doubt.position[rows] == position] for position in unnamed]
    members = sorted((of for of in members if len(of)), key=len, reverse=True)
    nearest = [np.square(latent[of] - latent[of].mean(axis=0)).sum(axis=1).argmin() for of in members]
    return np.array([of[i] for of, i in zip(members, nearest, strict=True)], dtype=int)


def _spread(
    latent: np.ndarray, weight: np.ndarray, rows: np.ndarray, n: int, settled: np.ndarray, seed: int
) -> np.ndarray:
    """n of the rows that are in doubt and far from settled rows, the most helpful first."""
    rng, likeness = np.random.default_rng(seed), Likeness.of(latent, N_LENGTHS, seed)
    rows, settled = rng.permutation(rows), rng.permutation(settled)[:MAX_LABELS]  # of equal ones, not always the first
    if len(rows) <= n:
        return rows[np.argsort(-weight[rows], kind="stable")]
    n_parts = max(1, -(-n // MAX_EACH))
    parts = zip(np.array_split(rows, n_parts), np.array_split(np.arange(n), n_parts), strict=True)
    return np.concatenate([_most_helpful(likeness, weight, of[:MAX_ROWS], len(k), settled) for of, k in parts])


def _most_helpful(likeness: Likeness, weight: np.ndarray, rows: np.ndarray, n: int, settled: np.ndarray) -> np.ndarray:
    """Greedily: a label of row j lowers the variance of all rows together by |cov_j|² / (var_j + σ²)."""
    covariance = likeness.between(rows, rows)
    if len(settled):
        known = likeness.between(settled, rows)
        covariance -= known.T @ np.linalg.solve(likeness.among(settled), known)
    covariance *= np.sqrt(weight[rows, None] * weight[rows])
    chosen: list[int] = []
    for _ in range(n):
        gain = np.square(covariance).sum(axis=0) / (covariance.diagonal() + NOISE)
        gain[chosen] = -1.0
        best = int(gain.argmax())
        chosen.append(best)
        column = covariance[:, best].copy()
        covariance -= np.outer(column, column / (column[best] + NOISE))
    return rows[chosen]


def _reason(classes: Classes, doubt: Doubt, row: int) -> str:
    """Why a label of this row would help."""
    own, other = int(doubt.position[row]), int(doubt.other[row])
    if other < 0 or doubt.margin[row] >= CLEAR_MARGIN:
        return f"one of many alike, probably {classes.names[own]}"
    if classes.is_new[own] != classes.is_new[other]:
        return f"known or new? {classes.names[own]} or {classes.names[other]}"
    return f"between {classes.names[own]} and {classes.names[other]}"
