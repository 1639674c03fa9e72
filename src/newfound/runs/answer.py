"""The answer of a run in words: how many classes, how they were found, and how far to trust that."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from newfound._internal.records import Count, Record, Share
from newfound._internal.words import and_list, count, if_few_labels, percent
from newfound.classes import Classes
from newfound.discovery.record import Selection
from newfound.runs.records import ClassSummary, Columns, MissingLabels

if TYPE_CHECKING:
    from newfound.explain.audit_record import Audit

# ---- The discovered classes: their number, how they were found, how sure that is ----

MIN_AGREEMENT = 0.98  # of predictions with what was discovered
N_MOVES = 3  # in a sentence
MIN_P = 1e-12  # smaller ones are not written out
FOUND_BY = {
    "mixture": "Found by a mixture of Gaussians, because the table is small.",
    "graph": "Found on the graph of neighbours.",
}


class Discovered(Record, frozen=True):
    """The answer and its evidence, in a few numbers."""

    n_new: Count
    n_new_range: tuple[Count, Count]  # the number could be any of these
    is_given: bool  # whether a person chose the number
    has_labels: bool
    method: Literal["mixture", "graph"] | None  # None where nothing was discovered
    n_rows: Count
    n_unsure: Count  # rows with a class that is not more probable than all others together
    closest: list[str]  # the two new classes that would be one if there were one class fewer
    divisible: str | None  # the new class that would be two if there were one more
    agreement: Share  # share of rows that are predicted as what was discovered for them
    moves: list[tuple[str, str, Count]]  # discovered as, predicted as, rows; most rows first


def summarise_discovery(model: Any, table: Columns) -> Discovered:
    """Summarise a fitted model and the table of its rows (`discovered_columns`)."""
    from newfound.explain.describe import near_and_wide

    fitted = model.fitted_
    discovered, predicted = table["discovered_class"], table["class"]
    closest, divisible = near_and_wide(fitted.tree, fitted.classes)
    return Discovered(
        n_new=model.n_new_,
        n_new_range=model.n_new_range_,
        is_given=model.n_new == model.n_new_,
        has_labels=fitted.classes.n_known > 0,
        method=fitted.method,
        n_rows=len(predicted),
        n_unsure=int((~table["is_sure"]).sum()),
        closest=closest,
        divisible=divisible,
        agreement=float(np.mean(discovered == predicted)),
        moves=_moves(discovered, predicted),
    )


def discovered_columns(model: Any) -> Columns:
    """Return the discovered class of every fitted row, and whether it is sure."""
    return {"discovered_class": model.labels_.astype(str), "is_sure": model.is_sure_}


def _moves(discovered: np.ndarray, predicted: np.ndarray) -> list[tuple[str, str, int]]:
    differ = discovered != predicted
    pairs, n_rows = np.unique(np.stack([discovered[differ], predicted[differ]]), axis=1, return_counts=True)
    order = np.argsort(-n_rows, kind="stable")
    return [(str(pairs[0, i]), str(pairs[1, i]), int(n_rows[i])) for i in order]


# ---- in plain words --------------------------------------------------------------------------------------------------


def headline(found: Discovered) -> str:
    """How many: "5 new classes (4–6)"."""
    low, high = found.n_new_range
    could_be = f" ({low}–{high})" if low < high and low <= found.n_new <= high else ""
    new = "new " if found.has_labels else ""  # where no row has a label, there is nothing to be new beside
    number = count(found.n_new, f"{new}class", f"{new}classes") if found.n_new else "No new class"
    return f"{number}, as asked for" if found.is_given else f"{number}{could_be}"


def discovery_sentences(found: Discovered) -> list[str]:
    """How it was found, and how sure it is."""
    return [*how_found(found), *how_sure(found), *about_classes(found)]


def about_classes(found: Discovered) -> list[str]:
    """Which new classes are close, which one is wide, and where predictions differ from what was discovered."""
    return [*_tree(found), *_agreement(found)]


def evidence_sentence(evidence: MissingLabels | None) -> str:
    """\"It would hold about 14 labels if it were known, and holds none (p = 2e-06).\"."""
    if evidence is None:
        return ""
    n_close = round(evidence.labels_held)  # labelled rows of known classes that could as well be of this one
    close = f", though {count(n_close, 'labelled row is', 'labelled rows are')} close by" if n_close else ""
    would = f"It would hold {labels_expected(evidence)} if it were known, and holds none{close}"
    equals = "" if evidence.p_value < MIN_P else "= "
    return f"{would} (p {equals}{p_text(evidence)})."


