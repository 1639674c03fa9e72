"""Labels that a person gives after a fit: which rows to label next, and a fit that takes in what was labelled.

suggestions ──► a person ──► given (which labels are learned from) ──► lineage (which classes go on) ──► correction (of
the classes of rows) ──► networks that learn it (`refitting`) ──► changes

Pure functions; `LabellingLoop` is what an estimator has of them.
"""

from newfound.labelling.changes import Changes, HeldOut, Named, compare, sentences
from newfound.labelling.labelling_loop import LabellingLoop
from newfound.labelling.suggestions import Suggestions, suggest_rows

__all__ = ["Changes", "HeldOut", "LabellingLoop", "Named", "Suggestions", "compare", "sentences", "suggest_rows"]
