"""The content of a report without its looks: plain arrays and text, gathered from the files of a run."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec.structs import asdict

from newfound.evaluation import Evaluation
from newfound.explain.audit_record import Audit
from newfound.explain.wording import Description
from newfound.runs.answer import Discovered
from newfound.runs.predict import evaluate_run, surest_disagreements
from newfound.runs.records import Calibration, ClassSummary, Columns
from newfound.runs.run import Run, SelectionInWords


class ClassContent(ClassSummary, frozen=True, kw_only=True):
    """One class: the run's summary of it, and the rows that its card shows."""

    anchor: str  # of its card
    n_unsure: int  # of the rows discovered as this class
    most_confident: np.ndarray  # positions in `Examples`
    lowest_confidence: np.ndarray  # positions in `Examples`, the lowest first
    generated: np.ndarray  # (a few, features): means of generated rows, in the user's units
    mean: np.ndarray  # (features): of its rows, in the user's units; nan where it has none
    description: Description | None = None  # in the user's units and category names


@dataclass(frozen=True)
class Examples:
    """Rows that are shown: X in the user's units, with predictions and labels."""

    X: np.ndarray
    row_ids: np.ndarray
    predicted: np.ndarray  # names
    probability: np.ndarray
    p_new: np.ndarray
    observed: np.ndarray  # names, "" where there is no label


@dataclass(frozen=True)
class LatentMap:
    """Rows in two dimensions: neighbours in latent space lie side by side."""

    x: np.ndarray
    y: np.ndarray
    row_ids: np.ndarray
    discovered: np.ndarray  # names
    is_sure: np.ndarray
    predicted: np.ndarray  # names
    probability: np.ndarray
    observed: np.ndarray
    truth: np.ndarray | None = None


@dataclass(frozen=True)
class Disagreement:
    """A label that may be wrong: another class is more probable."""

    row_id: str
    label: str
    predicted: str
    probability: float
    position: int | None = None  # in `Examples`, where the row is there


@dataclass(frozen=True)
class ReportContent:
    """Everything one report shows."""

    run: str  # the name of its folder
    source: str  # the file or data set, as the user named it
    created: str
    model: str  # its title, such as "GM-DGM"
    regime: str
    termination_condition: str
    n_rows: int
    n_labelled: int
    n_disagreements: int  # rows with a label that is not their predicted class
    discovered: Discovered  # how many new classes, how they were found, and how sure the model is
    kind: str  # "table", "images" or "matrix"
    image_shape: tuple[int, ...] | None
    feature_names: list[str]
    feature_mean: np.ndarray  # over all rows, in the user's units
    feature_std: np.ndarray
    classes: list[ClassContent]
    examples: Examples
    map: LatentMap
    history: dict[str, np.ndarray]
    log: list[str]  # the preprocessing log, in sentences
    settings: dict[str, Any]  # the estimator's keywords; "config" holds all other settings in groups
    versions: dict[str, str]
    command: str  # to repeat the run
    disagreements: list[Disagreement] = field(default_factory=list)  # the most probable label errors
    flags: tuple[str, ...] = ()  # what a person should check before trusting the answer
    selection: SelectionInWords | None = None  # whether labels look selected at random
    calibration: Calibration | None = None
    audit: Audit | None = None  # whether there are classes without labels
    evaluation: Evaluation | None = None  # if true classes are known

    @property
    def known(self) -> list[ClassContent]:
        """The known classes, largest first."""
        return sorted((c for c in self.classes if not c.is_new), key=lambda c: -c.n_discovered)

    @property
    def new(self) -> list[ClassContent]:
        """The new classes with at least two rows, largest first."""
        return sorted((c for c in self.classes if c.is_new and c.n_discovered > 1), key=lambda c: -c.n_discovered)


# ---- From a run folder to the content of its report; everything is read from the run's files ----

MAX_DISAGREEMENTS = 24
AS_STORED = ("source", "created", "regime", "termination_condition", "n_rows", "n_labelled", "n_disagreements")


def content_of(run: Run) -> ReportContent:
    """Everything the report of a run shows."""
    table, stored, about, schema = run.predictions, run.examples, run.description, run.schema
    shown = stored["shown"]
    position = {int(row): i for i, row in enumerate(shown)}  # from the number of a row to its place in `Examples`
    return ReportContent(
        **{name: getattr(about, name) for name in (*AS_STORED, "log", "settings", "command")},
        run=run.name,
        discovered=run.discovered,
        flags=tuple(about.flags),
        selection=about.selection,
        model=about.model_title,
        kind=schema.kind,
        image_shape=schema.image_shape,
        feature_names=list(schema.feature_names),
        feature_mean=stored["feature_mean"],
        feature_std=stored["feature_std"],
        classes=_classes(run, table, stored, position),
        examples=Examples(
            X=stored["X"],
            row_ids=table["row_id"][shown],
            predicted=table["class"][shown],
            probability=table["probability"][shown],
            p_new=table["p_new"][shown],
            observed=table["observed_label"][shown],
        ),
        map=_map(table, stored),
        disagreements=_disagreements(table, position),
        history=run.history,
        versions=about.versions | {"newfound": about.newfound},
        calibration=about.calibration,
        audit=run.audit,
        evaluation=evaluate_run(run),
    )


def _classes(run: Run, table: Columns, stored: Columns, position: dict[int, int]) -> list[ClassContent]:
    descriptions = {description.name: description for description in run.descriptions}
    unsure = table["discovered_class"][~table["is_sure"].astype(bool)]
    all_rows = run.description.all_rows

    def positions(rows: np.ndarray) -> np.ndarray:
        return np.array([position[int(row)] for row in rows if row >= 0], dtype=int)

    return [
        ClassContent(
            **asdict(summary),
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


def _disagreements(table: Columns, position: dict[int, int]) -> list[Disagreement]:
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
