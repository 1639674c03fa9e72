"""Small charts as SVG inside the page: no script draws them, so they print, and colours follow the style sheet."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

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
