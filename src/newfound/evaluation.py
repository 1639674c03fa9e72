"""How well components agree with true classes. Every number has its exact name, and none of them picks a model.

many-to-one accuracy
    Each component stands for the true class most common in it (the paper's ACC, also called purity). It can only grow
    with the number of components.
one-to-one accuracy
    Each class is given at most one component, so that as many rows as possible agree (the Hungarian method); rows of
    components left over count as wrong. It is what the literature on category discovery reports.

Both are given for all rows and, *under the same mapping*, for the rows whose true class is known or new.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Accuracy:
    """Share of rows that agree: all of them, those of known and those of new classes (nan where there are none)."""

    all: float
    known: float
    new: float


@dataclass(frozen=True)
class Evaluation:
    """A comparison of true classes with the components a model put the rows in."""

    classes: np.ndarray  # the true classes, sorted
    counts: np.ndarray  # (true classes, components): the rows of each pair
    many_to_one: Accuracy
    one_to_one: Accuracy
    many_to_one_class: np.ndarray  # for each component, the position in `classes` it stands for; −1 where it is empty

    @property
    def metrics(self) -> dict[str, float]:
        """Every metric by its exact name."""
        accuracies = {
            f"{name} accuracy, {group}": getattr(accuracy, group)
            for name, accuracy in (("many-to-one", self.many_to_one), ("one-to-one", self.one_to_one))
            for group in ("all", "known", "new")
        }
        return accuracies | {
            "many-to-one accuracy, mean over classes": macro_accuracy(self.counts, self.many_to_one_class),
            "one-to-one accuracy, mean over classes": macro_accuracy(self.counts, one_to_one(self.counts)),
            "normalised mutual information": normalised_mutual_information(self.counts),
            "adjusted Rand index": adjusted_rand_index(self.counts),
            "components in use": float((self.counts.sum(axis=0) > 0).sum()),
        }


def evaluate(truth: np.ndarray, component: np.ndarray, n_components: int, known: np.ndarray) -> Evaluation:
    """Compare each row's true class with its component; `known` are the classes of which labels were seen."""
    classes, positions = np.unique(truth, return_inverse=True)
    counts = np.zeros((len(classes), n_components), dtype=int)
    np.add.at(counts, (positions, component), 1)
    return evaluate_counts(classes, counts, np.isin(classes, known))


def evaluate_counts(classes: np.ndarray, counts: np.ndarray, is_known: np.ndarray) -> Evaluation:
    """The same from the number of rows in each pair of class and component."""
    many, one = many_to_one(counts), one_to_one(counts)
    return Evaluation(classes, counts, _accuracy(counts, many, is_known), _accuracy(counts, one, is_known), many)


def many_to_one(counts: np.ndarray) -> np.ndarray:
    """For each component, the class most common in it; −1 where it is empty."""
    return np.where(counts.sum(axis=0) > 0, counts.argmax(axis=0), -1)


def one_to_one(counts: np.ndarray) -> np.ndarray:
    """For each component, its class in the best one-to-one assignment; −1 where it has none."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(counts, maximize=True)
    assigned = np.full(counts.shape[1], -1)
    assigned[columns] = rows
    return assigned


def _accuracy(counts: np.ndarray, class_of: np.ndarray, is_known: np.ndarray) -> Accuracy:
    agree = np.where(class_of[None] == np.arange(len(counts))[:, None], counts, 0).sum(axis=1)
    totals = counts.sum(axis=1)

    def share(chosen: np.ndarray) -> float:
        return float(agree[chosen].sum() / totals[chosen].sum()) if totals[chosen].sum() else float("nan")

    return Accuracy(all=share(np.ones_like(is_known)), known=share(is_known), new=share(~is_known))


def macro_accuracy(counts: np.ndarray, class_of: np.ndarray) -> float:
    """The mean over classes of each class's own accuracy: a rare class counts as much as a common one."""
    agree = np.where(class_of[None] == np.arange(len(counts))[:, None], counts, 0).sum(axis=1)
    return float(np.mean(agree / counts.sum(axis=1)))


def normalised_mutual_information(counts: np.ndarray) -> float:
    """I(class; component) / ½ [H(class) + H(component)]; 1 where both are constant."""
    joint = counts / counts.sum()
    entropies = _entropy(joint.sum(axis=1)) + _entropy(joint.sum(axis=0))
    return 1.0 if entropies == 0 else float(2 * (entropies - _entropy(joint.ravel())) / entropies)


def _entropy(p: np.ndarray) -> float:
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


def adjusted_rand_index(counts: np.ndarray) -> float:
    """The share of pairs of rows that class and component treat alike, corrected for chance."""

    def pairs(n: np.ndarray) -> float:
        n = n.astype(float)
        return float((n * (n - 1) / 2).sum())

    together, by_class, by_component = pairs(counts), pairs(counts.sum(axis=1)), pairs(counts.sum(axis=0))
    expected = by_class * by_component / max(pairs(counts.sum(keepdims=True)), 1.0)
    most = (by_class + by_component) / 2
    return 1.0 if most == expected else (together - expected) / (most - expected)


def reliability(probability: np.ndarray, is_right: np.ndarray, n_bins: int = 10) -> tuple[np.ndarray, ...]:
    """Mean probability, accuracy and number of rows of each bin of probability that holds any."""
    bins = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    n_rows = np.bincount(bins, minlength=n_bins)
    used = n_rows > 0
    mean = np.bincount(bins, probability, n_bins)[used] / n_rows[used]
    accuracy = np.bincount(bins, is_right.astype(float), n_bins)[used] / n_rows[used]
    return mean, accuracy, n_rows[used]


def expected_calibration_error(probability: np.ndarray, is_right: np.ndarray, n_bins: int = 10) -> float:
    """Σ over bins of the share of rows × |accuracy − mean probability|."""
    mean, accuracy, n_rows = reliability(probability, is_right, n_bins)
    return float((n_rows * np.abs(accuracy - mean)).sum() / max(n_rows.sum(), 1))


def posterior_entropy(probabilities: np.ndarray) -> np.ndarray:
    """H(q(y | x)) of each row, in nats."""
    return -(probabilities * np.log(np.clip(probabilities, 1e-30, None))).sum(axis=-1)
