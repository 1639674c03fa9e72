"""What each class of a run is: told when the run is written, and again after its classes were changed."""

import json
from pathlib import Path
from typing import Any

from newfound.data import Dataset
from newfound.descriptions import Descriptions, RowSample, describe_classes, sample_of, tree_hints
from newfound.runs.columnar import Columns, write_tensors
from newfound.runs.folder import DESCRIPTIONS, SAMPLE, Run


def write_sample(folder: Path, model: Any, dataset: Dataset, table: Columns) -> RowSample:
    """The rows from which classes can be described without the user's file, drawn from every class."""
    sample = sample_of(model, dataset.X, dataset.columns, table["discovered_class"])
    write_tensors(folder / SAMPLE, {name: part for name, part in sample._asdict().items() if part is not None})
    return sample


def write_descriptions(run: Run, model: Any, table: Columns, sample: RowSample | None = None) -> Descriptions:
    """Describe the classes that `model` has now, by the class that `table` says was discovered for each row.

    Needs nothing but what the run holds, so that it can be called again whenever classes were merged or renamed.
    """
    sample = run.sample if sample is None else sample
    classes = model.fitted_.classes
    hints = tree_hints(model.tree_, classes, model.n_new_range_)
    names = table["discovered_class"][sample.rows]
    described = describe_classes(sample, run.schema.columns, names, classes, hints)
    text = json.dumps([one.to_json() for one in described], indent=1, ensure_ascii=False)
    (run.folder / DESCRIPTIONS).write_text(text, encoding="utf-8")
    return described
