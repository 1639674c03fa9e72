"""The jobs of the command line, without its printing: from a file to a run, and from a run to answers."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from newfound.data import NAMED, DataError, Dataset, read_batches, read_dataset
from newfound.evaluation import Evaluation, evaluate, expected_calibration_error
from newfound.masking import mask_labels
from newfound.run_folder import Run, check_out, column_kinds, predictions_of, write_run

STREAMED = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".feather", ".arrow", ".txt")
Tell = Callable[[str], None]


def parse_classes(text: str, names: Sequence[str]) -> list[str]:
    """Class names from "5-9", "cat,dog" or a mixture; a range is of whole numbers."""
    chosen = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        ends = re.fullmatch(r"(\d+)-(\d+)", part)
        if ends and part not in names:
            chosen += [str(i) for i in range(int(ends[1]), int(ends[2]) + 1)]
        else:
            chosen.append(part)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise DataError(f"Cannot hide {unknown[0]!r}: no row has that label. Labels: {', '.join(names)}.")
    return chosen


def parse_keep(text: str) -> float | int:
    """A share, "20%" or "0.2", or a number of labels, "10"."""
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        keep = int(text) if text.isdigit() else share
    except ValueError:
        keep = -1
    if keep < 0 or (isinstance(keep, float) and keep > 1):
        raise DataError(f"--keep must be a share such as 20% or 0.2, or a number of labels such as 10; got {text!r}.")
    return keep


def mask_dataset(
    dataset: Dataset, hide: str | None, keep: str | None, seed: int, by_group: bool = False
) -> tuple[np.ndarray, np.ndarray | None]:
    """The labels the model may see, and, where any were hidden, the true ones."""
    labels = dataset.labels.astype(str)
    if hide is None and keep is None:
        return labels, None
    if by_group and dataset.groups is None:
        raise DataError("--by-group needs data that says which group each row belongs to, such as har. Leave it out.")
    is_labelled = labels != ""
    masked = labels.copy()
    masked[is_labelled] = mask_labels(
        labels[is_labelled],
        hide=parse_classes(hide or "", dataset.class_names),
        keep=parse_keep(keep or "100%"),
        random_state=seed,
        groups=dataset.groups[is_labelled] if by_group and dataset.groups is not None else None,
    )
    return masked, labels


def fit_run(
    dataset: Dataset,
    out: Path,
    *,
    model: str = "gmdgm",
    settings: dict[str, Any],
    observed: np.ndarray,
    truth: np.ndarray | None = None,
    about: dict[str, Any],
    replace: bool = False,
    tell: Tell = lambda what: None,
) -> Run:
    """Fit a model to a data set and write the run."""
    import warnings

    from newfound import GMDGM, SSVAE

    check_out(out, replace=replace)
    if settings.get("likelihood") == "bernoulli" and dataset.kind == "table":
        settings = settings | {"standardize": "min-max"}
    of_data: dict[str, Any] = {"column_kinds": column_kinds(dataset), "image_shape": dataset.image_shape}
    estimator = {"gmdgm": GMDGM, "ssvae": SSVAE}[model](**of_data, **settings)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", UserWarning)
        estimator.fit(dataset.X, observed)
    for note in notes:
        tell(f"note: {note.message}")
    return write_run(out, estimator, dataset, observed, truth, about | {"model": model}, tell)


def score_blocks(run: Run, source: str, label: str | None = None) -> Iterator[dict[str, np.ndarray]]:
    """Predictions for a file, a block of rows at a time where its format allows, so that memory stays flat."""
    model, layout = run.model, run.layout
    path = Path(source)
    if path.is_file() and layout.kind == "table" and "".join(path.suffixes[-2:]).lower().endswith(STREAMED):
        blocks = read_batches(path, layout, rows=32_768, label=label)
    else:
        blocks = iter([read_dataset(source, layout=layout, **({} if label is None else {"label": label}))])
    for block in blocks:
        yield predictions_of(model, block.X, block.row_ids, block.labels.astype(str))


def predict_file(run: Run, source: str, out: Path, tell: Callable[[int], None] = lambda n_rows: None) -> int:
    """Write predictions for every row of `source` to `out`, CSV or Parquet by its ending; return their number."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    if out.suffix.lower() not in (".csv", ".parquet"):
        raise DataError(f"--out must end in .csv or .parquet, got {out.name!r}. Name another file.")
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}.unfinished-{os.getpid()}")
    writer, n_rows = None, 0
    try:
        for columns in score_blocks(run, source):
            table = pa.table({name: pa.array(column) for name, column in columns.items()})
            if writer is None:
                writer = (
                    pa.csv.CSVWriter(temporary, table.schema)
                    if out.suffix.lower() == ".csv"
                    else pq.ParquetWriter(temporary, table.schema)
                )
            writer.write_table(table)
            n_rows += table.num_rows
            tell(n_rows)
        if writer is not None:
            writer.close()
            os.replace(temporary, out)
    finally:
        temporary.unlink(missing_ok=True)
    return n_rows


def evaluate_file(run: Run, source: str, label: str | None) -> tuple[Evaluation, dict[str, float]]:
    """Compare a run's answers with the labels of a file (or of a named set's test part): counts, and every metric."""
    blocks = list(score_blocks(run, source, label))
    table = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0] if name != "row_id"}
    truth = table["observed_label"]
    has_label = truth != ""
    if not has_label.any():
        column = label or run.layout.label
        where = f" in column {column!r}" if column else ""
        raise DataError(
            f"{source!r} has no label{where} to compare with. Name the column that holds them with --label."
        )
    known = np.array([c["name"] for c in run.classes if not c["is_new"]])
    n_components = sum(len(c["components"]) for c in run.classes)
    evaluation = evaluate(truth[has_label], table["component"][has_label], n_components, known)
    of_known = np.isin(truth, known)
    return evaluation, evaluation.metrics | {
        "expected calibration error, known classes": expected_calibration_error(
            table["probability"][of_known], (table["class"] == truth)[of_known]
        ),
        "mean entropy of q(y|x), known classes": _mean(table["entropy"][of_known]),
        "mean entropy of q(y|x), new classes": _mean(table["entropy"][has_label & ~of_known]),
    }


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def named_sets() -> list[dict[str, Any]]:
    """The sets that can be had by name, and whether their files are here."""
    from newfound.data import find_named

    return [
        {
            "name": known.name,
            "title": known.title,
            "train": known.n_train,
            "test": known.n_test,
            "features": known.n_features,
            "classes": known.n_classes,
            "here": not known.files or find_named(known.name) is not None,
            "licence": known.licence,
        }
        for known in NAMED.values()
    ]
