"""Samples of rows with columns, classes and positions in latent space, made by hand."""

import numpy as np

from newfound.classes import Classes
from newfound.explain.columns import RowSample
from newfound.explain.describe import TreeHints, describe_classes
from newfound.tables.dataset import Column

NO_HINTS = TreeHints()


def numeric(*names):
    return [Column(name, "numeric", (i,)) for i, name in enumerate(names)]


def classes_of(known, n_new=1):
    return Classes.one_component_each(np.array(known), n_new)


def described(X, columns, names, classes=None, hints=NO_HINTS, probabilities=None, z=None, weight=None):
    """The description of each class; classes called “new-…” are new."""
    names = np.asarray(names, str)
    if classes is None:
        known = sorted({name for name in names if not name.startswith("new-")})
        classes = classes_of(known, len({name for name in names if name.startswith("new-")}))
    position = {name: i for i, name in enumerate(classes.names.astype(str))}
    codes = np.array([position[name] for name in names])
    of_components = np.eye(len(classes))[codes] if probabilities is None else probabilities
    places = codes[:, None].astype(float) if z is None else z
    weight = np.ones(len(names), np.float32) if weight is None else weight
    X = None if X is None else np.asarray(X, np.float32)
    sample = RowSample(np.arange(len(names)), weight, X, places, of_components)
    return {one.name: one for one in describe_classes(sample, columns, names, classes, hints)}
