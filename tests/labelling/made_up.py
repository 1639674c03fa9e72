"""A fitted model of which nothing was trained: classes, rows and probabilities as a test wants them."""

import numpy as np

from newfound.classes import Classes
from newfound.fitted import Fitted
from newfound.labels import UNLABELLED, Labels


def made_up(component, known=("ape", "bee"), n_new=2, labels=None, probabilities=None):
    """Rows of these components, one component a class; `labels` are names, "" where there is none."""
    component = np.asarray(component)
    classes = Classes.one_component_each(np.array(known), n_new)
    if probabilities is None:
        probabilities = 0.9 * np.eye(classes.n_components)[component] + 0.1 / classes.n_components
    is_labelled = np.zeros(len(component), bool) if labels is None else np.asarray(labels) != ""
    unused = dict.fromkeys(
        ("regime", "preprocessing", "architecture", "restarts", "best_restart", "tree", "evidence", "temperature"), None
    )
    return Fitted(
        classes=classes,
        row_components=component,
        row_probabilities=probabilities,
        row_is_labelled=is_labelled,
        validation_indices=np.zeros(0, int),
        n_new_range=(n_new, n_new),
        n_held_out_labels=0,
        n_features=1,
        **unused,
    )


def names(n, **given):
    """Labels of n rows: a name, and the numbers of its rows."""
    codes = np.full(n, UNLABELLED)
    for code, rows in enumerate(given.values()):
        codes[list(rows)] = code
    return Labels(np.array(list(given)), codes)
