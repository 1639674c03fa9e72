"""From a run folder to the content of its report; nothing is computed here that the run does not hold."""

from typing import Any

import numpy as np

from newfound.report.content import Calibration, ClassContent, Disagreement, Examples, LatentMap, ReportContent
from newfound.runs.columnar import Columns
from newfound.runs.derived import all_rows_of
from newfound.runs.folder import Run
from newfound.runs.predictions import surest_disagreements
from newfound.runs.scoring import evaluate_run

MAX_DISAGREEMENTS = 24
AS_STORED = ("source", "created", "regime", "termination_condition", "n_rows", "n_labelled", "n_disagreements")


def content_of(run: Run) -> ReportContent:
    """Everything the report of a run shows."""
    table, stored, about, schema = run.predictions, run.examples, run.description, run.schema
    return ReportContent(
        **{name: about[name] for name in (*AS_STORED, "log", "settings", "command")},
        run=run.name,
        discovered=run.discovered,
        flags=tuple(about["flags"]),
        selection=about.get("selection"),
        model=about["model_title"],
        kind=schema.kind,
        image_shape=schema.image_shape,
        feature_names=list(schema.feature_names),
        feature_mean=stored["feature_mean"],
        feature_std=stored["feature_std"],
        classes=_classes(run, table, stored),
        examples=_examples(table, stored),
        map=_map(table, stored),
        disagreements=_disagreements(table, stored),
        history=run.history,
        versions=about["versions"] | {"newfound": about["newfound"]},
        calibration=_calibration(about["calibration"]),
        audit=run.audit,
        evaluation=evaluate_run(run),
    )


def _classes(run: Run, table: Columns, stored: Columns) -> list[ClassContent]:
    position = _positions(stored)
    descriptions = {description.name: description for description in run.descriptions}
    unsure = table["discovered_class"][~table["is_sure"].astype(bool)]
    all_rows = all_rows_of(run.description)

    def positions(rows: np.ndarray) -> np.ndarray:
        return np.array([position[int(row)] for row in rows if row >= 0], dtype=int)

    return [
        ClassContent(
            **vars(summary),
            anchor=f"class-{i}",
            n_unsure=all_rows.n_unsure(summary.components) if all_rows else int((unsure == summary.name).sum()),
            most_confident=positions(stored["prototypes"][i]),
            lowest_confidence=positions(stored["lowest_confidence"][i]),
            generated=stored["generated"][i],
            mean=stored["class_mean"][i],
            description=descriptions.get(summary.name),
        )
        for i, summary in enumerate(run.classes)
    ]


def _positions(stored: Columns) -> dict[int, int]:
    """From the number of a row to its position among those shown."""
    return {int(row): i for i, row in enumerate(stored["shown"])}


def _examples(table: Columns, stored: Columns) -> Examples:
    rows = stored["shown"]
    return Examples(
        X=stored["X"],
        row_ids=table["row_id"][rows],
        predicted=table["class"][rows],
        probability=table["probability"][rows],
        p_new=table["p_new"][rows],
        observed=table["observed_label"][rows],
    )


def _map(table: Columns, stored: Columns) -> LatentMap:
    rows = stored["map_rows"]
    return LatentMap(
        x=stored["map"][:, 0],
        y=stored["map"][:, 1],
        row_ids=table["row_id"][rows],
        discovered=table["discovered_class"][rows],
        is_sure=table["is_sure"][rows].astype(bool),
        predicted=table["class"][rows],
        probability=table["probability"][rows],
        observed=table["observed_label"][rows],
        truth=table["true_class"][rows] if "true_class" in table else None,
    )


def _disagreements(table: Columns, stored: Columns) -> list[Disagreement]:
    position = _positions(stored)
    return [
        Disagreement(
            row_id=str(table["row_id"][row]),
            label=str(table["observed_label"][row]),
            predicted=str(table["class"][row]),
            probability=float(table["probability"][row]),
            position=position.get(int(row)),
        )
        for row in surest_disagreements(table, MAX_DISAGREEMENTS)
    ]


def _calibration(stored: dict[str, Any] | None) -> Calibration | None:
    if stored is None:
        return None
    bins = {name: np.array(stored[name]) for name in ("bin_probability", "bin_accuracy", "bin_rows")}
    return Calibration(
        **bins, expected_calibration_error=stored["expected_calibration_error"], temperature=stored["temperature"]
    )
