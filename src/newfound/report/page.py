"""One self-contained HTML page: scripts, styles and images are inside, and its policy forbids network access."""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from newfound._internal.words import if_few_labels, percent
from newfound.report.cards import cards, signed
from newfound.report.charts import UNSURE, confusion, map_data, reliability, training
from newfound.report.content import ReportContent, content_of
from newfound.report.words import (
    TERMINATION_MEANS,
    about_answer,
    about_data,
    about_labels,
    audit_block,
    next_steps,
    shorten,
    squeeze,
    temperature,
)
from newfound.runs.answer import about_classes, answer
from newfound.runs.manifest import put_files
from newfound.runs.run import REPORT, Run


def write_report(run: Run) -> Path:
    """Write (again) the report of a run from the files in its folder."""
    put_files(run.folder, {REPORT: render(content_of(run)).encode()})
    return run.folder / REPORT


def render(content: ReportContent) -> str:
    """The page as text, to be written as UTF-8. The same content always gives the same page."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"signed": signed, "shorten": shorten, "squeeze": squeeze, "percent": percent}
    # Browsers read line ends as newlines on every system. By these hashes the page's policy allows the two scripts, and
    # none that a name might smuggle in.
    scripts = [_stored(name).replace("\r\n", "\n").replace("\r", "\n") for name in ("map.js", "page.js")]
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    ending, calibration, settings = content.termination_condition, content.calibration, content.settings
    few_labels = if_few_labels(calibration.n_labels) if calibration else ""
    page = environment.from_string(_stored("page.html.jinja")).render(
        content=content,
        answer=answer(content.discovered, content.classes, content.audit, content.selection),
        about_data=about_data(content),
        about_answer=about_answer(content),
        about_new=about_classes(content.discovered),
        about_labels=about_labels(content),
        audit=audit_block(content.audit) if content.audit else None,
        next_steps=next_steps(content),
        ending=TERMINATION_MEANS.get(ending, f"Training ended by {ending}."),
        few_labels=few_labels,
        temperature=temperature(calibration) if calibration else "",
        cards=cards(content),
        matrix=confusion(content),
        metrics=content.evaluation.shown if content.evaluation else [],
        map_data=map_data(content),
        unsure=UNSURE,
        panels=training(content.history, few_labels),
        reliability=reliability(calibration) if calibration else "",
        settings={
            "Settings": {name: value for name, value in settings.items() if name != "config"},
            **{part.capitalize(): values for part, values in settings.get("config", {}).items()},
            "Versions": content.versions,
        },
        style=_stored("page.css"),
        scripts=scripts,
        script_hashes=[f"sha256-{value}" for value in hashes],
    )
    return page.encode("utf-8", "replace").decode()  # a name cut in half by a wrong encoding is no reason to fail


def _stored(name: str) -> str:
    return files("newfound.report").joinpath(name).read_text(encoding="utf-8")
