"""What the page draws: the map, training, calibration, the confusion matrix, the mark of each class."""

import base64
import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from newfound._internal.words import count, percent
from newfound.evaluation import Evaluation
from newfound.fitted import TERM_NAMES
from newfound.report.content import Calibration, LatentMap, ReportContent

# ---- Small charts as SVG inside the page: they need no script, print well, and follow the colours of the style ----

WIDTH, HEIGHT = 440, 250
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 34, 42
DASHES = ("", "6 4", "2 3", "8 3 2 3", "12 4", "1 4")  # so that lines differ without colour


class Axis(NamedTuple):
    """The title of an axis, its ends, and the format of its numbers."""

    title: str
    low: float
    high: float
    format: str = ",.4g"

    def share(self, value: np.ndarray) -> np.ndarray:
        return (np.asarray(value, dtype=float) - self.low) / max(self.high - self.low, 1e-12)

    @property
    def ticks(self) -> list[float]:
        """Four to eight round numbers."""
        span = max(self.high - self.low, 1e-12)
        step = 10 ** math.floor(math.log10(span / 4))
        step *= next(f for f in (1, 2, 5, 10) if span / (step * f) <= 7)
        first = math.ceil(self.low / step - 1e-9)
        return [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def write(self, value: float) -> str:
        return format(0.0 if abs(value) < 1e-12 else value, self.format).replace("-", "−")


class Curve(NamedTuple):
    """A line with a name, and a gap for each missing value."""

    name: str
    x: np.ndarray
    y: np.ndarray


def chart(label: str, x: Axis, y: Axis, *marks: Markup) -> Markup:
    """Axes with their titles and numbers, and the marks between them."""
    tick_y = Markup('<path class="grid" d="M{} {}H{}"/><text class="tick-y" x="{}" y="{}">{}</text>')
    tick_x = Markup('<text class="tick-x" x="{}" y="{}">{}</text>')
    grid = Markup("").join(
        [
            *(
                tick_y.format(LEFT, up, WIDTH - RIGHT, LEFT - 7, up + 4, y.write(value))
                for value, up in zip(y.ticks, _up(y, np.array(y.ticks)), strict=True)
            ),
            *(
                tick_x.format(across, HEIGHT - BOTTOM + 17, x.write(value))
                for value, across in zip(x.ticks, _across(x, np.array(x.ticks)), strict=True)
            ),
        ]
    )
    middle_x, middle_y = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    titles = Markup(
        '<text class="axis-title" x="{}" y="{}">{}</text>'
        '<text class="axis-title" transform="translate(14 {}) rotate(-90)">{}</text>'
    ).format(middle_x, HEIGHT - 6, x.title, middle_y, y.title)
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}{}</svg>').format(
        WIDTH, HEIGHT, label, grid, titles, Markup("").join(marks)
    )


def lines(curves: Sequence[Curve], x: Axis, y: Axis) -> Markup:
    """A path for each curve, and a legend if there are several."""
    paths = [
        Markup('<path class="curve line-{}" stroke-dasharray="{}" d="{}"><title>{}</title></path>').format(
            i, DASHES[i % len(DASHES)], _path(curve, x, y), curve.name
        )
        for i, curve in enumerate(curves)
    ]
    return Markup("").join([*paths, _legend(curves) if len(curves) > 1 else Markup("")])


def _path(curve: Curve, x: Axis, y: Axis) -> str:
    is_there = np.isfinite(np.asarray(curve.y, dtype=float))
    across, up = _across(x, curve.x), _up(y, np.where(is_there, curve.y, y.low))
    points = []
    for i in np.flatnonzero(is_there).tolist():
        pen = "L" if i and is_there[i - 1] else "M"
        points.append(f"{pen}{across[i]} {up[i]}")
    return "".join(points) + ("h0.1" if len(points) == 1 else "")  # a single value is a dot


def _legend(curves: Sequence[Curve]) -> Markup:
    """Above the axes, on two lines if one is too short."""
    entries, left, top = [], float(LEFT), 11
    for i, curve in enumerate(curves):
        width = 36 + 5.9 * len(curve.name)
        if left + width > WIDTH:
            left, top = float(LEFT), top + 14
        entry = Markup('<path class="curve line-{}" stroke-dasharray="{}" d="M{} {}h18"/><text x="{}" y="{}">{}</text>')
        look = (i, DASHES[i % len(DASHES)], round(left, 1), top, round(left + 23, 1), top + 4)
        entries.append(entry.format(*look, curve.name))
        left += width
    return Markup("").join(entries)


