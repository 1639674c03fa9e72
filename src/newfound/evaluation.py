"""How well predictions agree with true classes. Every metric has its exact name, and none of them picks a model.

many-to-one accuracy (purity)
    Each predicted class stands for the true class most common in it (the paper's ACC). It can only grow with the number
    of predicted classes.
one-to-one accuracy (Hungarian)
    Each true class is given at most one predicted class, so that as many rows as possible agree; rows of predicted
    classes left over count as wrong. It is what the literature on category discovery reports.

Both are given for all rows and, *under the same mapping*, for the rows whose true class is known or new. What is
predicted may be the classes of a model or, in the paper's tables, its components.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from newfound._internal.words import count, if_few_labels
from newfound.labels import contingency, n_pairs


@dataclass(frozen=True)
class Accuracy:
    """Share of rows that agree: all of them, those of known and those of new classes (nan without any)."""

    all: float
    known: float
    new: float


class Certainty(NamedTuple):
    """The probabilities of a model for each row, for the metrics that need them."""

    probability: np.ndarray  # of the predicted class
    is_right: np.ndarray  # whether it has the name of the true class
    entropy: np.ndarray  # of q(y | x)
    is_known: np.ndarray  # whether the true class is known
    p_new: np.ndarray  # the probability of all new classes together


class Match(NamedTuple):
    """What a predicted class is in truth."""

    predicted: str
    true_class: str  # most common in it
    n_rows: int  # that are of it
    n_all: int  # rows predicted so

    def __str__(self) -> str:
        return f"{self.predicted} is {self.true_class}: {self.n_rows:,} of {count(self.n_all, 'row')}"


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A comparison of true classes with predicted ones."""

    classes: np.ndarray  # the true classes, sorted
    predicted: np.ndarray  # the predicted classes, also those without a row
    counts: np.ndarray  # (classes, predicted): the rows of each pair
    is_known: np.ndarray  # one flag for each true class
    certainty: Certainty | None = None

    @property
    def majority(self) -> np.ndarray:
        """For each predicted class, the position of the true class most common in it; −1 for an empty one."""
        return many_to_one(self.counts)

    @property
    def matches(self) -> list[Match]:
        """The true class most common in each predicted class that has rows."""
        sizes, majority = self.counts.sum(axis=0), self.majority
        return [
            Match(
                str(self.predicted[k]), str(self.classes[majority[k]]), int(self.counts[majority[k], k]), int(sizes[k])
            )
            for k in np.flatnonzero(sizes)
        ]

    @property
    def many_to_one(self) -> Accuracy:
        return _accuracy(self.counts, self.majority, self.is_known)

    @property
    def one_to_one(self) -> Accuracy:
        return _accuracy(self.counts, one_to_one(self.counts), self.is_known)

    @property
    def metrics(self) -> dict[str, float]:
        """Every metric that can be computed, by its exact name."""
        return {
            name: m.compute(self) for name, m in METRICS.items() if self.certainty is not None or not m.of_certainty
        }

    @property
    def n_labels(self) -> dict[str, int]:
        """The number of true labels behind a metric, by the kind of rows; "both" is the rarer kind."""
        known, new = int(self.counts[self.is_known].sum()), int(self.counts[~self.is_known].sum())
        return {"all": known + new, "known": known, "new": new, "both": min(known, new)}

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Every metric for people: its exact name, and its value, with a note if it is from few labels."""
        n_labels = self.n_labels
        return [(name, METRICS[name].show(value, n_labels[METRICS[name].of])) for name, value in self.metrics.items()]


def evaluate(
    y_true: Any, y_pred: Any, known: Collection[Any], predicted: Sequence[Any] | np.ndarray | None = None
) -> Evaluation:
    """Compare each row's true class with its predicted one.

    Parameters
    ----------
    y_true, y_pred : arrays
        A class for each row. Names need not agree: new classes have names of their own.
    known : collection
        The true classes with labels in training.
    predicted : sequence or None
        All classes that could have been predicted, so that those without a row are seen to be empty. None for those in
        `y_pred`.

    Examples
    --------
    >>> evaluate(["cat", "dog", "emu"], ["cat", "dog", "new-1"], known=["cat", "dog"]).one_to_one
    Accuracy(all=1.0, known=1.0, new=1.0)
    """
    classes, rows = np.unique(np.asarray(y_true), return_inverse=True)
    found, columns = np.unique(np.asarray(y_pred), return_inverse=True)
    if predicted is not None:
        position = {name: i for i, name in enumerate(np.asarray(predicted).tolist())}
        columns = np.array([position[name] for name in found.tolist()], dtype=int)[columns]
        found = np.asarray(predicted)
    counts = contingency(rows, columns, (len(classes), len(found)))
    return Evaluation(classes, found, counts, np.isin(classes, np.asarray(list(known))))


def many_to_one(counts: np.ndarray) -> np.ndarray:
    """For each predicted class, the true class most common in it; −1 for an empty one."""
    return np.where(counts.sum(axis=0) > 0, counts.argmax(axis=0), -1)


def one_to_one(counts: np.ndarray) -> np.ndarray:
    """For each predicted class, its true class in the best one-to-one assignment; −1 for none."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(counts, maximize=True)
    assigned = np.full(counts.shape[1], -1)
    assigned[columns] = rows
    return assigned


