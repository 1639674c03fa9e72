"""What a class is, in the user's own words: what sets it apart, a rule, whom it borders on, a name to suggest.

source_columns ──► shortlists ──► differences · rules ──► short_texts · hints ──► describe ──► Description
"""

from newfound.descriptions.describe import describe, describe_classes, sample_of
from newfound.descriptions.description import Description, Descriptions, Difference, Rule, rule_in_words
from newfound.descriptions.hints import TreeHints, near_and_wide, tree_hints
from newfound.descriptions.row_sample import RowSample

__all__ = [
    "Description",
    "Descriptions",
    "Difference",
    "RowSample",
    "Rule",
    "TreeHints",
    "describe",
    "describe_classes",
    "near_and_wide",
    "rule_in_words",
    "sample_of",
    "tree_hints",
]
