"""What an audit says: one frozen record that JSON keeps, and its plain words, the answer first."""

import math
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal

from newfound._internal.words import and_list, count, percent

Answer = Literal["yes", "perhaps", "none seen"]

MARGIN = 0.02  # of F1: less is no win
FEW_LABELS_OF_A_CLASS = 30  # a share of fewer is said to rest on few
CANNOT_SEE = "A class that looks like a known one cannot be seen this way."


@dataclass(frozen=True)
class HiddenClass:
    """What became of a known class whose every label was hidden."""

    name: str
    n_labels: int  # all shares below are of these
    found_share: float  # called new
    called: str | None  # the known class that most of the others were called
    called_share: float
    f1: float  # of the class with the new class that matches it best, on labelled rows
    auroc: float  # of P(new): rows of this class against rows of the other known classes, judged out of fold
    known_accuracy: float | None = None  # of the other known classes, judged out of fold

    @property
    def is_found(self) -> bool:
        """Whether one new class is, by and large, this class."""
        return self.f1 >= 0.5


@dataclass(frozen=True)
class BaselineScore:
    """How another method fared with the same classes hidden, in the same rows and features."""

    title: str  # "k-means from the class means"
    f1: float  # as newfound's: mean over the hidden classes
    n_classes: int  # that it made, mean over the rounds; it is told the number that newfound found, unless it finds one
    known_accuracy: float | None  # on labels of known classes that it did not see; None where there are too few


@dataclass(frozen=True)
class Audit:
    """Whether there are classes that nobody labelled; `print` says it in sentences."""

    verdict: Answer
    p_value: float  # probability of so few labels among the rows called new, were they of known classes
    n_new: int
    n_new_range: tuple[int, int]
    n_rows_new: int  # rows in new classes
    n_rows: int
    n_labels: int
    hidden: tuple[HiddenClass, ...]  # each known class hidden in turn
    control: Answer | None  # the verdict with the labels handed out to random rows; None where that was not tried
    n_rows_hidden: int  # rows of the sample in which classes were hidden
    notes: tuple[str, ...] = ()
    baselines: tuple[BaselineScore, ...] = ()  # what one would use instead

    @property
    def share_new(self) -> float:
        """The share of rows in new classes."""
        return self.n_rows_new / self.n_rows

    @property
    def f1(self) -> float:
        """Of a hidden class with the new class that matches it best, mean over the hidden classes; NaN without any."""
        return sum(hidden.f1 for hidden in self.hidden) / len(self.hidden) if self.hidden else math.nan

    @property
    def n_found(self) -> int:
        """How many of the hidden classes were found again."""
        return sum(hidden.is_found for hidden in self.hidden)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Audit":
        hidden = tuple(HiddenClass(**one) for one in stored["hidden"])
        low, high = stored["n_new_range"]
        baselines = tuple(BaselineScore(**one) for one in stored.get("baselines", ()))  # none before they were kept
        read = {"hidden": hidden, "n_new_range": (low, high), "notes": tuple(stored["notes"]), "baselines": baselines}
        return cls(**stored | read)

    def __str__(self) -> str:
        return "\n".join(sentences(self))

    def _repr_html_(self) -> str:
        first, *others = map(escape, sentences(self))
        return f"<p><b>{first}</b></p>" + "".join(f"<p>{sentence}</p>" for sentence in others)


# ---- in plain words --------------------------------------------------------------------------------------------------


def sentences(audit: Audit) -> list[str]:
    """The whole of it, a line each."""
    return [headline(audit), *trust(audit), *baseline_sentences(audit), *audit.notes]


def headline(audit: Audit) -> str:
    """The answer, with what it rests on."""
    p = f"p = {in_words(audit.p_value)}"
    if audit.verdict == "yes":
        return f"Probably yes: {_what(audit)}. Labels are missing there beyond chance ({p})."
    if audit.verdict == "none seen":
        return f"None seen: the labels are where they should be if every class had some. {CANNOT_SEE}"
    if audit.n_new:
        return f"Perhaps: {_what(audit)}. But so few labels there may be chance ({p})."
    return f"Perhaps: no group of rows is a class of its own, but labels are scarce somewhere ({p})."


def trust(audit: Audit) -> list[str]:
    """How far to trust the answer: what became of known classes that were hidden."""
    control = [] if audit.control is None else [f"With labels handed out at random it says: {audit.control}."]
    if not audit.hidden:
        return control
    start = f"How far to trust this: {count(len(audit.hidden), 'known class was', 'known classes were')} hidden in turn"
    found = f"{audit.n_found} of {len(audit.hidden)} {'was' if audit.n_found == 1 else 'were'} found again."
    lines = [f"{start}, and {found}", *(f"  {hidden_sentence(hidden)}" for hidden in audit.hidden)]
    return [*lines, *control] if audit.verdict == "none seen" else [*lines, CANNOT_SEE, *control]


def hidden_sentence(hidden: HiddenClass) -> str:
    """\"login: 40% found again, the rest was called password (rests on 12 labels only).\"."""
    few = f" (rests on {count(hidden.n_labels, 'label')} only)" if hidden.n_labels < FEW_LABELS_OF_A_CLASS else ""
    return f"{hidden.name}: {percent(hidden.found_share)} found again{rest(hidden)}{few}."


def rest(hidden: HiddenClass) -> str:
    """What became of the rows that were not called new."""
    if hidden.called is None:
        return ""
    if hidden.called_share + hidden.found_share > 0.99:
        return f", the rest was called {hidden.called}"
    return f", {percent(hidden.called_share)} was called {hidden.called}"


def baseline_sentences(audit: Audit) -> list[str]:
    """Whether a baseline finds hidden classes better than newfound does; nothing where none was tried."""
    if not audit.baselines or not audit.hidden:
        return []
    over = f"mean over {count(len(audit.hidden), 'hidden class', 'hidden classes')}"
    better = sorted((one for one in audit.baselines if one.f1 > audit.f1 + MARGIN), key=lambda one: -one.f1)
    if not better:
        best = max(audit.baselines, key=lambda one: one.f1)
        beside = f"newfound's F1 is {audit.f1:.2f}, that of {best.title} {best.f1:.2f} ({over})"
        return [f"No baseline finds hidden classes better: {beside}."]
    names = and_list(f"{one.title} (F1 {one.f1:.2f})" for one in better)
    finds, it = ("finds", "it") if len(better) == 1 else ("find", "them")
    said = f"{names[0].upper()}{names[1:]} {finds} hidden classes better than newfound (F1 {audit.f1:.2f}; {over})."
    return [f"{said} Compare with {it} before you rely on this."]


def in_words(p_value: float) -> str:
    """\"3e-09\", \"0.02\", and never 0."""
    return f"{p_value:.1g}" if p_value >= 1e-99 else "below 1e-99"


def _what(audit: Audit) -> str:
    """\"about 2 kinds of rows (1–3) that nobody labelled, 412 rows (34%)\"."""
    low, high = audit.n_new_range
    could_be = f" ({low}–{high})" if low < high else ""
    rows = f"{count(audit.n_rows_new, 'row')} ({percent(audit.share_new)})"
    about = "about " if audit.n_new > 1 or could_be else ""
    return f"{about}{count(audit.n_new, 'kind')} of rows{could_be} that nobody labelled, {rows}"
