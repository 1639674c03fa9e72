"""From a fitted model, and later from a run folder, to the content of a report."""

from typing import TYPE_CHECKING, Any

import numpy as np

from newfound.data import Dataset
from newfound.evaluation import Evaluation, evaluate
from newfound.report.content import Calibration, ClassContent, Examples, Map, ReportContent

if TYPE_CHECKING:
    from newfound.run_folder import Run

N_TYPICAL, N_DOUBTFUL, N_GENERATED = 12, 6, 8
MOST_ON_MAP = 2000
MODEL_NAMES = {"gmdgm": "GM-DGM", "ssvae": "SSVAE"}


def class_summaries(model: Any, table: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Each class with its components, size, labels and confidence."""
    summaries = []
    for i, name in enumerate(model.classes_.astype(str)):
        of_class = table["class"] == name
        summaries.append(
            {
                "name": name,
                "is_new": bool(model.is_new_[i]),
                "components": np.flatnonzero(model.component_class_ == i).tolist(),
                "n_rows": int(of_class.sum()),
                "n_observed": int((table["observed_label"] == name).sum()),
                "confidence": float(table["probability"][of_class].mean()) if of_class.any() else None,
            }
        )
    return summaries


def choose_examples(model: Any, dataset: Dataset, table: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The rows a report shows, by their numbers; their X; the map; means of the classes; made-up rows."""
    names = model.classes_.astype(str)
    typical, doubtful, means, generated = [], [], [], []
    for name, own_name in zip(names, model.classes_, strict=True):
        rows = np.flatnonzero(table["class"] == name)
        surest_first = rows[np.argsort(-table["probability"][rows], kind="stable")]
        typical.append(_padded(surest_first[:N_TYPICAL], N_TYPICAL))
        doubtful.append(_padded(surest_first[::-1][:N_DOUBTFUL], N_DOUBTFUL))
        means.append(dataset.X[rows].mean(axis=0) if len(rows) else np.full(dataset.X.shape[1], np.nan))
        generated.append(model.sample(N_GENERATED, of=own_name, as_means=True, random_state=0))
    shown = np.unique(np.concatenate([*typical, *doubtful]))
    shown = shown[shown >= 0]
    on_map = np.sort(np.random.default_rng(0).permutation(len(dataset))[:MOST_ON_MAP])
    return {
        "typical": np.stack(typical),
        "doubtful": np.stack(doubtful),
        "shown": shown,
        "X": dataset.X[shown],
        "map_rows": on_map,
        "map": layout_map(model.transform(dataset.X[on_map])),
        "class_mean": np.stack(means).astype(np.float32),
        "generated": np.stack(generated).astype(np.float32),
        "feature_mean": dataset.X.mean(axis=0, dtype=np.float64),
        "feature_sd": dataset.X.std(axis=0, dtype=np.float64),
    }


def _padded(rows: np.ndarray, n: int) -> np.ndarray:
    return np.concatenate([rows, np.full(n - len(rows), -1)]).astype(np.int64)


def layout_map(z: np.ndarray) -> np.ndarray:
    """Latent positions in two dimensions: by t-SNE, or by principal components where rows are few."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if z.shape[1] <= 2 or len(z) < 50:
        return PCA(2).fit_transform(z) if min(z.shape) >= 2 else np.column_stack([z[:, :1], np.zeros(len(z))])
    return TSNE(2, init="pca", perplexity=30, max_iter=500, random_state=0).fit_transform(z)


def content_of(run: "Run") -> ReportContent:
    """Everything the report of a run shows, from its folder alone."""
    table, stored, about = run.predictions, run.examples, run.description
    evaluation = evaluation_of(run, table)
    calibration = about["calibration"]
    return ReportContent(
        title=f"What newfound learned from {about['source']}",
        source=about["source"],
        created=about["created"],
        model=MODEL_NAMES[about["model"]],
        regime=about["regime"],
        ending=about["ending"],
        n_rows=about["n_rows"],
        n_labelled=about["n_labelled"],
        n_disagreements=about["n_disagreements"],
        kind=run.layout.kind,
        image_shape=run.layout.image_shape,
        feature_names=run.layout.feature_names,
        feature_mean=stored["feature_mean"],
        feature_sd=stored["feature_sd"],
        classes=_classes(run.classes, stored),
        examples=_examples(table, stored),
        map=_map(table, stored),
        history=run.history,
        decisions=about["decisions"],
        settings=about["settings"],
        versions=about["versions"] | {"newfound": about["newfound"]},
        command=about["command"],
        calibration=None if calibration is None else _calibration(calibration),
        evaluation=evaluation,
        metrics={} if evaluation is None else evaluation.metrics,
        n_known_components=sum(not c["is_new"] for c in run.classes),
    )


def evaluation_of(run: "Run", table: dict[str, np.ndarray]) -> Evaluation | None:
    """Against the labels that were hidden on purpose, on the rows whose label the model did not see."""
    if "true_class" not in table:
        return None
    unseen = (table["observed_label"] == "") & (table["true_class"] != "")
    known = np.array([c["name"] for c in run.classes if not c["is_new"]])
    n_components = sum(len(c["components"]) for c in run.classes)
    return evaluate(table["true_class"][unseen].astype(str), table["component"][unseen], n_components, known)


def _classes(summaries: list[dict[str, Any]], stored: dict[str, np.ndarray]) -> list[ClassContent]:
    position = {int(row): i for i, row in enumerate(stored["shown"])}

    def positions(rows: np.ndarray) -> np.ndarray:
        return np.array([position[int(row)] for row in rows if row >= 0], dtype=int)

    return [
        ClassContent(
            **summary | {"confidence": np.nan if summary["confidence"] is None else summary["confidence"]},
            typical=positions(stored["typical"][i]),
            doubtful=positions(stored["doubtful"][i]),
            generated=stored["generated"][i],
            mean=stored["class_mean"][i],
        )
        for i, summary in enumerate(summaries)
    ]


def _examples(table: dict[str, np.ndarray], stored: dict[str, np.ndarray]) -> Examples:
    rows = stored["shown"]
    return Examples(
        X=stored["X"],
        row_ids=table["row_id"][rows],
        predicted=table["class"][rows],
        probability=table["probability"][rows],
        p_new=table["p_new"][rows],
        observed=table["observed_label"][rows],
    )


def _map(table: dict[str, np.ndarray], stored: dict[str, np.ndarray]) -> Map:
    rows = stored["map_rows"]
    return Map(
        x=stored["map"][:, 0],
        y=stored["map"][:, 1],
        row_ids=table["row_id"][rows],
        predicted=table["class"][rows],
        probability=table["probability"][rows],
        observed=table["observed_label"][rows],
        truth=table["true_class"][rows] if "true_class" in table else None,
    )


def _calibration(stored: dict[str, Any]) -> Calibration:
    return Calibration(
        bin_probability=np.array(stored["bin_probability"]),
        bin_accuracy=np.array(stored["bin_accuracy"]),
        bin_rows=np.array(stored["bin_rows"]),
        expected_calibration_error=stored["expected_calibration_error"],
    )
