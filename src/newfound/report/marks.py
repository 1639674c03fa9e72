"""The mark of each class: known ones are round and cool, new ones are angular and warm.

Shape tells known from new without any colour; hues lie on the blue-orange axis, which nearly all readers see, and
within a family they differ in lightness. The colours themselves are in `page.css`, once for light and once for dark.
"""

from collections.abc import Sequence
from typing import NamedTuple

from newfound.report.content import ClassContent

N_COLOURS = 6  # of each family
KNOWN_SHAPES = {
    "circle": "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11Z",
    "circle-open": "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11Zm0 2.2a3.3 3.3 0 1 1 0 6.6a3.3 3.3 0 1 1 0-6.6Z",
}
NEW_SHAPES = {
    "diamond": "M8 1L15 8L8 15L1 8Z",
    "triangle-up": "M8 2L15 14H1Z",
    "square": "M2.5 2.5H13.5V13.5H2.5Z",
    "cross": "M5.7 1.5H10.3V5.7H14.5V10.3H10.3V14.5H5.7V10.3H1.5V5.7H5.7Z",
    "triangle-down": "M8 14L1 2H15Z",
    "star": "M8 1L10 6H15L11 9.4L12.6 15L8 11.6L3.4 15L5 9.4L1 6H6Z",
    "bowtie": "M1.5 2.5L14.5 13.5V2.5L1.5 13.5Z",
}


class Mark(NamedTuple):
    """How a class is drawn on the map and in its legend."""

    colour: str  # a custom property of the style sheet
    symbol: str  # plotly's name
    path: str  # the same shape as an SVG path of 16 × 16


def marks(classes: Sequence[ClassContent]) -> dict[str, Mark]:
    """By name. A known class opens its circle once the colours are used up; a new one changes colour and shape."""
    known = [c.name for c in classes if not c.is_new]
    new = [c.name for c in classes if c.is_new]
    return {name: _mark(i, "known", KNOWN_SHAPES) for i, name in enumerate(known)} | {
        name: _mark(i, "new", NEW_SHAPES) for i, name in enumerate(new)
    }


def _mark(i: int, family: str, shapes: dict[str, str]) -> Mark:
    symbols = list(shapes)
    symbol = symbols[(i // N_COLOURS if family == "known" else i) % len(symbols)]
    return Mark(f"--{family}-{i % N_COLOURS}", symbol, shapes[symbol])
