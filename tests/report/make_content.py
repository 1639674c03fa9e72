"""What three fits might leave for a report: random but seeded, made without training anything."""

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_digits

from newfound._internal.records import to_json
from newfound.config import Config
from newfound.evaluation import Certainty, evaluate
from newfound.explain.audit_record import Audit, BaselineScore, HiddenClass
from newfound.explain.wording import Description, Rule
from newfound.report.content import ClassContent, Disagreement, Examples, LatentMap, ReportContent
from newfound.runs.answer import Discovered
from newfound.runs.records import Calibration, MissingLabels

ATTACK = "<script>alert(1)</script>"
CLOSER = "</script><img src=x onerror=alert(2)>"
LONG = "a class whose name somebody wrote as a whole sentence, with commas, and never thought would be shown"
N_SHOWN = 8


def digits() -> ReportContent:
    """Images of 8 × 8; 0 to 4 known, five new classes, one of which owns two components and one of which is empty."""
    rng = np.random.default_rng(0)
    X, truth = load_digits(return_X_y=True)
    confused = np.where(rng.random(len(truth)) < 0.08, rng.integers(0, 10, len(truth)), truth)
    component = np.where((confused == 9) & (rng.random(len(truth)) < 0.5), 10, confused)
    names = [*"01234", *(f"new-{i}" for i in range(1, 7))]
    owned = [[i] for i in range(9)] + [[9, 10], [11]]
    labels = np.where((truth < 5) & (rng.random(len(truth)) < 0.2), truth.astype(str), "")
    return _content(
        rng,
        X,
        names,
        5,
        owned,
        component,
        labels,
        truth=truth.astype(str),
        source="digits",
        kind="images",
        image_shape=(8, 8),
        row_ids=np.arange(len(X)),
        log=["1,797 images of 8 × 8 grey values, 0 to 16.", "Labels of 5 to 9 were hidden; 20 % of 0 to 4 kept."],
    )


def wide_table() -> ReportContent:
    """A table of 561 features with 45 classes, of which some new ones are tiny."""
    rng = np.random.default_rng(1)
    sensors = [
        f"{d}Body{s}-{f}()-{a}" for d in "tf" for s in ("Acc", "Gyro", "AccJerk") for f in STATISTICS for a in "XYZ"
    ]
    names = [f"{name}{suffix}" for suffix in ("", ",1", ",2", ",3", ",4", ",5") for name in sensors][:561]
    activities = ["WALKING", "WALKING_UPSTAIRS", "WALKING_DOWNSTAIRS", "SITTING", "STANDING", "LAYING"]
    weights = rng.dirichlet(np.full(45, 0.6))
    component = rng.choice(45, size=3000, p=weights)
    centres = rng.normal(0, 0.35, (45, 561)) * (rng.random((45, 561)) < 0.15)
    X = np.tanh(centres[component] + rng.normal(0, 0.25, (3000, 561)))
    truth = np.array(activities)[np.where(rng.random(3000) < 0.12, rng.integers(0, 6, 3000), component % 6)]
    classes = [*activities[:3], *(f"new-{i}" for i in range(1, 43))]
    labels = np.where((component < 3) & (rng.random(3000) < 0.2), np.array(classes)[component], "")
    return _content(
        rng,
        X,
        classes,
        3,
        [[i] for i in range(45)],
        component,
        labels,
        truth=truth,
        source="har.parquet",
        kind="table",
        image_shape=None,
        row_ids=np.array([f"subject-{i // 100:02d}/{i % 100:03d}" for i in range(3000)]),
        feature_names=names,
        log=["561 columns hold numbers: 'tBodyAcc-mean()-X', 'tBodyAcc-mean()-Y' and 559 more."],
    )


def mixed_table() -> ReportContent:
    """A small table of numbers and categories, with names that try to break the page; no truth, no validation rows."""
    rng = np.random.default_rng(2)
    names = [
        "price (€)",
        "colour=red",
        "colour=<b>blue</b>",
        CLOSER,
        'said "so"',
        "a'b & c",
        "%{x}",
        "weight_kg",
        "const",
    ]
    component = rng.integers(0, 4, 150)
    X = np.column_stack(
        [
            rng.lognormal(8 + component, 0.3),
            component == 0,
            component == 1,
            rng.normal(component, 1),
            rng.normal(-component, 1),
            rng.random(150) < 0.5,
            rng.normal(0, 1e-6, 150),
            rng.normal(70, 10, 150),
            np.full(150, 3.0),
        ]
    ).astype(float)
    classes = [ATTACK, "A & B", "--ink", LONG]
    labels = np.where((component < 2) & (rng.random(150) < 0.3), np.array(classes, object)[component], "")
    return _content(
        rng,
        X,
        classes,
        2,
        [[i] for i in range(4)],
        component,
        labels,
        truth=None,
        source=f"{CLOSER} & co.csv",
        kind="table",
        image_shape=None,
        row_ids=np.array([f"{ATTACK}-{i}" for i in range(150)], object),
        feature_names=names,
        log=[f"1 column was left out: '{ATTACK}'.", "3 cells were missing and filled with the column's median."],
        termination_condition="interrupted",
    )


