"""What a person decides about classes: what one is called, which are one, which is two, how many, which is none.

Each act is a function from a fitted model to another one, in a file of its own, and one line in `ACTS`. It changes
which class a component belongs to, never which component a row belongs to (`classes`).
"""

from newfound.acts.class_acts import ClassActs
from newfound.acts.registry import ACTS, Act, perform

__all__ = ["ACTS", "Act", "ClassActs", "perform"]
