"""From one fit to the next of the same rows: which classes and components continue, with which ids and names.

- A class that has labels is known and has one component. It is the class of that name, or the new class to which a
  person or the labels gave it. A name that no class has becomes a class of its own.
- A new class that no label names continues unchanged, with its components and their tree.
- A known class without labels ends, and so does one that was discarded.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from newfound.classes import Classes
from newfound.discovery.record import Evidence
from newfound.discovery.tree import ClassTree
from newfound.fitted import Fitted

NONE = -1  # of a component that ends


@dataclass(frozen=True, eq=False)
class ClassMapping:
    """The classes after a refit: those that labels name, then the new ones that continue."""

    before: Fitted
    known: np.ndarray  # names that labels give
    new_names: dict[int, str]  # of new classes, by position, as given by a person or by labels

    @cached_property
    def new(self) -> np.ndarray:
        """Positions of the new classes that continue."""
        names = set(map(str, self.known.tolist()))
        new = np.flatnonzero(self.before.classes.is_new).tolist()
        return np.array([position for position in new if self.name_of(position) not in names], int)

    def name_of(self, position: int) -> str:
        return self.new_names.get(position, str(self.before.classes.names[position]))

    @cached_property
    def column(self) -> np.ndarray:
        """For each component before, the class after; NONE where it ends."""
        names = [*map(str, self.known.tolist())]
        found = np.full(len(self.before.classes) + 1, NONE)  # the last stands for discarded classes
        for position in range(len(self.before.classes)):
            if self.name_of(position) in names:
                found[position] = names.index(self.name_of(position))
        found[self.new] = len(self.known) + np.arange(len(self.new))
        return found[self.before.classes.component_class]

    @property
    def fragments(self) -> np.ndarray:
        """The components before that continue unchanged, those of new classes."""
        return np.flatnonzero(self.column >= len(self.known))

    def class_probabilities(self) -> np.ndarray:
        """(rows, classes after) by the fit before; uniform for a row whose classes have all ended."""
        p = self.before.row_probabilities.astype(float)
        goes_on = self.column != NONE
        n_classes = len(self.known) + len(self.new)
        found = p[:, goes_on] @ np.eye(n_classes)[self.column[goes_on]]
        total = found.sum(axis=1, keepdims=True)
        return np.divide(found, total, out=np.full_like(found, 1 / n_classes), where=total > 1e-6)

    def targets(self, of_classes: np.ndarray) -> np.ndarray:
        """(rows, components after): the probability of a new class, shared among its components as before."""
        n_known, column = len(self.known), self.column[self.fragments]
        own = self.before.row_probabilities[:, self.fragments].astype(float) + 1e-9
        together = own @ np.eye(of_classes.shape[1])[column]
        return np.hstack([of_classes[:, :n_known], of_classes[:, column] * own / together[:, column]])

    def sources(self, targets: np.ndarray) -> np.ndarray:
        """For each component after, the component before that most of its rows belonged to."""
        shared = self.before.row_probabilities.T.astype(float) @ targets[:, : len(self.known)]
        return np.append(shared.argmax(axis=0), self.fragments)

    @property
    def tree(self) -> ClassTree | None:
        tree = self.before.tree
        return None if tree is None else tree.among(self._of_tree)

    @property
    def evidence(self) -> Evidence | None:
        evidence = self.before.evidence
        return None if evidence is None else evidence.take(self._of_tree)

    @property
    def _of_tree(self) -> np.ndarray:
        """Which fragments of the tree continue."""
        tree = self.before.tree
        return self.fragments - (0 if tree is None else self.before.classes.n_components - tree.n_fragments)

    @property
    def n_new_range(self) -> tuple[int, int]:
        """The range before, less the new classes that have labels now."""
        low, high = self.before.n_new_range
        n, labelled = len(self.new), int(self.before.classes.is_new.sum()) - len(self.new)
        return min(n, max(low - labelled, 0)), max(n, high - labelled)

    @property
    def classes(self) -> Classes:
        """The classes after, each with its components, its id and its name."""
        before, n_known = self.before.classes, len(self.known)
        first = {self.name_of(p): before.ids[p].item() for p in reversed(range(len(before)))}  # of each name
        known = self.known.tolist()
        ids = _of_one_kind([*(first.get(str(name), name) for name in known), *before.ids[self.new].tolist()])
        return Classes(
            names=_of_one_kind([*known, *before.names[self.new].tolist()]),
            is_new=np.arange(len(ids)) >= n_known,
            component_class=np.append(np.arange(n_known), self.column[self.fragments]),
            ids=ids,
            is_named=np.append(np.ones(n_known, bool), before.is_named[self.new]),
            next_new=max([before.next_new, *(ids + 1 if ids.dtype.kind == "i" else [])]),
        )


def _of_one_kind(names: list[Any]) -> np.ndarray:
    """Numbers if all are, else text."""
    is_number = all(isinstance(name, int) and not isinstance(name, bool) for name in names)
    return np.array(names if is_number else [str(name) for name in names])
