"""What the page draws: the map, training, calibration, true classes against predicted ones, each class's mark."""

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

# ---- Small charts as SVG inside the page: no script draws them, so they print, and colours follow the style sheet ----

WIDTH, HEIGHT = 440, 250
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 34, 42
DASHES = ("", "6 4", "2 3", "8 3 2 3", "12 4", "1 4")  # lines differ without colour, too


class Axis(NamedTuple):
    """What an axis shows: its words, its ends, and how a number is written."""

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
    """A line with a name; where a value is missing it has a gap."""

    name: str
    x: np.ndarray
    y: np.ndarray


def spanning(title: str, values: Sequence[np.ndarray], format: str = ",.4g") -> Axis:
    """An axis from the least to the most of some numbers."""
    finite = np.concatenate([np.asarray(v, dtype=float)[np.isfinite(v)] for v in values] or [np.zeros(1)])
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    margin = 0.05 * (high - low) or abs(low) * 0.05 or 1.0
    return Axis(title, low - margin, high + margin, format)


def chart(label: str, x: Axis, y: Axis, *marks: Markup) -> Markup:
    """Axes with their words and numbers, and the marks between them."""
    grid = Markup("").join(
        [
            *(_tick_y(y, value) for value in y.ticks),
            *(_tick_x(x, value) for value in x.ticks),
        ]
    )
    middle_x, middle_y = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    words = Markup(
        '<text class="axis-title" x="{}" y="{}">{}</text>'
        '<text class="axis-title" transform="translate(14 {}) rotate(-90)">{}</text>'
    ).format(middle_x, HEIGHT - 6, x.title, middle_y, y.title)
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}{}</svg>').format(
        WIDTH, HEIGHT, label, grid, words, Markup("").join(marks)
    )


def lines(curves: Sequence[Curve], x: Axis, y: Axis) -> Markup:
    """A path for each curve, and a legend where there are several."""
    paths = [
        Markup('<path class="curve line-{}" stroke-dasharray="{}" d="{}"><title>{}</title></path>').format(
            i, DASHES[i % len(DASHES)], _path(curve, x, y), curve.name
        )
        for i, curve in enumerate(curves)
    ]
    return Markup("").join([*paths, _legend(curves) if len(curves) > 1 else Markup("")])


def points(xs: np.ndarray, ys: np.ndarray, radius: np.ndarray, titles: Sequence[str], x: Axis, y: Axis) -> Markup:
    """A dot for each pair, which says what it is when pointed at."""
    return Markup("").join(
        Markup('<circle class="dot" cx="{}" cy="{}" r="{}"><title>{}</title></circle>').format(*place, title)
        for *place, title in zip(_across(x, xs), _up(y, ys), radius.round(1).tolist(), titles, strict=True)
    )


def diagonal(x: Axis, y: Axis) -> Markup:
    ends = [*_across(x, np.array([0, 1])), *_up(y, np.array([0, 1]))]
    return Markup('<path class="ideal" d="M{0} {2}L{1} {3}"/>').format(*ends)


def shade(x: Axis, until: float) -> Markup:
    """A band from the left end to a number."""
    start, end = _across(x, np.array([x.low, until]))
    return Markup('<rect class="shade" x="{}" y="{}" width="{}" height="{}"/>').format(
        start, TOP, round(end - start, 1), HEIGHT - TOP - BOTTOM
    )


def _path(curve: Curve, x: Axis, y: Axis) -> str:
    is_there = np.isfinite(np.asarray(curve.y, dtype=float))
    across, up, said, pen = _across(x, curve.x), _up(y, np.where(is_there, curve.y, y.low)), [], "M"
    for i in np.flatnonzero(is_there).tolist():
        pen = "L" if i and is_there[i - 1] else "M"
        said.append(f"{pen}{across[i]} {up[i]}")
    return "".join(said) + ("h0.1" if len(said) == 1 else "")  # a single value is a dot


def _legend(curves: Sequence[Curve]) -> Markup:
    """Above the axes, on two lines if need be."""
    entries, left, top = [], float(LEFT), 11
    for i, curve in enumerate(curves):
        width = 36 + 5.9 * len(curve.name)
        if left + width > WIDTH:
            left, top = float(LEFT), top + 14
        said = '<path class="curve line-{}" stroke-dasharray="{}" d="M{} {}h18"/><text x="{}" y="{}">{}</text>'
        look = (i, DASHES[i % len(DASHES)], round(left, 1), top, round(left + 23, 1), top + 4)
        entries.append(Markup(said).format(*look, curve.name))
        left += width
    return Markup("").join(entries)


