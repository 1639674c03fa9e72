"""The user's X and the model's x: checks, which columns are kept, how they are scaled, and the way back."""

from newfound.preprocessing.checks import (
    as_rows,
    check_feature_types,
    check_finite,
    check_groups,
    check_image_shape,
    check_numeric,
    check_shape,
    is_plain_matrix,
    refuse_unknown,
)
from newfound.preprocessing.reach import Reach, about_cells, about_reach
from newfound.preprocessing.scaling import Blocks, Preprocessing, Scaling, decide, is_binary
from newfound.preprocessing.statistics import Moments, SumOverRows
from newfound.preprocessing.wild import about_wild

__all__ = [
    "Blocks",
    "Moments",
    "Preprocessing",
    "Reach",
    "Scaling",
    "SumOverRows",
    "about_cells",
    "about_reach",
    "about_wild",
    "as_rows",
    "check_feature_types",
    "check_finite",
    "check_groups",
    "check_image_shape",
    "check_numeric",
    "check_shape",
    "decide",
    "is_binary",
    "is_plain_matrix",
    "refuse_unknown",
]