STATISTICS = ("mean", "std", "mad", "max", "min", "energy", "iqr", "entropy")
CASES = {"digits": digits, "wide-table": wide_table, "mixed-table": mixed_table}


def _content(
    rng,
    X,
    names,
    n_known,
    owned,
    component,
    labels,
    *,
    truth,
    row_ids,
    feature_names=None,
    termination_condition="max_epochs",
    **say,
) -> ReportContent:
    n_components = max(max(c) for c in owned) + 1
    class_of = np.array([next(i for i, c in enumerate(owned) if k in c) for k in range(n_components)])[component]
    predicted = np.array(names, object)[class_of]
    probability = 0.4 + 0.6 * rng.beta(4, 0.6, len(X))
    shown: list[int] = []
    classes = [
        _class(rng, X, name, c, i, class_of == i, labels, probability, shown, is_new=i >= n_known)
        for i, (name, c) in enumerate(zip(names, owned, strict=True))
    ]
    on_map = rng.permutation(len(X))[:2000]
    flat = (X - X.mean(0)) @ np.linalg.eigh(np.cov(X.T))[1][:, -2:]
    evaluation = None if truth is None else _evaluation(rng, truth, predicted, probability, names, n_known)
    return ReportContent(
        run="run",
        created="2025-01-02 03:04 UTC",
        model="GM-DGM",
        regime="semi-unsupervised",
        termination_condition=termination_condition,
        n_rows=len(X),
        n_labelled=int((labels != "").sum()),
        n_disagreements=4,
        discovered=_discovered(names[n_known:], len(X)),
        feature_names=feature_names or [f"r{i // 8}c{i % 8}" for i in range(X.shape[1])],
        feature_mean=X.mean(0),
        feature_std=X.std(0),
        classes=classes,
        examples=Examples(
            X[shown], row_ids[shown], predicted[shown], probability[shown], rng.random(len(shown)), labels[shown]
        ),
        map=LatentMap(
            flat[on_map, 0] + rng.normal(0, 0.3, len(on_map)) * flat.std(),
            flat[on_map, 1],
            row_ids[on_map],
            predicted[on_map],
            probability[on_map] > 0.45,
            predicted[on_map],
            probability[on_map],
            labels[on_map],
            None if truth is None else truth[on_map],
        ),
        disagreements=[Disagreement(str(row_ids[i]), names[0], names[1], 0.9, 0 if i else None) for i in range(4)],
        history=_history(rng, has_validation=truth is not None),
        settings={"n_new": len(names) - n_known, "hidden_layer_sizes": [200, 200], "config": to_json(Config())},
        versions={"newfound": "0.2.0", "jax": "0.7.1", "numpy": "2.3.1", "python": "3.12.4"},
        command=f"newfound fit '{say['source']}' --label species --seed 0 --out run/",
        calibration=None if truth is None else _calibration(rng),
        audit=_audit(names[:n_known], len(X)),
        evaluation=evaluation,
        **say,
    )


def large_table(n_rows: int = 10_000) -> ReportContent:
    """The wide table on a map of as many rows as are asked for, with ids as long as those of files."""
    content, rng = wide_table(), np.random.default_rng(3)
    chosen = rng.integers(0, len(content.map.x), n_rows)
    taken = {name: None if column is None else column[chosen] for name, column in vars(content.map).items()}
    ids = np.array([f"subject-{i % 97:02d}/recording-{i:06d}" for i in range(n_rows)], object)
    spread = {name: taken[name] + rng.normal(0, taken[name].std() / 8, n_rows) for name in ("x", "y")}
    return replace(content, map=LatentMap(**taken | spread | {"row_ids": ids}), n_rows=n_rows)


def _discovered(new: list[str], n_rows: int) -> Discovered:
    """Found on the graph; a few rows are not sure, and some are predicted as another class."""
    return Discovered(
        n_new=len(new),
        n_new_range=(len(new) - 1, len(new) + 1),
        is_given=False,
        has_labels=True,
        method="graph",
        n_rows=n_rows,
        n_unsure=37,
        closest=new[:2] if len(new) > 2 else [],
        divisible=new[0],
        agreement=0.97,
        moves=[(new[0], new[1], 30), (new[1], new[0], 12), (new[0], "cat", 2), ("cat", new[0], 1)],
    )


