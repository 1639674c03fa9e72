"""Are there classes that nobody labelled? A verdict, and how far to trust it.

verdict (labels that are missing) · hidden_classes (each known class hidden in turn) ──► make_audit ──► Audit
"""

from newfound.auditing.audit_record import (
    FEW_LABELS,
    Audit,
    HiddenClass,
    headline,
    hidden_sentence,
    sentences,
    trust,
)
from newfound.auditing.make_audit import Given, audit, audit_rows

__all__ = [
    "FEW_LABELS",
    "Audit",
    "Given",
    "HiddenClass",
    "audit",
    "audit_rows",
    "headline",
    "hidden_sentence",
    "sentences",
    "trust",
]
