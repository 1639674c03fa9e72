"""The rows on the map as `map.js` takes them: numbers packed into bytes, a tenth of the text they would be."""

import base64
from typing import Any

import numpy as np

from newfound.report.content import LatentMap, ReportContent
from newfound.report.marks import UNSURE, Mark, marks

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