def _tick_y(y: Axis, value: float) -> Markup:
    (up,) = _up(y, np.array([value]))
    return Markup('<path class="grid" d="M{} {}H{}"/><text class="tick-y" x="{}" y="{}">{}</text>').format(
        LEFT, up, WIDTH - RIGHT, LEFT - 7, up + 4, y.write(value)
    )


def _tick_x(x: Axis, value: float) -> Markup:
    (across,) = _across(x, np.array([value]))
    return Markup('<text class="tick-x" x="{}" y="{}">{}</text>').format(across, HEIGHT - BOTTOM + 17, x.write(value))


def _across(x: Axis, values: np.ndarray) -> list[float]:
    return (LEFT + x.share(values) * (WIDTH - LEFT - RIGHT)).round(1).tolist()


def _up(y: Axis, values: np.ndarray) -> list[float]:
    return (HEIGHT - BOTTOM - y.share(values) * (HEIGHT - TOP - BOTTOM)).round(1).tolist()


# ---- What the page draws besides the map: how training went, and how honest the probabilities are ----

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


# ---- The mark of each class: known ones are round and quiet, new ones are angular and have colours of their own ----
# Shape tells known from new without any colour. The hues of new classes are told apart by nearly all readers, and those
# that come close to each other have different shapes. The colours are in `page.css`, once for light and once for dark.

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


UNSURE = Mark("--unsure", "bar", "M1.5 5.5H14.5V10.5H1.5Z", UNSURE_SIZE)  # rows that are not sure are no class


def marks(content: ReportContent) -> dict[str, Mark]:
    """By name, the largest class first; colour and shape together differ for the first 40 new ones."""
    known = {c.name: _known(i) for i, c in enumerate(content.known)}
    return known | {c.name: _new(i) for i, c in enumerate(content.new)}


