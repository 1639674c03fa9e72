"""One self-contained HTML page: scripts, styles and images are inside, and the page forbids itself the network."""

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from newfound._internal.words import percent
from newfound.report.cards import cards, signed
from newfound.report.charts import UNSURE, confusion, map_data, metrics, reliability, training
from newfound.report.content import ReportContent, content_of
from newfound.report.words import (
    about_answer,
    about_data,
    about_labels,
    audit_block,
    meaning_of,
    next_steps,
    shorten,
    squeeze,
    temperature,
    validation_labels,
)
from newfound.runs.answer import about_classes, answer
from newfound.runs.manifest import put_files
from newfound.runs.run import REPORT, Run


def write_report(run: Run) -> Path:
    """Write (again) the report of a run from what its folder holds."""
    put_files(run.folder, {REPORT: render(content_of(run)).encode()})
    return run.folder / REPORT


def render(content: ReportContent) -> str:
    """The page as text, to be written as UTF-8. The same content always gives the same page."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"signed": signed, "shorten": shorten, "squeeze": squeeze, "percent": percent}
    scripts = [_for_html(_stored(name)) for name in ("map.js", "page.js")]
    page = environment.from_string(_stored("page.html.jinja")).render(
        content=content,
        **_said(content),
        **_drawn(content),
        settings=settings_in_groups(content.settings) | {"Versions": content.versions},
        style=_stored("page.css"),
        scripts=scripts,
        script_hashes=[_hash(script) for script in scripts],
    )
    return page.encode("utf-8", "replace").decode()  # a name cut in half by a wrong encoding is no reason to fail


def _said(content: ReportContent) -> dict[str, Any]:
    """What stands on the page in words."""
    return {
        "answer": answer(content.discovered, content.classes, content.audit, content.selection),
        "about_data": about_data(content),
        "about_answer": about_answer(content),
        "about_new": about_classes(content.discovered),
        "about_labels": about_labels(content),
        "audit": None if content.audit is None else audit_block(content.audit),
        "next_steps": next_steps(content),
        "ending": meaning_of(content.termination_condition),
        "few_labels": validation_labels(content.calibration),
        "temperature": temperature(content.calibration) if content.calibration else "",
    }


def _drawn(content: ReportContent) -> dict[str, Any]:
    """What stands on the page as cards, tables, charts and the map."""
    return {
        "cards": cards(content),
        "matrix": confusion(content),
        "metrics": metrics(content),
        "map_data": map_data(content),
        "unsure": UNSURE,
        "panels": training(content.history, validation_labels(content.calibration)),
        "reliability": reliability(content.calibration) if content.calibration else "",
    }


def settings_in_groups(settings: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The estimator's keywords, then the parts of its configuration, each under its title."""
    keywords = {name: value for name, value in settings.items() if name != "config"}
    return {"Settings": keywords} | {part.capitalize(): of for part, of in settings.get("config", {}).items()}


def _stored(name: str) -> str:
    return files("newfound.report").joinpath(name).read_text(encoding="utf-8")


def _for_html(script: str) -> str:
    """As a browser reads it inside a page: line ends are newlines, whichever system this is."""
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _hash(script: str) -> str:
    """By which the page's security policy lets these two scripts run, and no script that a name might smuggle in."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
