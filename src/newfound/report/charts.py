"""The interactive charts, as plotly's own data and layout.

A colour is the name of a custom property of the style sheet; `page.js` looks it up, so that one chart serves light and
dark. Every text that came from a user is escaped, because plotly reads a little HTML in texts.
"""

import html
from typing import Any

import numpy as np

from newfound.report.content import Calibration, LatentMap, ReportContent
from newfound.report.marks import Mark, marks
from newfound.report.sentences import percent, shorten, validation_labels

Chart = dict[str, Any]

MARGIN = {"l": 56, "r": 12, "t": 12, "b": 44}
NOT_AMONG_TERMS = {"loss", "reconstruction", "grad_norm"}  # shown elsewhere, or not at all
LINES = ["--known-0", "--new-0", "--new-1", "--known-1", "--known-3", "--new-5"]


def charts(content: ReportContent) -> dict[str, Chart]:
    """Every chart there is data for, by the id of the element it is drawn in."""
    drawn = {"map": latent_map(content), **training(content.history)}
    if content.calibration is not None:
        drawn["calibration"] = reliability(content.calibration)
    return drawn


def latent_map(content: ReportContent) -> Chart:
    """A trace for each class. SVG, not WebGL: it prints, needs no graphics driver and is quick at 2,000 rows."""
    mark_of = marks(content.classes)
    traces = [_class_on_map(content.map, c.name, mark_of[c.name]) for c in content.classes]
    axis = {"showgrid": False, "showline": False, "zeroline": False, "showticklabels": False, "ticks": ""}
    layout = {
        "xaxis": axis,
        "yaxis": axis,
        "showlegend": False,
        "hovermode": "closest",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
    }
    return {"data": traces, "layout": layout}


def _class_on_map(rows: LatentMap, name: str, mark: Mark) -> Chart:
    chosen = np.flatnonzero(rows.predicted == name)
    has_label = rows.observed[chosen] != ""
    truth = "" if rows.truth is None else "<br>true class: %{customdata[4]}"
    return {
        "type": "scatter",
        "mode": "markers",
        "name": _text(name),
        "x": numbers(rows.x[chosen]),
        "y": numbers(rows.y[chosen]),
        "customdata": [_hover(rows, row) for row in chosen.tolist()],
        "hovertemplate": "<b>%{customdata[1]}</b> · probability %{customdata[2]}<br>row %{customdata[0]}"
        f"<br>label: %{{customdata[3]}}{truth}<extra></extra>",
        "marker": {
            "symbol": mark.symbol,
            "size": np.where(has_label, 9, 7).tolist(),
            "color": mark.colour,
            "opacity": numbers(np.clip(rows.probability[chosen], 0.25, 0.95)),
            "line": {"width": np.where(has_label, 1.5, 0).tolist(), "color": "--ink"}
            if "open" not in mark.symbol
            else {"width": np.where(has_label, 3, 2).tolist()},
        },
    }


def _hover(rows: LatentMap, row: int) -> list[str]:
    texts = [rows.row_ids[row], rows.predicted[row], percent(rows.probability[row]), rows.observed[row] or "none"]
    return [_text(text) for text in (texts if rows.truth is None else [*texts, rows.truth[row]])]


def training(history: dict[str, np.ndarray]) -> dict[str, Chart]:
    """The loss, its terms, and what the validation rows say; pretraining is shaded."""
    if not len(history.get("step", ())):
        return {}
    drawn = {
        name: _curves(history, {k: v for k, v in curves.items() if _has_values(v)})
        for name, curves in _training_curves(history).items()
    }
    drawn["validation-accuracy"]["layout"]["yaxis"] |= {"tickformat": ".0%", "rangemode": "normal"}
    return {name: chart for name, chart in drawn.items() if chart["data"]}


