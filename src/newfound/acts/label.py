"""Labels of some rows. They change no class now: the next fit learns from them."""

from collections.abc import Sequence
from typing import Any

from newfound.fitted import Fitted
from newfound.wording import count

Given = Sequence[Sequence[Any]]  # pairs of a row's number and its label


def label(fitted: Fitted, given: Given, corrections: Given = ()) -> Fitted:
    """Labels of rows that had none, and, kept apart, other labels for rows that had one."""
    n_rows = len(fitted.row_components)
    for row, _ in [*given, *corrections]:
        if not 0 <= row < n_rows:
            raise ValueError(f"There is no row {row}: expected 0 to {n_rows - 1:,}.")
    return fitted


def say_label(before: Fitted, after: Fitted, given: Given, corrections: Given = ()) -> str:
    """\"20 rows are labelled, of which 3 are corrections.\"."""
    n = len(given) + len(corrections)
    corrected = f", {len(corrections):,} of them with another label than before" if corrections else ""
    return f"{count(n, 'row is', 'rows are')} labelled{corrected}; a refit takes that in."