def _across(x: Axis, values: np.ndarray) -> list[float]:
    return (LEFT + x.share(values) * (WIDTH - LEFT - RIGHT)).round(1).tolist()


def _up(y: Axis, values: np.ndarray) -> list[float]:
    return (HEIGHT - BOTTOM - y.share(values) * (HEIGHT - TOP - BOTTOM)).round(1).tolist()


# ---- How training went, and how often probabilities were right ----

NOT_AMONG_TERMS = {"loss", "reconstruction", "grad_norm"}  # drawn in another chart, or in none


class Panel(NamedTuple):
    """A chart with its title and a note."""

    title: str
    note: str
    svg: Markup


def training(history: dict[str, np.ndarray], few_labels: str = "") -> list[Panel]:
    """The loss, its terms, and the scores of the validation rows; pretraining is shaded."""
    if not len(history.get("step", ())):
        return []
    steps = np.asarray(history["step"], dtype=float)
    x = Axis("training step", 0.0, float(steps.max()), ",.0f")
    shade = Markup("")
    if np.any(is_pretraining := np.asarray(history.get("is_pretraining", np.zeros(len(steps)))) > 0):
        start, end = _across(x, np.array([x.low, float(steps[is_pretraining].max())]))
        shade = Markup('<rect class="shade" x="{}" y="{}" width="{}" height="{}"/>').format(
            start, TOP, round(end - start, 1), HEIGHT - TOP - BOTTOM
        )
    notes = {
        "Loss and reconstruction error": ("Lower is better.", "nats per row"),
        "Other terms of the loss": ("Before they are weighted.", "nats per row"),
        "Validation ELBO": ("On rows that were not trained on; higher is better.", "nats per row"),
        "Validation accuracy": (
            f"On labels of known classes that were not trained on{few_labels}.",
            "labels predicted",
        ),
    }
    panels = []
    for title, curves in training_curves(history).items():
        if curves:
            note, unit = notes[title]
            y = _axis_of(unit, list(curves.values()), is_share="accuracy" in title)
            drawn = lines([Curve(name, steps, values) for name, values in curves.items()], x, y)
            panels.append(Panel(title, note, chart(f"{title} by training step", x, y, shade, drawn)))
    return panels


def _axis_of(unit: str, values: list[np.ndarray], is_share: bool) -> Axis:
    """From the least to the most of some finite numbers with a margin; of shares up to 100%."""
    numbers = np.concatenate([np.asarray(v, dtype=float)[np.isfinite(v)] for v in values])
    low, high = float(numbers.min()), float(numbers.max())
    if is_share:
        return Axis(unit, max(0.0, low - 0.1), 1.015, ".0%")
    margin = 0.05 * (high - low) or abs(low) * 0.05 or 1.0
    return Axis(unit, low - margin, high + margin)


