"""From a run folder to the content of its report; nothing is computed here that the run does not hold."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from newfound.report.content import Calibration, ClassContent, Examples, LatentMap, ReportContent
from newfound.runs.class_summaries import ClassSummary
from newfound.runs.columnar import Columns
from newfound.runs.folder import Run
from newfound.runs.scoring import evaluate_run


def content_of(run: Run) -> ReportContent:
    """Everything the report of a run shows."""
    table, stored, about, schema = run.predictions, run.examples, run.description, run.schema
    as_stored = (
        "source",
        "created",
        "regime",
        "termination_condition",
        "n_rows",
        "n_labelled",
        "n_disagreements",
    )
    return ReportContent(
        **{name: about[name] for name in (*as_stored, "log", "settings", "command")},
        discovered=run.discovered,
        selection=about.get("selection"),
        title=f"What newfound learned from {about['source']}",
        model=about["model_title"],
        kind=schema.kind,
        image_shape=schema.image_shape,
        feature_names=list(schema.feature_names),
        feature_mean=stored["feature_mean"],
        feature_std=stored["feature_std"],
        classes=_classes(run.classes, stored),
        examples=_examples(table, stored),
        map=_map(table, stored),
        history=run.history,
        versions=about["versions"] | {"newfound": about["newfound"]},
        calibration=_calibration(about["calibration"]),
        audit=run.audit,
        evaluation=evaluate_run(run),
    )


def _classes(summaries: Sequence[ClassSummary], stored: Columns) -> list[ClassContent]:
    position = {int(row): i for i, row in enumerate(stored["shown"])}

    def positions(rows: np.ndarray) -> np.ndarray:
        return np.array([position[int(row)] for row in rows if row >= 0], dtype=int)

    return [
        ClassContent(
            **vars(summary),
            most_confident=positions(stored["prototypes"][i]),
            lowest_confidence=positions(stored["lowest_confidence"][i]),
            generated=stored["generated"][i],
            mean=stored["class_mean"][i],
        )
        for i, summary in enumerate(summaries)
    ]


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
        predicted=table["class"][rows],
        probability=table["probability"][rows],
        observed=table["observed_label"][rows],
        truth=table["true_class"][rows] if "true_class" in table else None,
    )


def _calibration(stored: dict[str, Any] | None) -> Calibration | None:
    if stored is None:
        return None
    bins = {name: np.array(stored[name]) for name in ("bin_probability", "bin_accuracy", "bin_rows")}
    return Calibration(
        **bins, expected_calibration_error=stored["expected_calibration_error"], temperature=stored["temperature"]
    )
