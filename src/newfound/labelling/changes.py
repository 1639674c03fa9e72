"""What a second fit of the same rows changed: classes that appeared, vanished, split or merged, and rows that moved."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from newfound._internal.words import and_list, count, if_few_labels, percent, short_list
from newfound.fitted import Fitted

LARGE = 0.2  # of a class: a smaller part of it that goes elsewhere is rows that moved, and no split
N_MOVES = 3  # in a sentence


@dataclass(frozen=True)
class HeldOut:
    """How often each fit was right on the same labels, which neither was trained on."""

    n_labels: int
    before: float
    after: float


@dataclass(frozen=True)
class Changes:
    """From one fit of some rows to the next, by the names of classes; the largest changes first."""

    appeared: list[tuple[str, int]]  # class, rows
    vanished: list[tuple[str, int]]
    split: list[tuple[str, list[str]]]  # class before, classes after
    merged: list[tuple[list[str], str]]  # classes before, class after
    became_known: list[str]  # they have labels now
    moved: list[tuple[str, str, int]]  # class before, class after, rows
    n_moved: int  # rows that are in another class than before
    n_rows: int
    held_out: HeldOut | None = None  # None where no label was held out of both

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Changes":
        tuples = {name: [tuple(entry) for entry in stored[name]] for name in ("appeared", "vanished", "moved")}
        pairs = {name: [(a, b) for a, b in stored[name]] for name in ("split", "merged")}
        held_out = stored["held_out"] and HeldOut(**stored["held_out"])
        return cls(**stored | tuples | pairs | {"held_out": held_out})


class Named(NamedTuple):
    """The class of each row by its id, which stays what it is whatever the class is called; and what it is called."""

    ids: np.ndarray  # (rows,)
    names: dict[str, str]  # of each id

    @classmethod
    def of(cls, fitted: Fitted) -> "Named":
        ids, names = fitted.classes.ids.astype(str), fitted.classes.names.astype(str)
        return cls(ids[fitted.row_classes], dict(zip(ids.tolist(), names.tolist(), strict=True)))


def compare(before: Named, after: Named, became_known: list[str] | None = None) -> Changes:
    """From the class of each row before and after; a class is told by its last name."""
    called = before.names | after.names
    old, rows = np.unique(before.ids, return_inverse=True)
    new, columns = np.unique(after.ids, return_inverse=True)
    counts = np.zeros((len(old), len(new)), int)
    np.add.at(counts, (rows, columns), 1)
    moved = [(called[a], called[b], int(counts[i, j])) for i, a in enumerate(old) for j, b in enumerate(new) if a != b]
    old_names, new_names = (np.array([called[i] for i in ids.tolist()]) for ids in (old, new))
    return Changes(
        appeared=_only(new_names[~np.isin(new, old)], counts[:, ~np.isin(new, old)].sum(axis=0)),
        vanished=_only(old_names[~np.isin(old, new)], counts[~np.isin(old, new)].sum(axis=1)),
        split=_parts(old_names, new_names, counts),
        merged=[(parts, whole) for whole, parts in _parts(new_names, old_names, counts.T)],
        became_known=became_known or [],
        moved=sorted((move for move in moved if move[2]), key=lambda move: -move[2]),
        n_moved=int((before.ids != after.ids).sum()),
        n_rows=len(before.ids),
    )


def _only(names: np.ndarray, n_rows: np.ndarray) -> list[tuple[str, int]]:
    found = [(str(name), int(n)) for name, n in zip(names, n_rows, strict=True)]
    return sorted(found, key=lambda entry: -entry[1])


def _parts(wholes: np.ndarray, parts: np.ndarray, counts: np.ndarray) -> list[tuple[str, list[str]]]:
    """Each whole of which large shares are in several parts, all but one of them made of little else."""
    share_of_whole = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    share_of_part = counts / np.maximum(counts.sum(axis=0, keepdims=True), 1)
    is_part = (share_of_whole >= LARGE) & (share_of_part > 0.5)
    is_part |= is_part.any(axis=1, keepdims=True) & (share_of_whole >= LARGE)
    return [
        (str(whole), [str(parts[j]) for j in np.flatnonzero(of)])
        for whole, of in zip(wholes, is_part, strict=True)
        if of.sum() > 1
    ]


# ---- in plain words --------------------------------------------------------------------------------------------------


def change_sentences(changes: Changes) -> list[str]:
    """One for each kind of change; what stayed the same is not told."""
    told = [
        _listed(changes.became_known, "is known now", "are known now"),
        *(f"“{whole}” was split into {_quoted(parts)}." for whole, parts in changes.split),
        *(f"{_quoted(parts)} were merged into “{whole}”." for parts, whole in changes.merged),
        _listed(_with_rows(changes.appeared), "appeared"),
        _listed(_with_rows(changes.vanished), "vanished"),
        _moved(changes),
        _held_out(changes.held_out),
    ]
    return [sentence for sentence in told if sentence]


def _listed(names: list[str], verb: str, verbs: str | None = None) -> str:
    quoted = [name if name.startswith("“") else f"“{name}”" for name in names]
    return f"{and_list(quoted)} {verb if len(names) == 1 else verbs or verb}." if names else ""


def _with_rows(entries: list[tuple[str, int]]) -> list[str]:
    return [f"“{name}” ({count(n, 'row')})" for name, n in entries]


def _quoted(names: list[str]) -> str:
    return and_list(f"“{name}”" for name in names)


def _moved(changes: Changes) -> str:
    if not changes.n_moved:
        return "No row moved to another class."
    where = short_list([f"“{a}” to “{b}” ({count(n, 'row')})" for a, b, n in changes.moved], N_MOVES)
    share = percent(changes.n_moved / max(changes.n_rows, 1))
    return f"{count(changes.n_moved, 'row')} ({share}) moved: {where}."


def _held_out(held_out: HeldOut | None) -> str:
    if held_out is None:
        return "No label was held out of both fits, so it is not known which is better."
    word = "Better" if held_out.after > held_out.before else "Worse"
    word = "As good as before" if held_out.after == held_out.before else word
    rates = f"{percent(held_out.before)} were right before, {percent(held_out.after)} are now"
    on = f"on {count(held_out.n_labels, 'label')} that neither fit was trained on"
    few = " That is few: one row more or less is chance." if if_few_labels(held_out.n_labels) else ""
    return f"{word} {on}: {rates}.{few}"