def _agreeing(counts: np.ndarray, class_of: np.ndarray) -> np.ndarray:
    """The rows of each true class that lie in a predicted class standing for it."""
    return np.where(class_of[None] == np.arange(len(counts))[:, None], counts, 0).sum(axis=1)


def _accuracy(counts: np.ndarray, class_of: np.ndarray, is_known: np.ndarray) -> Accuracy:
    agreeing, totals = _agreeing(counts, class_of), counts.sum(axis=1)

    def share(chosen: np.ndarray) -> float:
        return float(agreeing[chosen].sum() / totals[chosen].sum()) if totals[chosen].sum() else float("nan")

    return Accuracy(all=share(np.ones_like(is_known)), known=share(is_known), new=share(~is_known))


def macro_accuracy(counts: np.ndarray, class_of: np.ndarray, chosen: np.ndarray | None = None) -> float:
    """The mean over (chosen) classes of each one's own accuracy: a rare class counts as much as a common one."""
    of_class = _agreeing(counts, class_of) / counts.sum(axis=1)
    of_class = of_class if chosen is None else of_class[chosen]
    return float(np.mean(of_class)) if len(of_class) else float("nan")


def normalised_mutual_information(counts: np.ndarray) -> float:
    """I(true; predicted) / ½ [H(true) + H(predicted)]; 1 where both are constant."""
    joint = counts / counts.sum()
    entropies = _entropy(joint.sum(axis=1)) + _entropy(joint.sum(axis=0))
    return 1.0 if entropies == 0 else float(2 * (entropies - _entropy(joint.ravel())) / entropies)


def _entropy(p: np.ndarray) -> float:
    from scipy.special import entr

    return float(entr(p).sum())


def adjusted_rand_index(counts: np.ndarray) -> float:
    """The share of pairs of rows that both treat alike, corrected for chance."""

    def pairs(n: np.ndarray) -> float:
        return float(n_pairs(n.astype(float)).sum())

    together, by_true, by_predicted = pairs(counts), pairs(counts.sum(axis=1)), pairs(counts.sum(axis=0))
    expected = by_true * by_predicted / max(pairs(counts.sum(keepdims=True)), 1.0)
    most = (by_true + by_predicted) / 2
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
    """Σ over bins of the share of rows × |accuracy − mean probability| (no dependency of ours computes it)."""
    mean, accuracy, n_rows = reliability(probability, is_right, n_bins)
    return float((n_rows * np.abs(accuracy - mean)).sum() / max(n_rows.sum(), 1))


def posterior_entropy(probabilities: np.ndarray) -> np.ndarray:
    """H(q(y | x)) of each row, in nats."""
    from scipy.special import entr

    return entr(probabilities).sum(axis=-1)


