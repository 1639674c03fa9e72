"""`Classes`: which components of the mixture belong to which class, and the answer for each row.

A fit decides which component a row belongs to. Acts of a person (`acts`) change only which class a component belongs
to, and its name.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from newfound.config import Number, OneOf, Rule, check_parameters
from newfound.labels import UNLABELLED, Labels

ClassName = int | str | bool  # as labels are
NO_CLASS = -1  # of a component whose class was discarded
PROBABILITY: tuple[Rule, ...] = (Number(0, 1), OneOf((None,)))


class Decision(NamedTuple):
    """How probabilities become an answer. Another decision needs no other fit."""

    abstain: float | None = None  # rows whose class is less probable get no answer
    known_only: bool = False  # always the best known class
    new_threshold: float | None = None  # rows are new if P(new) is above; None: above that of every known class

    def check(self, classes: "Classes") -> None:
        """Refuse options that contradict each other or the classes."""
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


DEFAULT_DECISION = Decision()


class Answer(NamedTuple):
    """The answer for each row."""

    position: np.ndarray  # of its class in `Classes.names`
    probability: np.ndarray  # of that class
    p_new: np.ndarray  # of all new classes together
    component: np.ndarray  # the most probable one of that class
    is_given: np.ndarray  # False if the class is less probable than `abstain`


@dataclass(frozen=True, eq=False)
class Classes:
    """The known classes, then the new ones, and the class of every component. Fields left out are as after a fit."""

    names: np.ndarray
    is_new: np.ndarray  # for each class
    component_class: np.ndarray  # for each component, the position of its class; NO_CLASS if that was discarded
    ids: np.ndarray = None  # type: ignore[assignment]  # of the classes: never changed, never reused
    is_named: np.ndarray = None  # type: ignore[assignment]  # whether a person gave the class its name
    component_is_new: np.ndarray = None  # type: ignore[assignment]  # whether the fit found it new
    next_new: int = None  # type: ignore[assignment]  # the number of the next id

    def __post_init__(self) -> None:
        as_fitted = {
            "ids": lambda: self.names,
            "is_named": lambda: ~self.is_new,
            "component_is_new": lambda: self.is_new[self.component_class],
            "next_new": lambda: _next_number(self.ids),
        }
        for name, value in as_fitted.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value())

    @classmethod
    def one_component_each(cls, known: np.ndarray, n_new: int) -> "Classes":
        """One component for each known class and for each of `n_new` new ones."""
        return cls.of_fragments(known, np.arange(n_new))

    @classmethod
    def of_fragments(cls, known: np.ndarray, group: np.ndarray) -> "Classes":
        """One component for each known class, then one for each fragment, of the new class in `group`."""
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
    def is_kept(self) -> np.ndarray:
        """For each component, whether it belongs to a class."""
        return self.component_class != NO_CLASS

    @cached_property
    def is_of_new_class(self) -> np.ndarray:
        """For each component, whether its class is new now."""
        return self.is_kept & np.append(self.is_new, False)[self.component_class]

    @property
    def new_components(self) -> tuple[int, ...]:
        """All components of new classes."""
        return tuple(np.flatnonzero(self.is_of_new_class).tolist())

    def component_of(self, codes: np.ndarray) -> np.ndarray:
        """The component that stands for each row's label, from codes of known classes; UNLABELLED stays so."""
        return np.array([*self.known_components, UNLABELLED])[codes]

    def components(self, position: int) -> np.ndarray:
        """The components of a class."""
        return np.flatnonzero(self.component_class == position)

    def position(self, name: Any) -> int:
        """The position of a class, from its name or its id."""
        found = [*np.flatnonzero(self.names == name), *np.flatnonzero(self.ids == name)]
        if len(found) == 0:
            some = ", ".join(repr(c) for c in self.names.tolist()[:10]) + ", …" * (len(self) > 10)
            raise ValueError(f"There is no class {name!r}. The classes are {some}.")
        return int(found[0])

    def called_now(self, labels: np.ndarray) -> np.ndarray:
        """Labels as text, by the present names of known classes; other labels do not change."""
        known = zip(self.ids[~self.is_new], self.known, strict=True)
        now = {str(i): str(name) for i, name in known if str(i) != str(name)}
        return np.array([now.get(label, label) for label in labels.tolist()], dtype=str) if now else labels

    def remaining(self, of_components: np.ndarray) -> np.ndarray:
        """The probabilities of components, normalised without the discarded ones."""
        if self.is_kept.all():
            return of_components
        kept = np.where(self.is_kept, of_components, 0.0)
        total = kept.sum(axis=1, keepdims=True)
        alike = np.broadcast_to(self.is_kept / self.is_kept.sum(), kept.shape).astype(kept.dtype)
        return np.divide(kept, total, out=alike, where=total > 0)

    def probabilities(self, of_components: np.ndarray) -> np.ndarray:
        """The probability of each class: the sum over its components.

        Each class is summed separately, so that no other class changes its last digit.
        """
        return self._together(self.remaining(of_components))

    def _together(self, q: np.ndarray) -> np.ndarray:
        order, first = self._class_by_class
        if len(self) == q.shape[1] == len(order) and np.array_equal(order, first):
            return q  # each class is its component
        return np.add.reduceat(q.take(order, axis=1), first, axis=1)

    @cached_property
    def _class_by_class(self) -> tuple[np.ndarray, np.ndarray]:
        """The components class by class, and where among these each class begins."""
        order = np.argsort(self.component_class, kind="stable")[(~self.is_kept).sum() :]
        return order, np.searchsorted(self.component_class[order], np.arange(len(self)))

    @cached_property
    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        """The components that were found known and those that were found new, without discarded ones."""
        is_new = self.component_is_new
        return np.flatnonzero(self.is_kept & ~is_new), np.flatnonzero(self.is_kept & is_new)

    def _is_on_new_side(self, q: np.ndarray) -> np.ndarray:
        """Whether each row is new: all components found new together are more probable than every known one.

        A new group may be spread over several classes, each less probable than a known class. The sides are those of
        the fit and no act changes them; otherwise a merge into a known class would move rows of other classes.
        """
        known, new = self._sides
        if len(known) == 0 or len(new) == 0:
            return np.full(len(q), len(new) > 0)
        return q.take(new, axis=1).sum(axis=1) > q.take(known, axis=1).max(axis=1)

    def answer(self, of_components: np.ndarray, decision: Decision = DEFAULT_DECISION) -> Answer:
        """The answer for each row, from the probabilities of components.

        The class of a row is that of its most probable component, among those found known or among those found new. So
        it does not change when other classes are merged.
        """
        q = self.remaining(of_components)
        is_on_side = (self._is_on_new_side(q)[:, None] == self.component_is_new) & self.is_kept
        component = np.where(is_on_side, q, -1.0).argmax(axis=1)
        p_new = q.take(np.flatnonzero(self.is_of_new_class), axis=1).sum(axis=1)
        component = self._decided(q, component, p_new, decision)
        position = self.component_class[component]
        probability = self._together(q)[np.arange(len(position)), position]
        return Answer(position, probability, p_new, component, probability >= (decision.abstain or 0.0))

    def _decided(self, q: np.ndarray, component: np.ndarray, p_new: np.ndarray, decision: Decision) -> np.ndarray:
        """The component of each row; its best known or new one where the decision asks for that."""
        if not decision.known_only and decision.new_threshold is None:
            return component
        wants_new = np.zeros(len(q), bool) if decision.known_only else p_new > decision.new_threshold
        is_wanted = (wants_new[:, None] == self.is_of_new_class) & self.is_kept
        moves = (self.is_of_new_class[component] != wants_new) & is_wanted.any(axis=1)
        return np.where(moves, np.where(is_wanted, q, -1.0).argmax(axis=1), component)

    def named(self, answer: Answer) -> np.ndarray:
        """The name of each row's class; −1, "" or None, which mean unlabelled, where no answer is given."""
        return self.names_at(answer.position, answer.is_given)

    def names_at(self, position: np.ndarray, is_given: np.ndarray) -> np.ndarray:
        """Names of classes by their positions; −1, "" or None where `is_given` is False."""
        if is_given.all():
            return self.names[position]
        return Labels(self.names, np.where(is_given, position, UNLABELLED)).values


