"""One self-contained HTML page: scripts, styles and images are inside, and the page forbids itself the network."""

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from newfound.files import replace_file
from newfound.report.assemble import content_of
from newfound.report.audit_block import audit_block
from newfound.report.cards import cards, signed
from newfound.report.charts import charts
from newfound.report.confusion import confusion, metrics
from newfound.report.content import ReportContent
from newfound.report.sentences import facts, shorten, squeeze, summary, temperature, validation_labels
from newfound.runs.discovered import headline, sentences
from newfound.runs.folder import Run


def write_report(run: Run) -> Path:
    """Write (again) the report of a run from what its folder holds."""
    path = run.folder / "report.html"
    replace_file(path, render(content_of(run)).encode())
    return path


def render(content: ReportContent) -> str:
    """The page as text, to be written as UTF-8. The same content always gives the same page."""
    from plotly.offline import get_plotlyjs

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"signed": signed, "shorten": shorten, "squeeze": squeeze}
    scripts = [_for_html(get_plotlyjs()), _for_html(_stored("page.js"))]
    page = environment.from_string(_stored("page.html.jinja")).render(
        content=content,
        facts=facts(content),
        answer=headline(content.discovered),
        about_answer=" ".join(sentences(content.discovered)),
        summary=summary(content),
        audit=None if content.audit is None else audit_block(content.audit),
        cards=cards(content),
        matrix=confusion(content),
        metrics=metrics(content),
        charts=charts(content),
        few_labels=validation_labels(content.calibration),
        temperature=temperature(content.calibration) if content.calibration else "",
        settings=settings_in_groups(content.settings) | {"Versions": content.versions},
        style=_stored("page.css"),
        scripts=scripts,
        script_hashes=[_hash(script) for script in scripts],
    )
    return page.encode("utf-8", "replace").decode()  # a name cut in half by a wrong encoding is no reason to fail


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
