"""Whether labels are missing beyond chance from the rows that are called new."""

from typing import Literal, NamedTuple

import numpy as np

from newfound.config import Initialisation
from newfound.discovery import Discovery
from newfound.labels import UNLABELLED

Answer = Literal["yes", "perhaps", "none seen"]


class Verdict(NamedTuple):
    """The answer, and what it rests on."""

    answer: Answer
    p_value: float  # probability of so few labels among the rows called new, were they of known classes
    n_rows_new: int  # rows in new classes


def judge(found: Discovery, labels: np.ndarray, n_known: int, settings: Initialisation) -> Verdict:
    """From what was discovered to one of three answers.

    "yes" needs a new class and a p-value that chance hardly gives; either of them alone, or a p-value that is only
    small, is "perhaps".
    """
    p_value = missing_label_p_value(found, labels, n_known)
    n_rows_new = int((found.labels >= n_known).sum())
    if found.n_new and p_value < settings.audit_p_yes:
        return Verdict("yes", p_value, n_rows_new)
    is_perhaps = found.n_new > 0 or p_value < settings.audit_p_perhaps
    return Verdict("perhaps" if is_perhaps else "none seen", p_value, n_rows_new)


def missing_label_p_value(found: Discovery, labels: np.ndarray, n_known: int) -> float:
    """The probability of as few labels as there are among the rows with P(new) > ½, were they of known classes.

    Each of them would carry a label with the label frequency of its class. Labelled rows are judged out of fold: a
    row's own label does not keep it from being called new.
    """
    from scipy.stats import binom

    probabilities = known_class_probabilities(found, n_known)
    is_labelled, is_new = labels != UNLABELLED, found.p_new > 0.5
    if not is_new.any():
        return 1.0
    counts = np.bincount(labels[is_labelled], minlength=n_known)
    frequencies = counts / np.maximum(probabilities.sum(axis=0), np.maximum(counts, 1))
    likeness = probabilities[is_new].sum(axis=0) + 1e-9
    expected = float(likeness @ frequencies / likeness.sum())
    return float(binom.cdf((is_labelled & is_new).sum(), is_new.sum(), expected))


def known_class_probabilities(found: Discovery, n_known: int) -> np.ndarray:
    """P(y | x) of the known classes; with P(new) they sum to 1, whether or not a new class was found."""
    known = found.targets[:, :n_known].astype(float)
    shares = known / np.maximum(known.sum(axis=1, keepdims=True), 1e-12)
    return shares * (1 - found.p_new)[:, None]
