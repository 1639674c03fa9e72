"""The loop with a simulated person, who names the new classes and labels some rows for a second fit.

Each method takes the place of a model: "named" (names alone, no second fit), "suggested-50" (names, and labels of 50
rows that `suggest` gives), "random-50-draw-1" (names, and labels of 50 random rows; the number is the draw).
"""

import re
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from experiments.presets import Changes, keywords
from experiments.tasks import Task, make_task
from newfound.classes import Classes

NAMED = "named"
LABELLING = re.compile(r"suggested-(\d+)|random-(\d+)-draw-(\d+)")


def is_simulated(method: str) -> bool:
    return method == NAMED or LABELLING.fullmatch(method) is not None


def fit_with_person(method: str, dataset: str, regime: str, seed: int, changes: Changes) -> Any:
    """A model of the task, named and, if the method says so, fitted again with labels that the person gave."""
    task, model = _named_model(dataset, regime, seed, tuple(sorted(changes.items())))
    labelling = LABELLING.fullmatch(method)
    if labelling is None:
        return model
    suggested, random, draw = labelling.groups()
    if suggested:
        rows = model.suggest(task.X, int(suggested)).rows
    else:
        unlabelled = np.flatnonzero(~task.labels.is_labelled)
        rows = np.random.default_rng([seed, int(draw)]).permutation(unlabelled)[: int(random)]
    y = task.labels.names
    y[rows] = task.all_labels.names[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of columns that do not vary
        return model.refit(task.X, y)


@lru_cache(maxsize=1)  # one first fit for all that follows from it
def _named_model(dataset: str, regime: str, seed: int, changes: tuple[tuple[str, Any], ...]) -> tuple[Task, Any]:
    from newfound.estimator import GMDGM

    task = make_task(dataset, regime, seed)
    model = GMDGM(feature_types=task.feature_types, random_state=seed, **keywords(dict(changes)))
    return task, named_by_majority(model.fit(task.X, task.labels.names), task.all_labels.names)


def named_by_majority(model: Any, truth: np.ndarray) -> Any:
    """Each new class with the name of the true class most common in it; those of one name are merged.

    A class without rows keeps its name.
    """
    seen = [name for name in model.classes_[model.is_new_].tolist() if (model.labels_ == name).any()]
    names = {}
    for name in seen:
        true, n = np.unique(truth[model.labels_ == name], return_counts=True)
        names[name] = str(true[n.argmax()])
    for name in sorted(set(names.values())):
        same = [found for found, true in names.items() if true == name]
        if name in model.classes_[~model.is_new_]:
            model = model.merge(same, into=name)
            continue
        model = model.merge(same) if len(same) > 1 else model
        surviving = next(found for found in same if found in model.classes_)
        model = model.rename({surviving: name})
    return model


def answer_by_name(model: Any, task: Task) -> tuple[np.ndarray, Classes]:
    """The class of each test row; classes are known if they had labels before the person came."""
    known = task.labels.observed().classes.tolist()
    names = [*known, *(name for name in model.classes_.tolist() if name not in known)]
    position = {name: i for i, name in enumerate(names)}
    answer = np.array([position[name] for name in model.predict(task.X_test).tolist()])
    return answer, Classes(np.array(names), np.arange(len(names)) >= len(known), np.arange(len(names)))


def accuracy_by_name(model: Any, task: Task) -> float:
    """In %: a row is right where its class has the name of its true one."""
    return round(100 * float(np.mean(model.predict(task.X_test) == task.truth.names)), 2)
