"""Are there classes that nobody labelled? A verdict, and how far to trust it.

verdict (labels that are missing) · hidden_classes (each known class hidden in turn) · baseline_scores (what others
make of the same) ──► make_audit ──► Audit
"""

from newfound.auditing.audit_record import (
    FEW_LABELS,
    Audit,
    BaselineScore,
    HiddenClass,
    baseline_sentences,
    headline,
    hidden_sentence,
    sentences,
    trust,
)
from newfound.auditing.make_audit import Given, audit, audit_rows

__all__ = [
    "FEW_LABELS",
    "Audit",
    "BaselineScore",
    "Given",
    "HiddenClass",
    "audit",
    "audit_rows",
    "baseline_sentences",
    "headline",
    "hidden_sentence",
    "sentences",
    "trust",
]