def training_curves(history: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """By title of a chart and printed name of a curve; a term that is always 0 was not part of the loss."""
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


def reliability(calibration: Calibration) -> Markup:
    """Accuracy against mean probability, in bins of probability; a calibrated model is on the diagonal."""
    filled = np.flatnonzero(calibration.bin_rows > 0)
    rows = calibration.bin_rows[filled]
    probability, accuracy = calibration.bin_probability[filled], calibration.bin_accuracy[filled]
    x = Axis("mean probability of the predicted class", -0.03, 1.03, ".0%")
    y = Axis("share predicted right", -0.03, 1.03, ".0%")
    radius = (4 + 8 * np.sqrt(rows / max(rows.max(initial=1), 1))).round(1).tolist()
    dot = Markup('<circle class="dot" cx="{}" cy="{}" r="{}"><title>{}</title></circle>')
    dots = Markup("").join(
        dot.format(across, up, r, f"{count(int(n), 'row')}: mean probability {percent(p)}, {percent(a)} right")
        for across, up, r, n, p, a in zip(
            _across(x, probability), _up(y, accuracy), radius, rows, probability, accuracy, strict=True
        )
    )
    ends = [*_across(x, np.array([0, 1])), *_up(y, np.array([0, 1]))]
    diagonal = Markup('<path class="ideal" d="M{0} {2}L{1} {3}"/>').format(*ends)
    label = "Reliability diagram: share predicted right against mean probability"
    return chart(label, x, y, diagonal, lines([Curve("validation labels", probability, accuracy)], x, y), dots)


# ---- The mark of each class: known ones are round and grey, new ones are angular and coloured ----
# The shape separates known from new without colour. Most readers can tell the hues of new classes apart, and classes
# with similar hues have different shapes. The colours are in `page.css`, once for light and once for dark.

N_KNOWN_COLOURS, N_NEW_COLOURS = 6, 8
CIRCLE = "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11Z"
KNOWN_SHAPES = {"circle": CIRCLE, "ring": f"{CIRCLE}m0 2.6a2.9 2.9 0 1 1 0 5.8a2.9 2.9 0 1 1 0-5.8Z"}
NEW_SHAPES = {
    "diamond": "M8 1L15 8L8 15L1 8Z",
    "square": "M2.5 2.5H13.5V13.5H2.5Z",
    "triangle": "M8 2L15 14H1Z",
    "cross": "M5.7 1.5H10.3V5.7H14.5V10.3H10.3V14.5H5.7V10.3H1.5V5.7H5.7Z",
    "down": "M8 14L1 2H15Z",
}
KNOWN_SIZE, NEW_SIZE, UNSURE_SIZE = 2.6, 3.4, 2.6  # radius on the map, in pixels


class Mark(NamedTuple):
    """How a class is drawn on the map and beside its name."""

    colour: str  # a custom property of the style sheet
    shape: str  # by its name in `map.js`
    path: str  # the same shape as an SVG path of 16 × 16
    size: float


UNSURE = Mark("--unsure", "bar", "M1.5 5.5H14.5V10.5H1.5Z", UNSURE_SIZE)  # rows without a sure class


def marks(content: ReportContent) -> dict[str, Mark]:
    """By name, the largest class first; the first 40 new ones differ in colour and shape together."""
    mark_of = {}
    for i, c in enumerate(content.known):
        shape = list(KNOWN_SHAPES)[i // N_KNOWN_COLOURS % len(KNOWN_SHAPES)]
        mark_of[c.name] = Mark(f"--known-{i % N_KNOWN_COLOURS}", shape, KNOWN_SHAPES[shape], KNOWN_SIZE)
    for i, c in enumerate(content.new):
        shape = list(NEW_SHAPES)[(i + i // N_NEW_COLOURS) % len(NEW_SHAPES)]
        mark_of[c.name] = Mark(f"--new-{i % N_NEW_COLOURS}", shape, NEW_SHAPES[shape], NEW_SIZE)
    return mark_of


# ---- True classes against predicted ones, as a table with shaded cells ----

MAX_COLUMNS_WITH_NUMBERS = 16  # with more, a cell shows its share by shade and on hover
KNOWN, EMPTY = "known classes", "empty"


class Column(NamedTuple):
    """One predicted class."""

    name: str
    is_new: bool
    starts_group: bool


class Group(NamedTuple):
    """Neighbouring columns: the known classes, or the new ones with the same most common true class."""

    name: str
    is_new: bool
    n_columns: int


class Cell(NamedTuple):
    """The rows of one true class that were predicted as one class."""

    share: float
    text: str
    n_rows: int
    starts_group: bool


class Line(NamedTuple):
    """One true class."""

    name: str
    is_known: bool
    n_rows: int
    cells: list[Cell]


class Matrix(NamedTuple):
    """The whole table."""

    groups: list[Group]
    columns: list[Column]
    lines: list[Line]
    is_compact: bool


def column_order(evaluation: Evaluation, is_new: np.ndarray) -> np.ndarray:
    """Known columns first; then the new ones, grouped under the true class most common in each, empty ones last."""
    group = np.where(evaluation.majority < 0, len(evaluation.classes), evaluation.majority)
    return np.lexsort((np.arange(len(is_new)), np.where(is_new, group, -1)))


def confusion(content: ReportContent) -> Matrix | None:
    """Known classes first, then the new ones grouped under the true class most common in each; no empty new ones."""
    evaluation = content.evaluation
    if evaluation is None:
        return None
    new = {c.name for c in content.classes if c.is_new}
    is_new = np.array([str(name) in new for name in evaluation.predicted], dtype=bool)
    order = column_order(evaluation, is_new)
    order = order[(evaluation.counts[:, order].sum(axis=0) > 0) | ~is_new[order]]

    def group_of(column: int) -> tuple[bool, str]:
        if not is_new[column]:
            return False, KNOWN
        at = evaluation.majority[column]
        return True, str(evaluation.classes[at]) if at >= 0 else EMPTY

    groups = [Group(name, new, len(list(members))) for (new, name), members in groupby(order, key=group_of)]
    firsts = np.cumsum([0, *(group.n_columns for group in groups)]).tolist()
    starts = {first for first, group in zip(firsts, groups, strict=False) if group.is_new}
    columns = [Column(str(evaluation.predicted[k]), bool(is_new[k]), i in starts) for i, k in enumerate(order)]
    table = []
    for name, is_known, counts in zip(evaluation.classes, evaluation.is_known, evaluation.counts, strict=True):
        total = int(counts.sum())
        shares = counts[order] / max(total, 1)
        cells = [
            Cell(round(float(share), 3), percent(share) if n else "", int(n), i in starts)
            for i, (share, n) in enumerate(zip(shares, counts[order], strict=True))
        ]
        table.append(Line(str(name), bool(is_known), total, cells))
    return Matrix(groups, columns, table, len(order) > MAX_COLUMNS_WITH_NUMBERS)


# ---- The rows on the map as `map.js` takes them: numbers packed into bytes, a tenth of their size as text ----

NOT_SURE = "not sure"
FULL = 65535


def map_data(content: ReportContent) -> dict[str, Any]:
    """Columns of bytes, the groups they point to, and the names of rows and labels, ready for JSON.

    Groups are drawn in their order: unsure rows at the bottom, new classes on top, the smallest last.
    """
    rows, mark_of = content.map, marks(content)
    drawn = [*reversed(content.known), *content.new]
    groups = []
    for name, anchor, mark in [(NOT_SURE, "unsure", UNSURE), *((c.name, c.anchor, mark_of[c.name]) for c in drawn)]:
        look = {"colour": mark.colour, "shape": mark.shape, "size": mark.size}
        groups.append({"name": name, "anchor": anchor, **look, "isNamed": mark is not UNSURE})
    position = {c.name: i for i, c in enumerate(drawn, start=1)}
    group = np.array([position.get(name, 0) for name in rows.discovered.tolist()], dtype=np.int64) * rows.is_sure
    probability = np.round(np.clip(np.nan_to_num(rows.probability), 0, 1) * 255).astype(np.uint8)
    columns = {"x": _scaled(rows.x), "y": _scaled(rows.y), "group": group, "probability": probability}
    names, of_rows = _names(rows)
    ids = [str(row_id) for row_id in rows.row_ids.tolist()]
    first = int(ids[0]) if ids and ids[0].isdecimal() else 0
    is_count = ids == [str(i) for i in range(first, first + len(ids))]
    return {
        "groups": groups,
        "columns": {name: _packed(column) for name, column in (columns | of_rows).items()},
        "names": names,
        "ids": {"first": first} if is_count else ids,
    }


def _scaled(coordinates: np.ndarray) -> np.ndarray:
    """From the least to the most, in 65,536 steps: more than a screen has pixels."""
    finite = np.nan_to_num(np.asarray(coordinates, dtype=float))
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    return np.round((finite - low) / max(high - low, 1e-12) * FULL).astype(np.uint16)


def _packed(column: np.ndarray) -> dict[str, str]:
    """In the smallest type that holds the largest number, little-endian."""
    smallest = np.min_scalar_type(int(column.max(initial=0)))
    kind = column.dtype if column.dtype == np.uint16 else smallest
    stored = column.astype(np.dtype(kind).newbyteorder("<")).tobytes()
    return {"type": f"Uint{8 * np.dtype(kind).itemsize}Array", "bytes": base64.b64encode(stored).decode()}


def _names(rows: LatentMap) -> tuple[list[str], dict[str, np.ndarray]]:
    """All names of predicted classes, labels and true classes, and their numbers for each row; 0 is no name."""
    named = {"predicted": rows.predicted, "label": rows.observed}
    if rows.truth is not None:
        named["truth"] = rows.truth
    names = ["", *sorted({str(name) for column in named.values() for name in np.unique(column.astype(str))} - {""})]
    position = {name: i for i, name in enumerate(names)}
    return names, {
        key: np.array([position[name] for name in column.astype(str).tolist()], dtype=np.int64)
        for key, column in named.items()
    }