def labels_expected(evidence: MissingLabels) -> str:
    expected = evidence.labels_expected
    return "less than one label" if expected < 0.95 else f"about {count(round(expected), 'label')}"


def p_text(evidence: MissingLabels) -> str:
    """\"2e-06\", \"0.2\", or "< 1e-12"."""
    return f"{evidence.p_value:.1g}" if evidence.p_value >= MIN_P else f"< {MIN_P:g}"


def how_found(found: Discovered) -> list[str]:
    if found.method is None or not found.n_new:
        return []
    is_guess = not found.has_labels and not found.is_given
    guess = " No row has a label, so the number is less certain than it would be with some." if is_guess else ""
    return [f"{FOUND_BY[found.method]}{guess}"]


def how_sure(found: Discovered) -> list[str]:
    if not found.n_unsure:
        return []
    share = percent(found.n_unsure / found.n_rows)
    verb = "is not sure of its" if found.n_unsure == 1 else "are not sure of their"
    return [f"{count(found.n_unsure, 'row')} ({share}) {verb} class."]


def _tree(found: Discovered) -> list[str]:
    pair = and_list(f"“{name}”" for name in found.closest)
    classes = "new classes" if found.has_labels else "classes"
    near = f"Among the {classes}, {pair} are closest to each other." if found.closest else ""
    has_choice = found.divisible is not None and found.n_new > 1
    wide = f"If one of them should be two classes, it is “{found.divisible}”." if has_choice else ""
    return [*filter(None, (near, wide))]


def _agreement(found: Discovered) -> list[str]:
    """Say where predictions differ from the discovered classes, if 2% of the rows or more do."""
    if found.agreement >= MIN_AGREEMENT:
        return []
    where = and_list(f"“{a}” as “{b}” ({count(n, 'row')})" for a, b, n in found.moves[:N_MOVES])
    most = "mostly " if len(found.moves) > N_MOVES else ""
    start = f"The model predicts {percent(1 - found.agreement)} of the rows as another class than was discovered"
    return [f"{start}: {most}{where}."]


# ---- The answer of a run in one sentence: how many classes, and how far to trust that ----

Grade = Literal["trust", "care", "doubt", "unknown"]
ADVICE: dict[Grade, str] = {
    "trust": "you can trust this",
    "care": "take this with care",
    "doubt": "do not trust this",
    "unknown": "nothing shows how far to trust this",
}
FOUND_WELL, FOUND_HALF = 0.8, 0.5  # shares of hidden classes that were found again
DOUBTED_LABELS = ("doubtful", "not at random")  # grades of `discovery.selection`


class RunAnswer(NamedTuple):
    """One sentence, in the parts that a page may set apart."""

    found: str  # "2 known classes, 1 new class (1–2) of 68 rows"
    reason: str  # "hiding a known class, 93% of it was found again"
    grade: Grade

    @property
    def advice(self) -> str:
        return ADVICE[self.grade]

    def __str__(self) -> str:
        return f"{self.found}; {self.reason}: {self.advice}."


def answer(
    found: Discovered,
    classes: Sequence[ClassSummary],
    audit: "Audit | None",
    selection: Selection | None = None,
) -> RunAnswer:
    """From what a run holds: the classes it found, and what became of known ones that were hidden."""
    return RunAnswer(_found(found, classes), *_trust(found, audit, selection))


def _found(found: Discovered, classes: Sequence[ClassSummary]) -> str:
    new = [c for c in classes if c.is_new and c.n_discovered]
    number = headline(found.replace(n_new=len(new), is_given=False))
    of_rows = f" of {count(sum(c.n_discovered for c in new), 'row')}" if new else ""
    n_known = sum(not c.is_new for c in classes)
    known = f"{count(n_known, 'known class', 'known classes')}, " if n_known else ""
    return f"{known}{number[0].lower()}{number[1:]}{of_rows}{', as asked for' * found.is_given}"


