"""What a new class is, in the user's own words: what sets it apart, a rule, whom it borders on, a name to suggest."""

from newfound.descriptions.description import Description, Difference, Rule

__all__ = ["Description", "Difference", "Rule"]
