"""The mark of each class: known ones are round and quiet, new ones are angular and have colours of their own.

Shape tells known from new without any colour. The hues of new classes are told apart by nearly all readers, and those
that come close to each other have different shapes. The colours are in `page.css`, once for light and once for dark.
"""

from typing import NamedTuple

from newfound.report.content import ReportContent

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
