"""What each class of a run is: told when the run is written, and again whenever its classes were changed."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from newfound.data.schema import Column
from newfound.descriptions import Description, Descriptions, describe_classes, sample_of, tree_hints
from newfound.runs.columnar import Columns


def describe_rows(model: Any, X: np.ndarray, columns: Sequence[Column], table: Columns) -> Descriptions:
    """The classes that `model` has now, by the class that `table` says was discovered for each row of X."""
    sample = sample_of(model, X, columns, table["discovered_class"])
    hints = tree_hints(model.tree_, model.fitted_.classes, model.n_new_range_)
    names = table["discovered_class"][sample.rows]
    return describe_classes(sample, columns, names, model.fitted_.classes, hints)


def descriptions_json(described: Descriptions) -> str:
    return json.dumps([one.to_json() for one in described], indent=1, ensure_ascii=False)


def descriptions_from_json(text: str) -> Descriptions:
    return Descriptions(Description.from_json(one) for one in json.loads(text))
