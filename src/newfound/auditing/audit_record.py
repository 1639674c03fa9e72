"""What an audit says, as one frozen record that JSON keeps."""

from dataclasses import asdict, dataclass
from typing import Any

from newfound.auditing.verdict import Answer


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

    @property
    def is_found(self) -> bool:
        """Whether one new class is, by and large, this class."""
        return self.f1 >= 0.5


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

    @property
    def share_new(self) -> float:
        """The share of rows in new classes."""
        return self.n_rows_new / self.n_rows

    @property
    def n_found(self) -> int:
        """How many of the hidden classes were found again."""
        return sum(hidden.is_found for hidden in self.hidden)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers."""
        stored = asdict(self)
        return stored | {"n_new_range": list(self.n_new_range), "notes": list(self.notes), "hidden": stored["hidden"]}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Audit":
        hidden = tuple(HiddenClass(**one) for one in stored["hidden"])
        low, high = stored["n_new_range"]
        return cls(**stored | {"hidden": hidden, "n_new_range": (low, high), "notes": tuple(stored["notes"])})

    def __str__(self) -> str:
        from newfound.auditing.audit_sentences import sentences

        return "\n".join(sentences(self))

    def _repr_html_(self) -> str:
        from html import escape

        from newfound.auditing.audit_sentences import sentences

        first, *others = map(escape, sentences(self))
        return f"<p><b>{first}</b></p>" + "".join(f"<p>{sentence}</p>" for sentence in others)
