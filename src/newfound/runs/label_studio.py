"""Label Studio: rows to label as tasks with predictions, the labelling interface for them, and what it exports."""

import base64
import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from newfound.errors import DataError

CHOICE, NEW_NAME, OBJECT = "label", "new_name", "row"  # names of the tags
ID, REASON = "newfound_row_id", "newfound_reason"  # fields of a task


def task(row_id: str, shown: dict[str, Any], class_name: str, probability: float, reason: str) -> dict[str, Any]:
    """One row: what is shown of it, and what it would be now."""
    choice = {
        "from_name": CHOICE,
        "to_name": OBJECT,
        "type": "choices",
        "value": {"choices": [class_name]},
    }
    prediction = {"model_version": "newfound", "score": round(float(probability), 4), "result": [choice]}
    return {"data": {ID: row_id, REASON: reason, **shown}, "predictions": [prediction]}


def interface(class_names: list[str], *, is_image: bool) -> str:
    """The labelling configuration: the row, a choice for each class there is now, and room for the name of another."""
    view = ElementTree.Element("View")
    ElementTree.SubElement(view, "Header", value=f"${REASON}")
    if is_image:
        ElementTree.SubElement(view, "Image", name=OBJECT, value="$image")
    else:
        ElementTree.SubElement(view, "Table", name=OBJECT, value="$columns")
    choices = ElementTree.SubElement(view, "Choices", name=CHOICE, toName=OBJECT, choice="single", showInLine="true")
    for name in class_names:
        ElementTree.SubElement(choices, "Choice", value=name)
    other = {"name": NEW_NAME, "toName": OBJECT, "placeholder": "or the name of another class", "maxSubmissions": "1"}
    ElementTree.SubElement(view, "TextArea", other)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def as_data_uri(pixels: np.ndarray, shape: tuple[int, ...]) -> str:
    """An image inside a task, so that no file has to be served."""
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(pixels.reshape(shape).astype(np.uint8)).save(buffer, format="PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def read_export(path: Path) -> Iterator[tuple[str, str]]:
    """Row ids and labels from an export as JSON or JSON-MIN; "" where a row was skipped."""
    try:
        tasks = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path.name!r} cannot be read as JSON ({error}). Export from Label Studio again.") from None
    if not isinstance(tasks, list) or not all(isinstance(each, dict) for each in tasks):
        raise DataError(f"{path.name!r} must be a list of tasks. Export from Label Studio as JSON or JSON-MIN.")
    for each in tasks:
        data = each.get("data", each)
        if ID not in data:
            raise DataError(f"A task in {path.name!r} has no {ID!r}. Export tasks that `newfound suggest` made.")
        labels = list(_labels(each)) or [""]
        yield from ((str(data[ID]), label) for label in labels)


def _labels(exported: dict[str, Any]) -> Iterator[str]:
    """Of each annotation that was not cancelled; a written name counts more than a choice."""
    if "annotations" not in exported:  # JSON-MIN
        yield str(exported.get(NEW_NAME) or exported.get(CHOICE) or "")
        return
    for annotation in exported["annotations"]:
        if annotation.get("was_cancelled"):
            continue
        values = {result.get("from_name"): result.get("value", {}) for result in annotation.get("result", [])}
        written = values.get(NEW_NAME, {}).get("text") or []
        chosen = values.get(CHOICE, {}).get("choices") or []
        yield str(([written] if isinstance(written, str) else written + chosen or [""])[0])
