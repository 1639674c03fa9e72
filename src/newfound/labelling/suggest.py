"""What to label next: the rows that would tell most, spread so that no two of them tell the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from newfound.classes import Classes

# ---- How alike two rows are ----
# The kernel of a Gaussian process, by which a label says something about other rows, too.

NEIGHBOUR = 10  # the length scale is the distance to this neighbour, in the median of some rows,
N_SAMPLED = 500
NOISE = 0.1  # variance of what a label says, relative to that of what it may say


class Likeness(NamedTuple):
    """k(a, b) = exp(−½ |a − b|²), with the rows in units of the length scale."""

    places: np.ndarray  # (rows, dimensions)

    @classmethod
    def of(cls, places: np.ndarray, n_lengths: float, seed: int = 0) -> "Likeness":
        """With a length scale of so many times the distance to a neighbour."""
        return cls((places / (n_lengths * neighbour_distance(places, seed))).astype(np.float32))

    def between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(rows a, rows b), by the numbers of rows."""
        from scipy.spatial.distance import cdist

        return np.exp(-0.5 * cdist(self.places[a], self.places[b], "sqeuclidean"))

    def among(self, rows: np.ndarray) -> np.ndarray:
        """Between labelled rows, each of which may be wrong by itself."""
        return self.between(rows, rows) + NOISE * np.eye(len(rows))


def joined(*features: np.ndarray) -> np.ndarray:
    """Several sets of features as one, each given the same say."""
    return np.hstack([_of_unit_length(of) for of in features])


def _of_unit_length(rows: np.ndarray) -> np.ndarray:
    rows = rows - rows.mean(axis=0)
    return rows / max(float(np.sqrt(np.mean(np.sum(np.square(rows), axis=1)))), 1e-12)


def neighbour_distance(places: np.ndarray, seed: int = 0) -> float:
    """The distance of a row to its 10th neighbour: the median; 1 where all rows are alike."""
    from scipy.spatial.distance import cdist

    some = np.random.default_rng(seed).permutation(len(places))[:N_SAMPLED]
    distances = cdist(places[some], places)
    nearest = np.partition(distances, min(NEIGHBOUR, len(places) - 1), axis=1)[:, min(NEIGHBOUR, len(places) - 1)]
    return float(np.median(nearest)) or float(distances.mean()) or 1.0


# ---- What to label next: the rows that would tell most, spread so that no two of them tell the same ----
# A label corrects the rows that are like it (`correction`: a Gaussian process). So a row would tell much where many
# rows like it are in doubt and no label is near. One after the other, the row is taken whose label would leave the
# least variance over all rows, each weighed by its doubt (active learning by Cohn 1996: the expected variance,
# integrated). New classes that nobody has named come first, each with its most typical row.

LEAST_DOUBT = 0.3  # of any row: one that is surely of its class may still be wrong, if less often
N_LENGTHS = 1.0  # of the distance to a neighbour in latent space: the length scale of a correction there
MAX_ROWS = 2_000  # that are compared, a sample of all,
MAX_EACH = 500  # and suggestions that are made from one sample
MAX_LABELS = 2_000  # a sample of those there are
CLEAR = 0.9  # a row whose class is by so much more probable than any other is in no doubt worth a word
PROTOTYPES_SHARE = 0.25  # of the suggestions, at the most


class Suggestion(NamedTuple):
    """A row to label, and what is thought of it now."""

    row: int
    class_name: object  # as in `classes_`
    probability: float  # of that class
    reason: str


@dataclass(frozen=True, eq=False)
class Suggestions:
    """Rows to label, the one that would tell most first."""

    rows: np.ndarray  # their numbers
    class_names: np.ndarray  # what each would be now,
    probabilities: np.ndarray  # and how probably
    reasons: tuple[str, ...]  # "known or new? login or new-2"; "between new-1 and new-2"; "typical of new-3"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Suggestion]:
        columns = (self.rows.tolist(), self.class_names.tolist(), self.probabilities.tolist(), self.reasons)
        return (Suggestion(*fields) for fields in zip(*columns, strict=True))


class Doubt(NamedTuple):
    """Between which two classes each row is, and how much."""

    position: np.ndarray  # of its class,
    other: np.ndarray  # and of the most probable other one; −1 where there is none
    probability: np.ndarray  # of its class
    margin: np.ndarray  # by how much its class is more probable than the other

    @property
    def weight(self) -> np.ndarray:
        return np.clip(1 - self.margin, 0, 1) + LEAST_DOUBT


