"""What is refused of labels and of the number of new classes, before anything is computed."""

from newfound.classes import Classes
from newfound.labels import Labels


def check_number(labels: Labels, n_new: int | str) -> None:
    """Refuse a number of new classes that cannot be found among these rows."""
    if labels.n_unlabelled == 0 and n_new in (0, "auto"):
        check_classes(labels, Classes.one_component_each(labels.classes, 0))
    if n_new == "auto":
        return
    if len(labels.classes) == 0 and n_new == 0:
        raise ValueError(
            "There is nothing to learn: y has no labels and n_new = 0. Give some labels, or set n_new to the "
            "number of classes you expect, or leave it at 'auto' to find it."
        )
    if labels.n_unlabelled == 0 and int(n_new) > 0:
        raise ValueError(
            f"All {len(labels)} rows have a label, so no new class can be found among them; expected n_new = 0, got "
            f"{n_new}. Set n_new = 0 (or 'auto'), or mark the rows whose class is open with -1."
        )
    if int(n_new) > labels.n_unlabelled:
        raise ValueError(
            f"n_new must be at most the number of unlabelled rows, {labels.n_unlabelled}; got {n_new}. "
            f"Lower n_new or give more rows without a label."
        )


def check_classes(labels: Labels, classes: Classes) -> None:
    """Refuse to tell one class from none."""
    n_new = len(classes) - classes.n_known
    if len(classes) < 2:
        raise ValueError(
            f"There is one class only (n_samples = {len(labels)}, {classes.n_known} known and {n_new} new); expected "
            f"at least two. Give labels of another class, or set n_new to 1 or more and leave some rows unlabelled."
        )


def check_validation(labels: Labels, validation_fraction: float, *, chooses_by_elbo: bool) -> None:
    """Refuse labels that cannot be held out, and choices that would need some that are."""
    if validation_fraction > 0 and len(labels.classes) and labels.counts.min() < 2:
        rare = labels.classes[labels.counts.argmin()].item()
        raise ValueError(
            f"Every known class needs at least 2 labels, one to learn from and one for validation; class {rare!r} has "
            f"1. Label another row of it, or set its label to -1 to let it be discovered, or set "
            f"validation_fraction = 0 to hold nothing out."
        )
    if validation_fraction == 0 and chooses_by_elbo:
        raise ValueError(
            "early_stopping and n_init > 1 choose by the validation ELBO, but validation_fraction = 0 holds nothing "
            "out. Set validation_fraction to 0.1, say."
        )
