"""What the page draws besides the map: how training went, and how honest the probabilities are."""

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from newfound.report.content import Calibration
from newfound.report.svg import Axis, Curve, chart, diagonal, lines, points, shade, spanning
from newfound.trained import TERM_NAMES
from newfound.wording import count, percent

NOT_AMONG_TERMS = {"loss", "reconstruction", "grad_norm"}  # shown elsewhere, or not at all


class Panel(NamedTuple):
    """A chart with its title and what is said of it."""

    title: str
    note: str
    svg: Markup


def training(history: dict[str, np.ndarray], few_labels: str = "") -> list[Panel]:
    """The loss, its terms, and what the validation rows say; pretraining is shaded."""
    if not len(history.get("step", ())):
        return []
    said = {
        "Loss and reconstruction error": ("Lower is better.", "nats a row"),
        "Other terms of the loss": ("Before they are weighted.", "nats a row"),
        "Validation ELBO": ("On rows that were not trained on; higher is better.", "nats a row"),
        "Validation accuracy": (
            f"On labels of known classes that were not trained on{few_labels}.",
            "labels predicted",
        ),
    }
    return [
        Panel(title, said[title][0], _curves(title, history, curves, said[title][1]))
        for title, curves in training_curves(history).items()
        if curves
    ]


def training_curves(history: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """By title of a chart and printed name of a curve; a term that is 0 throughout was not part of the loss."""
    terms = [name for name in TERM_NAMES if name not in NOT_AMONG_TERMS and np.any(history.get(name, 0))]
    error = f"−{TERM_NAMES['reconstruction']}"
    nothing = np.full(1, np.nan)
    drawn = {
        "Loss and reconstruction error": {
            TERM_NAMES["loss"]: history.get("loss", nothing),
            error: -np.asarray(history.get("reconstruction", nothing), dtype=float),
        },
        "Other terms of the loss": {TERM_NAMES[name]: history[name] for name in terms},
        "Validation ELBO": {"validation ELBO": history.get("validation_elbo", nothing)},
        "Validation accuracy": {"validation accuracy": history.get("validation_accuracy", nothing)},
    }
    return {title: {k: v for k, v in curves.items() if np.isfinite(v).any()} for title, curves in drawn.items()}


def _curves(title: str, history: dict[str, np.ndarray], curves: dict[str, np.ndarray], unit: str) -> Markup:
    steps = np.asarray(history["step"], dtype=float)
    x = Axis("training step", 0.0, float(steps.max()), ",.0f")
    y = _of_shares(unit, *curves.values()) if "accuracy" in title else spanning(unit, list(curves.values()))
    drawn = lines([Curve(name, steps, values) for name, values in curves.items()], x, y)
    return chart(f"{title} by training step", x, y, *_pretraining(history, x), drawn)


def _of_shares(unit: str, values: np.ndarray) -> Axis:
    """No more than all, and some room below the least."""
    return Axis(unit, max(0.0, float(np.nanmin(values)) - 0.1), 1.02, ".0%")


def _pretraining(history: dict[str, np.ndarray], x: Axis) -> list[Markup]:
    steps = np.asarray(history["step"], dtype=float)
    steps = steps[np.asarray(history.get("is_pretraining", np.zeros(len(steps)))) > 0]
    return [shade(x, float(steps.max()))] if len(steps) else []


def reliability(calibration: Calibration) -> Markup:
    """Accuracy against mean probability, in bins of probability; on the diagonal the model is calibrated."""
    filled = np.flatnonzero(calibration.bin_rows > 0)
    rows = calibration.bin_rows[filled]
    across, up = calibration.bin_probability[filled], calibration.bin_accuracy[filled]
    x = Axis("mean probability of the predicted class", -0.03, 1.03, ".0%")
    y = Axis("share predicted right", -0.03, 1.03, ".0%")
    titles = [
        f"{count(int(n), 'row')}: mean probability {percent(p)}, {percent(a)} right"
        for n, p, a in zip(rows, across, up, strict=True)
    ]
    dots = points(across, up, 4 + 8 * np.sqrt(rows / max(rows.max(initial=1), 1)), titles, x, y)
    label = "Reliability diagram: share predicted right against mean probability"
    return chart(label, x, y, diagonal(x, y), lines([Curve("validation labels", across, up)], x, y), dots)
