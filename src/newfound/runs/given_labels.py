"""Labels that come back in a file: a table with ids of rows and a column of labels, or what Label Studio exports."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from newfound.data.cells import text
from newfound.data.formats import is_table
from newfound.data.table_format import ColumnSelection
from newfound.data.table_sources import TableFile
from newfound.errors import DataError
from newfound.labels import means_unlabelled
from newfound.runs.folder import Run
from newfound.runs.label_studio import read_export
from newfound.runs.suggestion_files import LABEL, OWN_LABEL, ROW_ID
from newfound.wording import count, quoted_list


class GivenLabels(NamedTuple):
    """Pairs of a row's number and its label, as an act holds them."""

    given: list[tuple[int, str]]  # rows that had no label
    corrections: list[tuple[int, str]]  # rows that had another one
    n_empty: int  # entries without a label
    n_same: int  # rows that already had this label

    def arguments(self) -> dict[str, Any]:
        """Of the act `label`."""
        return {"given": [list(pair) for pair in self.given], "corrections": [list(pair) for pair in self.corrections]}


def read_given(run: Run, path: Path) -> GivenLabels:
    """The labels in a file, each with the row of the run that it is of; what cannot be right is refused."""
    entries = list(read_export(path) if path.suffix.lower() == ".json" else _read_table(run, path))
    labelled = [(row_id, label.strip()) for row_id, label in entries if not means_unlabelled(label)]
    if not labelled:
        raise DataError(
            f"{path.name!r} holds no label: {count(len(entries), 'row')}, all without. Fill in the column of labels."
        )
    labels = _one_each(labelled, path)
    rows = _rows_of(run, labels, path)
    now = current_labels(run)
    pairs = [(rows[row_id], label) for row_id, label in labels.items()]
    return GivenLabels(
        given=[(row, label) for row, label in pairs if now[row] == ""],
        corrections=[(row, label) for row, label in pairs if now[row] not in ("", label)],
        n_empty=len(entries) - len(labelled),
        n_same=sum(now[row] == label for row, label in pairs),
    )


def labels_since(run: Run) -> dict[int, str]:
    """By row number, the labels given since the run was made; the later one counts."""
    acts = [act.arguments for act in run.acts_in_effect if act.act == "label"]
    return {row: label for act in acts for row, label in (*act["given"], *act["corrections"])}


def current_labels(run: Run) -> np.ndarray:
    """The label of each row by its name now, "" where there is none: those given since win."""
    labels = run.model.fitted_.classes.called_now(run.rows.observed).astype(object)
    for row, label in labels_since(run).items():
        labels[row] = label
    return labels.astype(str)


def _read_table(run: Run, path: Path) -> Iterator[tuple[str, str]]:
    if not is_table(path):
        raise DataError(
            f"{path.name!r} must be a table, such as a CSV with the columns {ROW_ID} and {LABEL}, or the .json that "
            f"Label Studio exports."
        )
    table = TableFile(path)
    id_column = _first_of(table, [ROW_ID, run.schema.id_column, "row_id", "file"], "ids of the rows")
    label_column = _first_of(table, [OWN_LABEL, LABEL, run.schema.label_column], "labels")
    cells = table.read(ColumnSelection([id_column, label_column], text={id_column, label_column}))
    ids, labels = (text(cells.column(name)).fill_null("").to_pylist() for name in (id_column, label_column))
    return zip(ids, labels, strict=True)


def _first_of(table: TableFile, names: list[str | None], what: str) -> str:
    wanted = [name for name in dict.fromkeys(names) if name is not None]
    found = next((name for name in wanted if name in table.names), None)
    if found is None:
        raise DataError(
            f"{table.where} has no column for the {what}: expected {' or '.join(map(repr, wanted))}, got "
            f"{quoted_list(table.names, 10)}. Rename the column."
        )
    return found


def _one_each(labelled: list[tuple[str, str]], path: Path) -> dict[str, str]:
    labels: dict[str, str] = {}
    for row_id, label in labelled:
        if labels.setdefault(row_id, label) != label:
            raise DataError(
                f"{path.name!r} gives the row {row_id!r} two labels, {labels[row_id]!r} and {label!r}. Keep one."
            )
    return labels


def _rows_of(run: Run, labels: dict[str, str], path: Path) -> dict[str, int]:
    ids, first, n = np.unique(run.rows.row_ids.astype(str), return_index=True, return_counts=True)
    row_of = dict(zip(ids.tolist(), first.tolist(), strict=True))
    unknown = [row_id for row_id in labels if row_id not in row_of]
    if unknown:
        raise DataError(
            f"{path.name!r} has {count(len(unknown), 'row')} that the run does not have: {quoted_list(unknown)}. The "
            f"ids must be those of the run, such as {run.rows.row_ids[0]!r}."
        )
    repeated = set(ids[n > 1].tolist()) & labels.keys()
    if repeated:
        raise DataError(
            f"More than one row of the run has the id {sorted(repeated)[0]!r}, so it cannot be told which is meant. "
            f"Fit with ids that differ."
        )
    return row_of