def _audit(known: list[str], n_rows: int) -> Audit:
    """Every known class was hidden; the first was called by the name of the last, on few labels."""
    shares = [0.4, *(1 - 0.005 * i for i in range(len(known) - 1))]
    hidden = [
        HiddenClass(name, 12 + 40 * i, share, known[i - 1] if share < 1 else None, 1 - share, share, 0.9)
        for i, (name, share) in enumerate(zip(known, shares, strict=True))
    ]
    found = {"verdict": "yes", "p_value": 3e-9, "n_new": 5, "n_new_range": (4, 6), "n_rows_new": n_rows // 2}
    baselines = (
        BaselineScore("k-means from the class means", 0.31, 4.5, 0.8),
        BaselineScore("communities of the graph alone", 0.98, 12, None),
    )
    return Audit(
        **found,
        n_rows=n_rows,
        n_labels=90,
        hidden=tuple(hidden),
        control="none seen",
        n_rows_hidden=n_rows,
        baselines=baselines,
    )


def _class(rng, X, name, components, i, chosen, labels, probability, shown, *, is_new) -> ClassContent:
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(-probability[rows])]
    first = len(shown)
    top, bottom = rows[:N_SHOWN], rows[N_SHOWN:][::-1][:N_SHOWN]
    shown += [*top, *bottom]
    has_rows = len(rows) > 0
    mean = X[rows].mean(0) if has_rows else np.full(X.shape[1], np.nan)
    generated = (mean if has_rows else X.mean(0)) + rng.normal(0, 0.15, (N_SHOWN, X.shape[1])) * X.std(0)
    return ClassContent(
        name=name,
        is_new=is_new,
        components=components,
        n_rows=len(rows),
        n_discovered=len(rows),
        n_observed=int((labels == name).sum()),
        confidence=float(probability[rows].mean()) if has_rows else None,
        evidence=_evidence(len(rows)) if is_new and has_rows else None,
        anchor=f"class-{i}",
        n_unsure=0,
        description=_description(name) if is_new and i % 2 else None,
        most_confident=first + np.arange(len(top)),
        lowest_confidence=first + len(top) + np.arange(len(bottom)),
        generated=generated,
        mean=mean,
    )


def _description(name: str) -> Description:
    rule = Rule("price > 40 and colour = <b>blue</b>", 0.96, 0.02, 0.97)
    hints = (f"31% of {name} borders on “{ATTACK}”.",)
    return Description(name, f"Rows of {name} cost 48.8.", None, (), rule, hints, "blue ones")


def _evidence(n_rows: int) -> MissingLabels:
    expected = 0.2 * n_rows
    return MissingLabels(n_rows, expected, labels_held=0.3, p_value=float(np.exp(-expected)))


def _history(rng, *, has_validation: bool) -> dict[str, np.ndarray]:
    step = np.arange(1, 61) * 128
    reconstruction = -120 - 90 * np.exp(-step / 900) + rng.normal(0, 1, 60)
    kl_z, kl_y = 14 * (1 - np.exp(-step / 1500)), 2 + np.exp(-step / 2000)
    cross_entropy = np.exp(-step / 1200)
    nothing = np.full(60, np.nan)
    return {
        "step": step,
        "is_pretraining": (step < 1500).astype(float),
        "learning_rate": 0.001 * (1 + np.cos(np.pi * step / step[-1])) / 2,
        "loss": -reconstruction + kl_z + kl_y + cross_entropy,
        "reconstruction": reconstruction,
        "kl_z": kl_z,
        "kl_y": kl_y,
        "cross_entropy": cross_entropy,
        "pu_loss": 0.5 * cross_entropy,
        "grad_norm": rng.random(60),
        "validation_elbo": reconstruction - kl_z - kl_y - 3 if has_validation else nothing,
        "validation_accuracy": 0.95 - 0.6 * np.exp(-step / 700) if has_validation else nothing,
        "seconds": step / 100,
    }


def _calibration(rng) -> Calibration:
    edges = np.linspace(0, 1, 11)
    rows = np.array([0, 0, 1, 2, 3, 4, 8, 14, 30, 110])
    middle = np.where(rows > 0, (edges[:-1] + edges[1:]) / 2, np.nan)
    return Calibration(middle, np.clip(middle + rng.normal(0, 0.06, 10), 0, 1), rows, 0.031, 0.94, 1.37)


def _evaluation(rng, truth, predicted, probability, names, n_known):
    evaluation = evaluate(truth, predicted.astype(str), names[:n_known], names)
    is_known = np.isin(truth, names[:n_known])
    p_new = np.where(is_known, 0.2, 0.8) * probability
    return replace(
        evaluation, certainty=Certainty(probability, predicted == truth, rng.random(len(truth)), is_known, p_new)
    )