def suggest_rows(
    classes: Classes, of_components: np.ndarray, latent: np.ndarray, n: int, is_open: np.ndarray, seed: int = 0
) -> Suggestions:
    """At most n of the open rows, from the probabilities of components and the latent positions of all rows.

    There are fewer where fewer are open, or where rows are the same: of equal rows one is enough.
    """
    doubt = doubts(classes, of_components)
    standardised = (latent - latent.mean(axis=0)) / np.maximum(latent.std(axis=0), 1e-12)
    rows = _distinct(standardised, np.flatnonzero(is_open))
    typical = prototypes(classes, doubt, standardised, rows)[: int(PROTOTYPES_SHARE * n)]
    rest, settled = np.setdiff1d(rows, typical), np.append(np.flatnonzero(~is_open), typical)
    chosen = np.concatenate([typical, spread(standardised, doubt.weight, rest, n - len(typical), settled, seed)])
    reasons = [_typical(classes, doubt, row) for row in typical] + [
        reason(classes, doubt, row) for row in chosen[len(typical) :]
    ]
    names = classes.names[doubt.position[chosen]]
    return Suggestions(chosen, names, doubt.probability[chosen], tuple(reasons))


def doubts(classes: Classes, of_components: np.ndarray) -> Doubt:
    """Of each row: its class as it is answered, and the class that it would be otherwise."""
    answer = classes.answer(of_components)
    others = classes.probabilities(of_components).astype(float)
    others[np.arange(len(others)), answer.position] = -1.0
    other = others.argmax(axis=1) if len(classes) > 1 else np.full(len(others), -1)
    margin = answer.probability - np.maximum(others.max(axis=1), 0)
    return Doubt(answer.position, other, answer.probability, margin)


def prototypes(classes: Classes, doubt: Doubt, latent: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Of each new class that nobody named, the row nearest to its centre; the largest class first."""
    unnamed = np.flatnonzero(classes.is_new & ~classes.is_named)
    members = [rows[doubt.position[rows] == position] for position in unnamed]
    members = sorted((of for of in members if len(of)), key=len, reverse=True)
    return np.array([_nearest(latent, of, latent[of].mean(axis=0)) for of in members], dtype=int)


def spread(
    latent: np.ndarray, weight: np.ndarray, rows: np.ndarray, n: int, settled: np.ndarray, seed: int
) -> np.ndarray:
    """n of the rows, where doubt is and no settled row near, the one that would tell most first."""
    rng, likeness = np.random.default_rng(seed), Likeness.of(latent, N_LENGTHS, seed)
    rows, settled = rng.permutation(rows), rng.permutation(settled)[:MAX_LABELS]  # of equal ones, not always the first
    if len(rows) <= n:
        return rows[np.argsort(-weight[rows], kind="stable")]
    n_parts = max(1, -(-n // MAX_EACH))
    parts = zip(np.array_split(rows, n_parts), np.array_split(np.arange(n), n_parts), strict=True)
    return np.concatenate([_most_telling(likeness, weight, of[:MAX_ROWS], len(k), settled) for of, k in parts])


def _most_telling(likeness: Likeness, weight: np.ndarray, rows: np.ndarray, n: int, settled: np.ndarray) -> np.ndarray:
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


def _nearest(latent: np.ndarray, rows: np.ndarray, centre: np.ndarray) -> int:
    return int(rows[np.square(latent[rows] - centre).sum(axis=1).argmin()])


def _distinct(latent: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """One of each set of rows that are at the same place, the first."""
    if len(rows) == 0:
        return rows
    return rows[np.sort(np.unique(latent[rows], axis=0, return_index=True)[1])]


# ---- in plain words --------------------------------------------------------------------------------------------------


def reason(classes: Classes, doubt: Doubt, row: int) -> str:
    """Why a row would tell much."""
    own, other = int(doubt.position[row]), int(doubt.other[row])
    if other < 0 or doubt.margin[row] >= CLEAR:
        return f"one of many alike, probably {classes.names[own]}"
    pair = f"{classes.names[own]} or {classes.names[other]}"
    if classes.is_new[own] != classes.is_new[other]:
        return f"known or new? {pair}"
    return f"between {classes.names[own]} and {classes.names[other]}"


def _typical(classes: Classes, doubt: Doubt, row: int) -> str:
    return f"typical of {classes.names[doubt.position[row]]}, which has no name yet"
