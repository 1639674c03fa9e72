"""Classes: what a person names. Which components of the mixture belong to which class, and what a row's answer is."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from newfound.labels import UNLABELLED, Labels
from newfound.parameters import Number, OneOf, Rule, check_parameters

PROBABILITY: tuple[Rule, ...] = (Number(0, 1), OneOf((None,)))


class Decision(NamedTuple):
    """How probabilities become an answer. Nothing is fitted again for another one."""

    abstain: float | None = None  # a row whose class is less probable gets no answer
    known_only: bool = False  # the best known class, whatever P(new) is
    new_threshold: float | None = None  # a row is new where P(new) is above; None: above that of every known class

    def check(self, classes: "Classes") -> None:
        """Refuse what cannot be decided so."""
        rules = {"abstain": PROBABILITY, "known_only": (OneOf((True, False)),), "new_threshold": PROBABILITY}
        check_parameters(self._asdict(), rules)
        if self.known_only and classes.n_known == 0:
            raise ValueError(
                f"known_only needs a known class, but all {len(classes)} classes are new: no row carried a label. "
                f"Leave it out, or fit with labels."
            )
        if self.known_only and self.new_threshold is not None:
            raise ValueError(
                f"known_only calls no row new, so new_threshold has nothing to decide; got {self.new_threshold!r}. "
                f"Leave one of them out."
            )


AS_USUAL = Decision()


class Answer(NamedTuple):
    """What is said of each row."""

    position: np.ndarray  # of its class in `Classes.names`
    probability: np.ndarray  # of that class
    p_new: np.ndarray  # of all new classes together
    component: np.ndarray  # the most probable one of that class
    is_given: np.ndarray  # False where the class is less probable than was asked for


@dataclass(frozen=True, eq=False)
class Classes:
    """The known classes, then the new ones, and the class of every component."""

    names: np.ndarray
    is_new: np.ndarray  # one flag a class
    component_class: np.ndarray  # for each component, the position of its class

    @classmethod
    def one_component_each(cls, known: np.ndarray, n_new: int) -> "Classes":
        """Every known class has one component, and so has each of `n_new` new ones."""
        return cls.of_fragments(known, np.arange(n_new))

    @classmethod
    def of_fragments(cls, known: np.ndarray, group: np.ndarray) -> "Classes":
        """Every known class has one component; then there is one for each fragment, of the new class `group` names."""
        n_known, n_new = len(known), int(group.max(initial=-1)) + 1
        names = np.array([*known, *new_names(known, n_new)]) if n_new else known
        if n_new and known.dtype.kind == "b":
            names = np.array([*map(str, known), *new_names(known, n_new)])
        return cls(names, np.arange(len(names)) >= n_known, np.append(np.arange(n_known), n_known + group))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def n_known(self) -> int:
        return int((~self.is_new).sum())

    @property
    def n_components(self) -> int:
        return len(self.component_class)

    @property
    def known(self) -> np.ndarray:
        """The names of the known classes."""
        return self.names[~self.is_new]

    @cached_property
    def known_components(self) -> tuple[int, ...]:
        """The component that stands for each known class, in the order of the classes: its first."""
        return tuple(int(self.components(int(i))[0]) for i in np.flatnonzero(~self.is_new))

    @cached_property
    def new_components(self) -> tuple[int, ...]:
        """All components of new classes."""
        return tuple(np.flatnonzero(self.is_new[self.component_class]).tolist())

    def component_of(self, codes: np.ndarray) -> np.ndarray:
        """The component that stands for each row's label, from codes of known classes; UNLABELLED stays so."""
        return np.array([*self.known_components, UNLABELLED])[codes]

    def components(self, position: int) -> np.ndarray:
        """The components of a class."""
        return np.flatnonzero(self.component_class == position)

    def position(self, name: Any) -> int:
        """Where a class stands in the list, by its name."""
        found = np.flatnonzero(self.names == name)
        if len(found) == 0:
            some = ", ".join(repr(c) for c in self.names.tolist()[:10]) + ", …" * (len(self) > 10)
            raise ValueError(f"class_name must be one of classes_ ({some}); got {name!r}.")
        return int(found[0])

    def probabilities(self, of_components: np.ndarray) -> np.ndarray:
        """The probability of each class: that of its components together."""
        belongs = self.component_class[:, None] == np.arange(len(self))
        is_same = belongs.shape[0] == belongs.shape[1] and belongs.diagonal().all()
        return of_components if is_same else of_components @ belongs.astype(float)

    def is_called_new(self, probabilities: np.ndarray, decision: Decision = AS_USUAL) -> np.ndarray:
        """Whether each row is new: where all new classes together are more probable than every known one.

        What is new may be spread over several classes, none of which could hold its own against a known class alone.
        """
        if decision.known_only or self.is_new.all():
            return np.full(len(probabilities), not decision.known_only)
        best_known = probabilities[:, ~self.is_new].max(axis=1)
        limit = best_known if decision.new_threshold is None else decision.new_threshold
        return probabilities[:, self.is_new].sum(axis=1) > limit

    def answer(self, of_components: np.ndarray, decision: Decision = AS_USUAL) -> Answer:
        """From the probabilities of the components to what is said of each row.

        A row's class is that of its most probable component, among the known or among the new ones: so it stays what
        it is when other new classes are merged.
        """
        probabilities = self.probabilities(of_components)
        is_new = self.is_called_new(probabilities, decision)[:, None] == self.is_new[self.component_class]
        component = np.where(is_new, of_components, -1.0).argmax(axis=1)
        position = self.component_class[component]
        probability = probabilities[np.arange(len(position)), position]
        return Answer(
            position=position,
            probability=probability,
            p_new=probabilities[:, self.is_new].sum(axis=1),
            component=component,
            is_given=probability >= (decision.abstain or 0.0),
        )

    def named(self, answer: Answer) -> np.ndarray:
        """The class of each row by its name; where no answer is given, what means unlabelled: −1, "" or None."""
        return self.names_at(answer.position, answer.is_given)

    def names_at(self, position: np.ndarray, is_given: np.ndarray) -> np.ndarray:
        """Names of classes by their positions, and what means unlabelled where none is to be given."""
        if is_given.all():
            return self.names[position]
        return Labels(self.names, np.where(is_given, position, UNLABELLED)).values


def new_names(known: np.ndarray, n_new: int) -> list[Any]:
    """Names for new classes: the next integers, or "new-1", "new-2", … as far as they are not taken."""
    if len(known) == 0 or known.dtype.kind == "i":
        first = int(known.max()) + 1 if len(known) else 0
        return list(range(first, first + n_new))
    taken = set(map(str, known))
    free = (name for i in range(1, n_new + len(taken) + 1) if (name := f"new-{i}") not in taken)
    return [next(free) for _ in range(n_new)]