def _trust(found: Discovered, audit: "Audit | None", selection: Selection | None) -> tuple[str, Grade]:
    if not found.has_labels:
        return "no row has a label", "unknown"
    if audit is None or not audit.hidden:
        return "no known class was hidden to check it", "unknown"
    share = float(np.mean([hidden.found_share for hidden in audit.hidden]))
    doubts = _doubts(found, audit, selection)
    reason = f"{_found_again(audit, share)}{', but ' * bool(doubts)}{' and '.join(doubts)}"
    if audit.control == "yes" or share < FOUND_HALF or audit.n_found < FOUND_HALF * len(audit.hidden):
        return reason, "doubt"
    is_well = share >= FOUND_WELL and audit.n_found == len(audit.hidden) and not doubts
    return reason, "trust" if is_well and not if_few_labels(_n_labels(audit)) else "care"


def _found_again(audit: "Audit", share: float) -> str:
    """\"hiding each known class in turn, 93% of it was found again (from 12 labels only)\"."""
    few, n = if_few_labels(_n_labels(audit)), len(audit.hidden)
    if audit.n_found < n:
        was = "was" if audit.n_found == 1 else "were"
        found = f"{audit.n_found or 'none'} of {n} {was} found again" if n > 1 else f"it was not found again{few}"
        return f"hiding each known class in turn, {found}{few * (n > 1)}"
    each = "a known class" if n == 1 else "each known class in turn"
    return f"hiding {each}, {percent(share)} of it was found again{few}"


def _doubts(found: Discovered, audit: "Audit", selection: Selection | None) -> list[str]:
    doubts = []
    if audit.control == "yes":
        doubts.append("so are classes with labels handed out at random")
    if found.n_new and audit.verdict != "yes":
        doubts.append("the labels that are missing may be missing by chance")
    if selection is not None and selection.grade in DOUBTED_LABELS:
        doubts.append("labels do not look picked at random")
    return doubts


def _n_labels(audit: "Audit") -> int:
    return sum(hidden.n_labels for hidden in audit.hidden)


# ---- The numbers of all rows, where the model was fitted on a sample of a source too large to be held ----
# Every number of rows that a run shows is of all of them: from these counts by component, so that what a person decides
# about classes does not need the source again.


class AllRows(Record, frozen=True):
    """How many rows of the source belong to each component."""

    n_sampled: Count  # rows that the model was fitted on
    labels: list[str]  # the classes in the source; the last is "", of rows without a label
    rows: list[list[Count]]  # (components, labels)
    unsure: list[Count]  # (components,): rows whose class is not more probable than all others together

    @property
    def n_rows(self) -> int:
        return int(np.sum(self.rows))

    @property
    def n_labelled(self) -> int:
        return int(np.array(self.rows)[:, :-1].sum())

    def n_disagreements(self, classes: Classes) -> int:
        """Labelled rows that are of another class."""
        called = classes.called_now(np.array(self.labels))
        names = np.append(classes.names.astype(str), "")[classes.component_class]  # NO_CLASS is the last
        differ = (names[:, None] != called) & (called != "")
        return int((np.array(self.rows) * differ).sum())

    def in_summary(self, summary: ClassSummary, classes: Classes) -> ClassSummary:
        """With all rows counted, not those of the sample."""
        of_class = np.array(self.rows)[summary.components]
        called = classes.called_now(np.array(self.labels))
        n_observed = int(np.array(self.rows)[:, called == summary.name].sum())
        n = int(of_class.sum())
        return summary.replace(n_rows=n, n_discovered=n, n_observed=n_observed)

    def in_discovered(self, found: Discovered) -> Discovered:
        return found.replace(n_rows=self.n_rows, n_unsure=sum(self.unsure))

    def in_audit(self, audit: "Audit", classes: Classes) -> "Audit":
        n_new = int(np.array(self.rows)[classes.is_of_new_class].sum()) if audit.n_rows_new else 0
        note = f"Classes were looked for in a sample of {self.n_sampled:,} of the {self.n_rows:,} rows."
        return audit.replace(n_rows=self.n_rows, n_labels=self.n_labelled, n_rows_new=n_new, notes=(*audit.notes, note))

    def n_unsure(self, components: Sequence[int]) -> int:
        return sum(self.unsure[k] for k in components)
