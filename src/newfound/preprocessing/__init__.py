"""The user's X and the model's x: checks, which columns are kept, how they are scaled, and the way back."""

from newfound.preprocessing.checks import (
    as_rows,
    check_feature_types,
    check_finite,
    check_groups,
    check_image_shape,
    check_numeric,
    check_shape,
    refuse_unknown,
)
from newfound.preprocessing.scaling import Blocks, Preprocessing, Scaling, decide, is_binary
from newfound.preprocessing.statistics import Moments, SumOverRows

__all__ = [
    "Blocks",
    "Moments",
    "Preprocessing",
    "Scaling",
    "SumOverRows",
    "as_rows",
    "check_feature_types",
    "check_finite",
    "check_groups",
    "check_image_shape",
    "check_numeric",
    "check_shape",
    "decide",
    "is_binary",
    "refuse_unknown",
]
