"""From one fit to the next of the same rows: which classes and components go on, under which ids and names.

- A class that has labels is known, and one component: the class of that name, or the new class that a person or the
  labels call so. A name that no class has becomes a class of its own.
- A new class that no label names goes on as it is, with its components and their tree.
- A known class that has no label any more, and one that was discarded, end.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from newfound.classes import Classes
from newfound.discovery.groups import Evidence
from newfound.discovery.tree import ClassTree
from newfound.fitted import Fitted

NONE = -1  # of a component that ends


class Identity(NamedTuple):
    """What a class is to a person."""

    name: Any
    id: Any
    is_new: bool
    is_named: bool


@dataclass(frozen=True, eq=False)
class Lineage:
    """The classes that labels name, then the new ones that go on."""

    before: Fitted
    known: np.ndarray  # names that labels give
    called: dict[int, str]  # by position, what new classes are called

    @cached_property
    def new(self) -> np.ndarray:
        """Positions of the new classes that go on."""
        names = set(map(str, self.known.tolist()))
        new = np.flatnonzero(self.before.classes.is_new).tolist()
        return np.array([position for position in new if self.name_of(position) not in names], int)

    def name_of(self, position: int) -> str:
        return self.called.get(position, str(self.before.classes.names[position]))

    @cached_property
    def column(self) -> np.ndarray:
        """Of each component before, the class after; NONE where it ends."""
        names = [*map(str, self.known.tolist())]
        found = np.full(len(self.before.classes) + 1, NONE)  # what was discarded is the last
        for position in range(len(self.before.classes)):
            if self.name_of(position) in names:
                found[position] = names.index(self.name_of(position))
        found[self.new] = len(self.known) + np.arange(len(self.new))
        return found[self.before.classes.component_class]

    @property
    def fragments(self) -> np.ndarray:
        """The components before that go on as they are, those of new classes."""
        return np.flatnonzero(self.column >= len(self.known))

    def class_probabilities(self) -> np.ndarray:
        """(rows, classes after), by what the fit before said; a row of which nothing is left may be anything."""
        p = self.before.row_probabilities.astype(float)
        goes_on = self.column != NONE
        n_classes = len(self.known) + len(self.new)
        found = p[:, goes_on] @ np.eye(n_classes)[self.column[goes_on]]
        total = found.sum(axis=1, keepdims=True)
        return np.divide(found, total, out=np.full_like(found, 1 / n_classes), where=total > 1e-6)

    def targets(self, of_classes: np.ndarray) -> np.ndarray:
        """(rows, components after): a new class's probability among its components as it was before."""
        n_known, column = len(self.known), self.column[self.fragments]
        own = self.before.row_probabilities[:, self.fragments].astype(float) + 1e-9
        together = own @ np.eye(of_classes.shape[1])[column]
        return np.hstack([of_classes[:, :n_known], of_classes[:, column] * own / together[:, column]])

    def sources(self, targets: np.ndarray) -> np.ndarray:
        """Of each component after, the component before that its rows were most."""
        shared = self.before.row_probabilities.T.astype(float) @ targets[:, : len(self.known)]
        return np.append(shared.argmax(axis=0), self.fragments)

    @property
    def tree(self) -> ClassTree | None:
        tree, of = self.before.tree, self._of_tree
        return None if tree is None else tree.among(of)

    @property
    def evidence(self) -> Evidence | None:
        evidence = self.before.evidence
        return None if evidence is None else Evidence(*(entry[self._of_tree] for entry in evidence))

    @property
    def _of_tree(self) -> np.ndarray:
        """Which fragments of the tree go on."""
        tree = self.before.tree
        return self.fragments - (0 if tree is None else self.before.classes.n_components - tree.n_fragments)

    @property
    def n_new_range(self) -> tuple[int, int]:
        """As many fewer as have a label now."""
        low, high = self.before.n_new_range
        n, labelled = len(self.new), int(self.before.classes.is_new.sum()) - len(self.new)
        return min(n, max(low - labelled, 0)), max(n, high - labelled)

    @property
    def classes(self) -> Classes:
        """The classes after, each with its components, its id and its name."""
        known = [self._known(name) for name in self.known.tolist()]
        before = self.before.classes
        new = [Identity(before.names[p].item(), before.ids[p].item(), True, bool(before.is_named[p])) for p in self.new]
        ids = _alike([of.id for of in [*known, *new]])
        is_new = np.arange(len(ids)) >= len(known)
        return Classes(
            names=_alike([of.name for of in [*known, *new]]),
            is_new=is_new,
            component_class=np.append(np.arange(len(known)), self.column[self.fragments]),
            ids=ids,
            is_named=np.array([of.is_named for of in [*known, *new]], dtype=bool),
            next_new=max([before.next_new, *(ids + 1 if ids.dtype.kind == "i" else [])]),
        )

    def _known(self, name: Any) -> Identity:
        """A class that labels name: it may have been new, or be there for the first time."""
        same = [p for p in range(len(self.before.classes)) if self.name_of(p) == str(name)]
        return Identity(name, self.before.classes.ids[same[0]].item() if same else name, is_new=False, is_named=True)


def _alike(names: list[Any]) -> np.ndarray:
    """Numbers where all are, else text."""
    is_number = all(isinstance(name, int) and not isinstance(name, bool) for name in names)
    return np.array(names if is_number else [str(name) for name in names])