# ---- the registry: one line a metric, with its exact name and how it is printed ------------------------------------


class Metric(NamedTuple):
    """A number that an evaluation gives."""

    compute: Callable[[Evaluation], float]
    format: str
    of: str = "all"  # the kind of rows: a key of `Evaluation.n_labels`
    of_certainty: bool = False  # needs `Certainty`

    def show(self, value: float, n_labels: int) -> str:
        """As a person reads it, from how many labels it comes if they are few."""
        return "–" if value != value else format(value, self.format) + if_few_labels(n_labels)


def _calibration(e: Evaluation) -> float:
    assert e.certainty is not None
    known = e.certainty.is_known
    if not known.any():
        return float("nan")
    return expected_calibration_error(e.certainty.probability[known], e.certainty.is_right[known])


def _mean_entropy(e: Evaluation, *, known: bool) -> float:
    assert e.certainty is not None
    entropy = e.certainty.entropy[e.certainty.is_known == known]
    return float(entropy.mean()) if len(entropy) else float("nan")


def _auroc_of_p_new(e: Evaluation) -> float:
    """How often a row of a new class has a higher P(new) than one of a known class; nan without both kinds."""
    from sklearn.metrics import roc_auc_score

    assert e.certainty is not None
    is_new = ~e.certainty.is_known
    return float(roc_auc_score(is_new, e.certainty.p_new)) if 0 < is_new.sum() < len(is_new) else float("nan")


METRICS: dict[str, Metric] = {
    "many-to-one accuracy (purity), all": Metric(lambda e: e.many_to_one.all, ".1%"),
    "many-to-one accuracy (purity), known": Metric(lambda e: e.many_to_one.known, ".1%", "known"),
    "many-to-one accuracy (purity), new": Metric(lambda e: e.many_to_one.new, ".1%", "new"),
    "one-to-one accuracy (Hungarian), all": Metric(lambda e: e.one_to_one.all, ".1%"),
    "one-to-one accuracy (Hungarian), known": Metric(lambda e: e.one_to_one.known, ".1%", "known"),
    "one-to-one accuracy (Hungarian), new": Metric(lambda e: e.one_to_one.new, ".1%", "new"),
    "many-to-one accuracy, mean over classes": Metric(lambda e: macro_accuracy(e.counts, e.majority), ".1%"),
    "many-to-one accuracy, mean over known classes": Metric(
        lambda e: macro_accuracy(e.counts, e.majority, e.is_known), ".1%", "known"
    ),
    "many-to-one accuracy, mean over new classes": Metric(
        lambda e: macro_accuracy(e.counts, e.majority, ~e.is_known), ".1%", "new"
    ),
    "one-to-one accuracy, mean over classes": Metric(lambda e: macro_accuracy(e.counts, one_to_one(e.counts)), ".1%"),
    "one-to-one accuracy, mean over known classes": Metric(
        lambda e: macro_accuracy(e.counts, one_to_one(e.counts), e.is_known), ".1%", "known"
    ),
    "one-to-one accuracy, mean over new classes": Metric(
        lambda e: macro_accuracy(e.counts, one_to_one(e.counts), ~e.is_known), ".1%", "new"
    ),
    "normalised mutual information": Metric(lambda e: normalised_mutual_information(e.counts), ".3f"),
    "adjusted Rand index": Metric(lambda e: adjusted_rand_index(e.counts), ".3f"),
    "non-empty predicted classes": Metric(lambda e: float((e.counts.sum(axis=0) > 0).sum()), ".0f"),
    "AUROC of P(new)": Metric(_auroc_of_p_new, ".3f", "both", of_certainty=True),
    "expected calibration error, known classes": Metric(_calibration, ".3f", "known", of_certainty=True),
    "mean entropy of q(y|x), known classes": Metric(
        lambda e: _mean_entropy(e, known=True), ".3f", "known", of_certainty=True
    ),
    "mean entropy of q(y|x), new classes": Metric(
        lambda e: _mean_entropy(e, known=False), ".3f", "new", of_certainty=True
    ),
}
