"""The result of an audit: one frozen record for JSON, and its sentences, the answer first."""

import math
from html import escape
from typing import Literal

from newfound._internal.records import Count, Record, Share
from newfound._internal.words import and_list, count, if_few_labels, percent

Answer = Literal["yes", "perhaps", "none seen"]

MIN_WIN = 0.02  # of F1, from which on a baseline is called better
CANNOT_SEE = "A class that looks like a known one cannot be seen this way."


class HiddenClass(Record, frozen=True):
    """The result for a known class with all of its labels hidden."""

    name: str
    n_labels: Count  # all shares below are of these
    found_share: Share  # called new
    called: str | None  # the known class that most of the other labels were called
    called_share: Share
    f1: Share  # of the class with the new class that matches it best, on labelled rows
    auroc: Share  # of P(new): rows of this class against rows of the other known classes, judged out of fold
    known_accuracy: float | None = None  # of the other known classes, judged out of fold

    @property
    def is_found(self) -> bool:
        """Whether the best new class has an F1 of at least ½."""
        return self.f1 >= 0.5


class BaselineScore(Record, frozen=True):
    """The result of another method with the same classes hidden, in the same rows and features."""

    title: str  # "k-means from the class means"
    f1: float  # mean over the hidden classes, as for newfound
    n_classes: int  # mean over the rounds; methods that need a number get that of newfound
    known_accuracy: float | None  # on held-out labels of known classes; None if there are too few


class Audit(Record, frozen=True):
    """Whether there are classes without any label; `print` shows it in sentences."""

    verdict: Answer
    p_value: float  # probability of at most this many labels among the rows called new if they were of known classes
    n_new: Count
    n_new_range: tuple[Count, Count]
    n_rows_new: Count  # rows in new classes
    n_rows: Count
    n_labels: Count
    hidden: tuple[HiddenClass, ...]  # each known class hidden in turn
    control: Answer | None  # the verdict with the labels on random rows; None if that was not tried
    n_rows_hidden: int  # rows of the sample in which classes were hidden
    notes: tuple[str, ...] = ()
    baselines: tuple[BaselineScore, ...] = ()  # simpler methods

    @property
    def share_new(self) -> float:
        """The share of rows in new classes."""
        return self.n_rows_new / self.n_rows

    @property
    def f1(self) -> float:
        """F1 of a hidden class with the best new class, mean over the hidden classes; NaN without any."""
        return sum(hidden.f1 for hidden in self.hidden) / len(self.hidden) if self.hidden else math.nan

    @property
    def n_found(self) -> int:
        """How many of the hidden classes were found again."""
        return sum(hidden.is_found for hidden in self.hidden)

    def __str__(self) -> str:
        return "\n".join(sentences(self))

    def _repr_html_(self) -> str:
        first, *others = map(escape, sentences(self))
        return f"<p><b>{first}</b></p>" + "".join(f"<p>{sentence}</p>" for sentence in others)


# ---- in plain words --------------------------------------------------------------------------------------------------


def sentences(audit: Audit) -> list[str]:
    """The whole result, one line each."""
    return [headline(audit), *trust(audit), *baseline_sentences(audit), *audit.notes]


def headline(audit: Audit) -> str:
    """The answer with its p-value."""
    p = f"p = {in_words(audit.p_value)}"
    if audit.verdict == "yes":
        return f"Probably yes: {_what(audit)}. Labels are missing there beyond chance ({p})."
    if audit.verdict == "none seen":
        return f"None seen: the labels are distributed as expected if every class has some. {CANNOT_SEE}"
    if audit.n_new:
        return f"Perhaps: {_what(audit)}. But labels may be missing there by chance ({p})."
    return f"Perhaps: no group of rows is a class of its own, but some rows have fewer labels than expected ({p})."


def trust(audit: Audit) -> list[str]:
    """How far to trust the answer: the results with known classes hidden, and with random labels."""
    control = [] if audit.control is None else [f"With random labels the answer is: {audit.control}."]
    if not audit.hidden:
        return control
    start = f"How far to trust this: {count(len(audit.hidden), 'known class was', 'known classes were')} hidden in turn"
    found = f"{audit.n_found} of {len(audit.hidden)} {'was' if audit.n_found == 1 else 'were'} found again."
    lines = [f"{start}, and {found}", *(f"  {hidden_sentence(hidden)}" for hidden in audit.hidden)]
    return [*lines, *control] if audit.verdict == "none seen" else [*lines, CANNOT_SEE, *control]


def hidden_sentence(hidden: HiddenClass) -> str:
    """\"login: 40% found again, the rest was called password (from 12 labels only).\"."""
    return f"{hidden.name}: {percent(hidden.found_share)} found again{rest(hidden)}{if_few_labels(hidden.n_labels)}."


def rest(hidden: HiddenClass) -> str:
    """The class that the other rows were called."""
    if hidden.called is None:
        return ""
    if hidden.called_share + hidden.found_share > 0.99:
        return f", the rest was called {hidden.called}"
    return f", {percent(hidden.called_share)} was called {hidden.called}"


def baseline_sentences(audit: Audit) -> list[str]:
    """Whether a baseline finds hidden classes better than newfound; nothing if none was tried."""
    if not audit.baselines or not audit.hidden:
        return []
    over = f"mean over {count(len(audit.hidden), 'hidden class', 'hidden classes')}"
    better = sorted((one for one in audit.baselines if one.f1 > audit.f1 + MIN_WIN), key=lambda one: -one.f1)
    if not better:
        best = max(audit.baselines, key=lambda one: one.f1)
        beside = f"newfound's F1 is {audit.f1:.2f}, that of {best.title} {best.f1:.2f} ({over})"
        return [f"No baseline is more than {MIN_WIN:g} better at finding hidden classes: {beside}."]
    names = and_list(f"{one.title} (F1 {one.f1:.2f})" for one in better)
    finds, it = ("finds", "it") if len(better) == 1 else ("find", "them")
    sentence = f"{names[0].upper()}{names[1:]} {finds} hidden classes better than newfound (F1 {audit.f1:.2f}; {over})."
    return [f"{sentence} Compare with {it} before you rely on this."]


def in_words(p_value: float) -> str:
    """\"3e-09\", \"0.02\", and never 0."""
    return f"{p_value:.1g}" if p_value >= 1e-99 else "below 1e-99"


def _what(audit: Audit) -> str:
    """\"about 2 kinds of rows (1–3) without labels, 412 rows (34%)\"."""
    low, high = audit.n_new_range
    could_be = f" ({low}–{high})" if low < high else ""
    rows = f"{count(audit.n_rows_new, 'row')} ({percent(audit.share_new)})"
    about = "about " if audit.n_new > 1 or could_be else ""
    return f"{about}{count(audit.n_new, 'kind')} of rows{could_be} without labels, {rows}"