def _known(i: int) -> Mark:
    shape = list(KNOWN_SHAPES)[i // N_KNOWN_COLOURS % len(KNOWN_SHAPES)]
    return Mark(f"--known-{i % N_KNOWN_COLOURS}", shape, KNOWN_SHAPES[shape], KNOWN_SIZE)


def _new(i: int) -> Mark:
    shape = list(NEW_SHAPES)[(i + i // N_NEW_COLOURS) % len(NEW_SHAPES)]
    return Mark(f"--new-{i % N_NEW_COLOURS}", shape, NEW_SHAPES[shape], NEW_SIZE)


# ---- True classes against predicted ones, as a table whose cells are shaded ----

MAX_COLUMNS_WITH_NUMBERS = 16  # beyond, a cell shows its share by shade and on hover
KNOWN, EMPTY = "known classes", "empty"


class Column(NamedTuple):
    """One predicted class."""

    name: str
    is_new: bool
    starts_group: bool


class Group(NamedTuple):
    """Neighbouring columns: the known classes, or the new ones that hold mostly the same true class."""

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
    is_new = _is_new(content, evaluation)
    order = column_order(evaluation, is_new)
    order = order[(evaluation.counts[:, order].sum(axis=0) > 0) | ~is_new[order]]
    groups = _groups(evaluation, order, is_new)
    starts = _starts(groups)
    columns = [Column(str(evaluation.predicted[k]), bool(is_new[k]), i in starts) for i, k in enumerate(order)]
    return Matrix(groups, columns, _lines(evaluation, order, starts), len(order) > MAX_COLUMNS_WITH_NUMBERS)


def _is_new(content: ReportContent, evaluation: Evaluation) -> np.ndarray:
    """A flag for each column of the evaluation, by its class's name."""
    new = {c.name for c in content.classes if c.is_new}
    return np.array([str(name) in new for name in evaluation.predicted], dtype=bool)


def _groups(evaluation: Evaluation, order: np.ndarray, is_new: np.ndarray) -> list[Group]:
    majority = evaluation.majority

    def key(column: int) -> tuple[bool, str]:
        if not is_new[column]:
            return False, KNOWN
        return True, str(evaluation.classes[majority[column]]) if majority[column] >= 0 else EMPTY

    return [Group(name, new, len(list(members))) for (new, name), members in groupby(order, key=key)]


def _starts(groups: list[Group]) -> set[int]:
    """The columns at which a group of new classes begins."""
    firsts = np.cumsum([0, *(group.n_columns for group in groups)]).tolist()
    return {first for first, group in zip(firsts, groups, strict=False) if group.is_new}


def _lines(evaluation: Evaluation, order: np.ndarray, starts: set[int]) -> list[Line]:
    totals = evaluation.counts.sum(axis=1).tolist()
    return [
        Line(str(name), bool(is_known), total, _cells(counts[order], total, starts))
        for name, is_known, total, counts in zip(
            evaluation.classes, evaluation.is_known, totals, evaluation.counts, strict=True
        )
    ]


def _cells(counts: np.ndarray, total: int, starts: set[int]) -> list[Cell]:
    shares = counts / max(total, 1)
    return [
        Cell(round(float(share), 3), percent(share) if n else "", int(n), i in starts)
        for i, (share, n) in enumerate(zip(shares, counts, strict=True))
    ]


def metrics(content: ReportContent) -> list[tuple[str, str]]:
    """Every metric by its exact name, as it is printed everywhere."""
    return [] if content.evaluation is None else content.evaluation.shown


# ---- The rows on the map as `map.js` takes them: numbers packed into bytes, a tenth of the text they would be ----

NOT_SURE = "not sure"
FULL = 65535


def map_data(content: ReportContent) -> dict[str, Any]:
    """Columns of bytes, the groups they point to, and the names of rows and labels, ready for JSON.

    Groups are drawn in their order: rows that are not sure at the bottom, new classes on top, the smallest last.
    """
    rows, mark_of = content.map, marks(content)
    drawn = [*reversed(content.known), *content.new]
    groups = [_group(NOT_SURE, "unsure", UNSURE), *(_group(c.name, c.anchor, mark_of[c.name]) for c in drawn)]
    position = {c.name: i for i, c in enumerate(drawn, start=1)}
    group = np.array([position.get(name, 0) for name in rows.discovered.tolist()], dtype=np.int64) * rows.is_sure
    columns = {"x": scaled(rows.x), "y": scaled(rows.y), "group": group, "probability": as_bytes(rows.probability)}
    names, of_rows = _names(rows)
    return {
        "groups": groups,
        "columns": {name: packed(column) for name, column in (columns | of_rows).items()},
        "names": names,
        "ids": _ids(rows.row_ids),
    }


def _group(name: str, anchor: str, mark: Mark) -> dict[str, Any]:
    look = {"colour": mark.colour, "shape": mark.shape, "size": mark.size}
    return {"name": name, "anchor": anchor, **look, "isNamed": mark is not UNSURE}


def scaled(places: np.ndarray) -> np.ndarray:
    """From the least to the most, in 65,536 steps: far more than a screen has pixels."""
    finite = np.nan_to_num(np.asarray(places, dtype=float))
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    return np.round((finite - low) / max(high - low, 1e-12) * FULL).astype(np.uint16)


def as_bytes(probability: np.ndarray) -> np.ndarray:
    """0 to 255: told to half a per cent."""
    return np.round(np.clip(np.nan_to_num(probability), 0, 1) * 255).astype(np.uint8)


def packed(column: np.ndarray) -> dict[str, str]:
    """As few bytes as hold the largest number, little-endian."""
    smallest = np.min_scalar_type(int(column.max(initial=0)))
    kind = column.dtype if column.dtype == np.uint16 else smallest
    stored = column.astype(np.dtype(kind).newbyteorder("<")).tobytes()
    return {"type": f"Uint{8 * np.dtype(kind).itemsize}Array", "bytes": base64.b64encode(stored).decode()}


def _names(rows: LatentMap) -> tuple[list[str], dict[str, np.ndarray]]:
    """Every name that a row is called by (as predicted, by its label, in truth), and which one; 0 means none."""
    said = {"predicted": rows.predicted, "label": rows.observed}
    if rows.truth is not None:
        said["truth"] = rows.truth
    names = ["", *sorted({str(name) for column in said.values() for name in np.unique(column.astype(str))} - {""})]
    position = {name: i for i, name in enumerate(names)}
    return names, {
        key: np.array([position[name] for name in column.astype(str).tolist()], dtype=np.int64)
        for key, column in said.items()
    }


def _ids(row_ids: np.ndarray) -> list[str] | dict[str, int]:
    """Names of rows; where they count on from a number, that number alone."""
    ids = [str(row_id) for row_id in row_ids.tolist()]
    first = int(ids[0]) if ids and ids[0].isdecimal() else 0
    return {"first": first} if ids == [str(i) for i in range(first, first + len(ids))] else ids