def answer_columns(classes: Classes, answer: Answer, prefix: str = "newfound_") -> dict[str, np.ndarray]:
    """The answer for each row as columns of a user's table."""
    columns = {
        "class": classes.named(answer),
        "probability": answer.probability,
        "p_new": answer.p_new,
        "is_new": classes.is_new[answer.position],
    }
    return {prefix + name: column for name, column in columns.items()}


def new_names(known: np.ndarray, n_new: int) -> list[Any]:
    """Names for new classes: the next integers, or "new-1", "new-2", … without those that are taken."""
    if len(known) == 0 or known.dtype.kind == "i":
        first = int(known.max()) + 1 if len(known) else 0
        return list(range(first, first + n_new))
    taken = set(map(str, known))
    free = (name for i in range(1, n_new + len(taken) + 1) if (name := f"new-{i}") not in taken)
    return [next(free) for _ in range(n_new)]


def _next_number(ids: np.ndarray) -> int:
    """One more than the largest number among ids, which are numbers or "new-1", "new-2", …."""
    if ids.dtype.kind == "i":
        return int(ids.max(initial=-1)) + 1
    numbers = (str(i).removeprefix("new-") for i in ids.tolist() if str(i).startswith("new-"))
    return max([1, *(int(number) + 1 for number in numbers if number.isdecimal())])
