"""From the text of an option to its value."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from newfound.errors import DataError
from newfound.wording import short_list, shortened

if TYPE_CHECKING:
    from newfound.data import Dataset
    from newfound.labels import Labels


MOST_DIGITS = 18  # of a whole number


class Masking(NamedTuple):
    """Which labels are hidden on purpose: the options as they were given, which is how a run stores them."""

    hide: str | None
    keep: str | None
    by_group: bool
    seed: int

    @property
    def hides_any(self) -> bool:
        return self.hide is not None or self.keep is not None


def observed_labels(dataset: "Dataset", masking: Masking) -> "Labels | None":
    """The labels that the model may see; None where none are hidden."""
    from newfound.masking import hide_labels

    if not masking.hides_any:
        return None
    if masking.by_group and dataset.groups is None:
        raise DataError("--by-group needs data that has groups, such as har. Leave it out.")
    labels = dataset.labels.observed()
    return hide_labels(
        labels,
        hide=parse_classes(masking.hide or "", labels.classes.tolist()),
        keep=parse_keep(masking.keep or "100%"),
        random_state=masking.seed,
        groups=dataset.groups if masking.by_group else None,
    )


def parse_classes(text: str, names: Sequence[str]) -> list[str]:
    """Class names from "5-9", "cat,dog" or a mixture; a range is of whole numbers."""
    chosen = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        ends = re.fullmatch(r"(\d+)-(\d+)", part)
        if ends and part not in names:
            chosen += _range(part, ends[1], ends[2], names)
        else:
            chosen.append(part)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise DataError(
            f"--hide cannot hide {shortened(unknown[0])!r}: no row has that label. Labels: {short_list(names, 20)}."
        )
    return chosen


def _range(part: str, first: str, last: str, names: Sequence[str]) -> list[str]:
    """Every whole number of a range, which must be of labels: so it is no longer than these are many."""
    low, high = (int(end[:MOST_DIGITS]) for end in (first, last))
    if max(len(first), len(last)) > MOST_DIGITS or high - low >= len(names):
        raise DataError(
            f"--hide {shortened(part)!r} is a range of more numbers than there are labels: {short_list(names, 20)}. "
            f"Hide labels that rows have."
        )
    if low > high:
        raise DataError(f"--hide {shortened(part)!r} is no range: write the smaller number first, such as 5-9.")
    return [str(i) for i in range(low, high + 1)]


def parse_keep(text: str) -> float | int:
    """A share, "20%" or "0.2", or a number of labels, "10"."""
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        keep = int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else share
    except ValueError:
        keep = -1
    if not keep >= 0 or (isinstance(keep, float) and keep > 1):
        raise DataError(
            f"--keep must be a share such as 20% or 0.2, or a number of labels such as 10; got {shortened(text)!r}."
        )
    return keep


def number_or_auto(option: str, text: str) -> int | str:
    if text == "auto":
        return text
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise ValueError(f"{option} must be a whole number or auto; got {shortened(text)!r}.")
    return int(text)


def one_of(option: str, text: str, names: Sequence[str]) -> str:
    if text not in names:
        raise ValueError(f"{option} must be {' or '.join(names)}; got {text!r}.")
    return text
