"""Are there classes that nobody labelled? A verdict, and how far to trust it.

verdict (labels that are missing) · hidden_classes (each known class hidden in turn) ──► Audit ──► sentences
"""

from newfound.auditing.audit_record import Audit, HiddenClass
from newfound.auditing.audit_sentences import headline, hidden_sentence, sentences, trust
from newfound.auditing.make_audit import Given, audit, audit_rows

__all__ = ["Audit", "Given", "HiddenClass", "audit", "audit_rows", "headline", "hidden_sentence", "sentences", "trust"]
