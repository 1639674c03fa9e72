"""What a second fit of the same rows changed: classes that appeared, vanished, split or merged, and rows that moved."""

from typing import NamedTuple

import numpy as np

from newfound._internal.records import Count, Record
from newfound._internal.words import and_list, count, if_few_labels, percent, short_list
from newfound.fitted import Fitted
from newfound.labels import contingency

MIN_PART = 0.2  # share of a class: a smaller part in another class is rows that moved, not a split
N_MOVES_SHOWN = 3


class HeldOut(Record, frozen=True):
    """The accuracy of both fits on the same labels, which neither was trained on."""

    n_labels: Count
    before: float
    after: float


class Changes(Record, frozen=True):
    """From one fit of some rows to the next, by the names of classes; the largest changes first."""

    appeared: list[tuple[str, Count]]  # class, rows
    vanished: list[tuple[str, Count]]
    split: list[tuple[str, list[str]]]  # class before, classes after
    merged: list[tuple[list[str], str]]  # classes before, class after
    became_known: list[str]  # classes that have labels now
    moved: list[tuple[str, str, Count]]  # class before, class after, rows
    n_moved: Count  # rows that are in another class than before
    n_rows: Count
    held_out: HeldOut | None = None  # None if no label was held out of both


class GivenLabel(Record, frozen=True):
    """A label that a row was given after the first fit."""

    row_id: str
    label: str


class CorrectedLabel(Record, frozen=True):
    """A label that replaces another one."""

    row_id: str
    was: str
    label: str


class ChangesFile(Record, frozen=True):
    """`changes.json` of a refit."""

    refit_of: str
    changes: Changes
    given: list[GivenLabel]
    corrections: list[CorrectedLabel]


class RowClasses(NamedTuple):
    """The class of each row by its id, which no change of name affects, and the name of each id."""

    ids: np.ndarray  # (rows,)
    names: dict[str, str]

    @classmethod
    def of(cls, fitted: Fitted) -> "RowClasses":
        ids, names = fitted.classes.ids.astype(str), fitted.classes.names.astype(str)
        return cls(ids[fitted.row_classes], dict(zip(ids.tolist(), names.tolist(), strict=True)))


def compare(before: RowClasses, after: RowClasses) -> Changes:
    """What differs between the classes of the same rows; each class has its last name."""
    names = before.names | after.names
    old, rows = np.unique(before.ids, return_inverse=True)
    new, columns = np.unique(after.ids, return_inverse=True)
    counts = contingency(rows, columns, (len(old), len(new)))
    moved = [(names[a], names[b], int(counts[i, j])) for i, a in enumerate(old) for j, b in enumerate(new) if a != b]
    old_names, new_names = (np.array([names[i] for i in ids.tolist()]) for ids in (old, new))
    return Changes(
        appeared=_largest_first(new_names, counts.sum(axis=0), ~np.isin(new, old)),
        vanished=_largest_first(old_names, counts.sum(axis=1), ~np.isin(old, new)),
        split=_parts(old_names, new_names, counts),
        merged=[(parts, whole) for whole, parts in _parts(new_names, old_names, counts.T)],
        became_known=[],
        moved=sorted((move for move in moved if move[2]), key=lambda move: -move[2]),
        n_moved=int((before.ids != after.ids).sum()),
        n_rows=len(before.ids),
    )


def _largest_first(names: np.ndarray, n_rows: np.ndarray, chosen: np.ndarray) -> list[tuple[str, int]]:
    entries = [(str(name), int(n)) for name, n in zip(names[chosen], n_rows[chosen], strict=True)]
    return sorted(entries, key=lambda entry: -entry[1])


def _parts(wholes: np.ndarray, parts: np.ndarray, counts: np.ndarray) -> list[tuple[str, list[str]]]:
    """Each whole with at least MIN_PART of its rows in several parts, and the names of these parts.

    Most of the rows of one of the parts must come from the whole.
    """
    share_of_whole = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    share_of_part = counts / np.maximum(counts.sum(axis=0, keepdims=True), 1)
    is_part = (share_of_whole >= MIN_PART) & (share_of_part > 0.5)
    is_part |= is_part.any(axis=1, keepdims=True) & (share_of_whole >= MIN_PART)
    return [
        (str(whole), [str(parts[j]) for j in np.flatnonzero(of)])
        for whole, of in zip(wholes, is_part, strict=True)
        if of.sum() > 1
    ]


def change_sentences(changes: Changes) -> list[str]:
    """One sentence for each kind of change that there is."""
    with_rows = [
        [f"“{name}” ({count(n, 'row')})" for name, n in entries] for entries in (changes.appeared, changes.vanished)
    ]
    known = changes.became_known
    sentences = [
        f"{_quoted(known)} {'is' if len(known) == 1 else 'are'} known now." if known else "",
        *(f"“{whole}” was split into {_quoted(parts)}." for whole, parts in changes.split),
        *(f"{_quoted(parts)} were merged into “{whole}”." for parts, whole in changes.merged),
        *(f"{and_list(of)} {verb}." for of, verb in zip(with_rows, ("appeared", "vanished"), strict=True) if of),
        _moved(changes),
        _held_out(changes.held_out),
    ]
    return [sentence for sentence in sentences if sentence]


def _quoted(names: list[str]) -> str:
    return and_list(f"“{name}”" for name in names)


def _moved(changes: Changes) -> str:
    if not changes.n_moved:
        return "No row moved to another class."
    where = short_list([f"“{a}” to “{b}” ({count(n, 'row')})" for a, b, n in changes.moved], N_MOVES_SHOWN)
    share = percent(changes.n_moved / max(changes.n_rows, 1))
    return f"{count(changes.n_moved, 'row')} ({share}) moved: {where}."


def _held_out(held_out: HeldOut | None) -> str:
    if held_out is None:
        return "No label was held out of both fits, so it is not known which is better."
    word = "Better" if held_out.after > held_out.before else "Worse"
    word = "As good as before" if held_out.after == held_out.before else word
    rates = f"{percent(held_out.before)} were right before, {percent(held_out.after)} are now"
    on = f"on {count(held_out.n_labels, 'label')} that neither fit was trained on"
    few = " With so few labels, a difference of one row is chance." if if_few_labels(held_out.n_labels) else ""
    return f"{word} {on}: {rates}.{few}"