def _training_curves(history: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray | None]]:
    """By chart and printed name; a term that is 0 throughout was not part of the loss."""
    from newfound.training import TERM_NAMES

    terms = [name for name in TERM_NAMES if name not in NOT_AMONG_TERMS and np.any(history.get(name, 0))]
    error = f"−{TERM_NAMES['reconstruction']}"
    return {
        "loss": {TERM_NAMES["loss"]: history.get("loss"), error: _negative(history.get("reconstruction"))},
        "terms": {TERM_NAMES[name]: history[name] for name in terms},
        "validation-elbo": {"validation ELBO": history.get("validation_elbo")},
        "validation-accuracy": {"validation accuracy": history.get("validation_accuracy")},
    }


def _curves(history: dict[str, np.ndarray], curves: dict[str, Any]) -> Chart:
    step = numbers(history["step"])
    mode = "lines" if len(step) > 1 else "markers"
    traces = [
        {"type": "scatter", "mode": mode, "name": _text(name), "x": step, "y": numbers(values), "line": line}
        for (name, values), line in zip(curves.items(), _line_styles(), strict=False)
    ]
    layout = {
        "xaxis": {"title": {"text": "step"}, "zeroline": False, "rangemode": "tozero"},
        "yaxis": {"zeroline": False},
        "showlegend": len(traces) > 1,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "hovermode": "x unified",
        "margin": MARGIN | {"t": 36 if len(traces) > 1 else 12},
        "shapes": _pretraining(history),
    }
    return {"data": traces, "layout": layout}


def _line_styles() -> list[Chart]:
    dashes = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"]
    return [{"color": colour, "dash": dash, "width": 2} for colour, dash in zip(LINES, dashes, strict=True)]


def _pretraining(history: dict[str, np.ndarray]) -> list[Chart]:
    steps = np.asarray(history["step"])
    steps = steps[np.asarray(history.get("is_pretraining", np.zeros(len(steps)))) > 0]
    if len(steps) == 0:
        return []
    where = {"xref": "x", "yref": "paper", "x0": 0, "x1": float(steps.max()), "y0": 0, "y1": 1}
    return [{"type": "rect", "layer": "below", "fillcolor": "--shade", "line": {"width": 0}, **where}]


def reliability(calibration: Calibration) -> Chart:
    """Accuracy against mean probability, in bins of probability; on the diagonal the model is calibrated."""
    filled = np.flatnonzero(calibration.bin_rows > 0)
    rows = calibration.bin_rows[filled]
    share = {"range": [-0.03, 1.03], "tickformat": ".0%", "zeroline": False, "dtick": 0.2}
    diagonal = {"x": [0, 1], "y": [0, 1], "mode": "lines", "type": "scatter", "hoverinfo": "skip", "name": "ideal"}
    bins = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "validation labels",
        "cliponaxis": False,
        "x": numbers(calibration.bin_probability[filled]),
        "y": numbers(calibration.bin_accuracy[filled]),
        "customdata": rows.tolist(),
        "hovertemplate": "%{customdata} rows<br>mean probability %{x:.0%}<br>accuracy %{y:.0%}<extra></extra>",
        "line": {"color": "--known-0", "width": 2},
        "marker": {"color": "--known-0", "size": numbers(8 + 14 * np.sqrt(rows / max(rows.max(initial=1), 1)))},
    }
    layout = {
        "xaxis": share | {"title": {"text": "mean probability"}},
        "yaxis": share | {"title": {"text": f"accuracy{validation_labels(calibration)}"}},
        "showlegend": False,
        "hovermode": "closest",
        "margin": MARGIN,
    }
    return {"data": [diagonal | {"line": {"color": "--soft", "dash": "dash", "width": 1.5}}, bins], "layout": layout}


def numbers(values: Any) -> list[float | None]:
    """For JSON, which has no nan: five digits, enough for a screen."""
    return [float(f"{v:.5g}") if np.isfinite(v) else None for v in np.asarray(values, dtype=float).tolist()]


def _text(value: object) -> str:
    return html.escape(shorten(value), quote=False)


def _negative(values: np.ndarray | None) -> np.ndarray | None:
    return None if values is None else -np.asarray(values, dtype=float)


def _has_values(values: np.ndarray | None) -> bool:
    return values is not None and bool(np.isfinite(np.asarray(values, dtype=float)).any())
