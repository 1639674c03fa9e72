"""The report: what it says, and that no name can break it."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from make_content import ATTACK, CASES, CLOSER

from newfound.auditing import hidden_sentence
from newfound.evaluation import METRICS
from newfound.report.cards import cards, deviations
from newfound.report.charts import charts
from newfound.report.confusion import confusion, metrics
from newfound.report.page import render
from newfound.report.pictures import data_uri, limits
from newfound.report.sentences import TERMINATION_MEANS, number, percent, squeeze, summary, temperature
from newfound.runs import headline, sentences


class Page(HTMLParser):
    """A page as a browser reads it: texts, tags and attributes."""

    def __init__(self, html: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data):
        if self.get_starttag_text() is None or not self.get_starttag_text().startswith(("<script", "<style")):
            self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def parsed(pages):
    return {name: Page(html) for name, html in pages.items()}


@pytest.mark.parametrize("case", CASES)
def test_every_class_has_a_card_with_its_name(case, contents, parsed):
    for content_class in contents[case].classes:
        assert " ".join(content_class.name.split()) in parsed[case].text
    assert len(parsed[case].all("article")) == len(contents[case].classes)


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_loaded_from_anywhere(case, pages, parsed):
    for tag, attributes in parsed[case].tags:
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
    style = re.search(r"<style>(.*?)</style>", pages[case], re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style


@pytest.mark.parametrize("case", CASES)
def test_names_cannot_become_code(case, parsed):
    """The only scripts are the charts' data, plotly and our own; the only images are those of the rows."""
    scripts = parsed[case].all("script")
    assert [script.get("type", "") for script in scripts] == ["application/json", "", ""]
    assert all(image["src"].startswith("data:image/png;base64,") for image in parsed[case].all("img"))
    assert not any(name.startswith("on") for _, attributes in parsed[case].tags for name in attributes)


def test_awkward_names_are_shown_as_they_are(pages, parsed):
    assert ATTACK in parsed["mixed-table"].text
    assert CLOSER in parsed["mixed-table"].text
    assert ATTACK not in pages["mixed-table"]
    assert CLOSER not in pages["mixed-table"]


@pytest.mark.parametrize("case", CASES)
def test_every_image_says_what_it_shows_and_headings_do_not_skip_a_level(case, parsed):
    assert all(image["alt"] for image in parsed[case].all("img"))
    levels = [int(tag[1]) for tag, _ in parsed[case].tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_the_same_content_gives_the_same_page(contents, pages):
    assert render(contents["mixed-table"]) == pages["mixed-table"]


def test_half_a_character_is_no_reason_to_fail(contents):
    assert "?" in render(replace(contents["mixed-table"], title="caf\udce9"))


@pytest.mark.parametrize("case", CASES)
def test_the_number_of_new_classes_is_the_first_thing_said(case, contents, parsed):
    found, text = contents[case].discovered, parsed[case].text
    assert text.index(headline(found)) < text.index("Probably yes")
    assert all(sentence in text for sentence in map(" ".join, map(str.split, sentences(found))))
    assert f"{found.n_new} new classes (could be {found.n_new - 1} to {found.n_new + 1})" in text
    assert "Found on the graph of neighbours. 37 rows (" in text


def test_every_new_class_tells_the_labels_it_lacks(contents, parsed):
    (largest,) = [c for c in contents["digits"].classes if c.name == "new-1"]
    expected = round(0.2 * largest.n_rows)
    assert f"would hold about {expected} labels if it were known, and holds none (the chance of so few: " in (
        parsed["digits"].text
    )
    n_new = sum(c.evidence is not None for c in contents["digits"].classes)
    assert parsed["digits"].text.count("if it were known") == n_new == 5


@pytest.mark.parametrize("case", CASES)
def test_the_audit_comes_first_with_every_class_that_was_hidden(case, contents, parsed):
    audit, text = contents[case].audit, parsed[case].text
    assert text.index("Probably yes: about 5 kinds of rows (4–6)") < text.index(
        " ".join(summary(contents[case]).split())
    )
    shown = [attributes["title"] for attributes in parsed[case].all("li") if "title" in attributes]
    assert shown[: len(audit.hidden)] == [hidden_sentence(hidden) for hidden in audit.hidden]
    assert "12 labels only" in text
    assert "Are there classes nobody" not in render(replace(contents[case], audit=None))


def test_summary_says_what_went_in_and_what_was_found(contents):
    content = contents["digits"]
    text = summary(content)
    assert "1,797 rows" in text
    assert f"{content.n_labelled:,}" in text
    assert "5 known classes" in text
    assert "5 new classes" in text
    assert "1 more new class stayed empty" in text
    assert "4 labels (2%) disagree with the prediction" in text


def test_summary_explains_every_termination_condition(contents):
    from newfound.training import Termination

    assert TERMINATION_MEANS.keys() == {str(condition) for condition in Termination}
    for condition, meaning in TERMINATION_MEANS.items():
        assert meaning in summary(replace(contents["digits"], termination_condition=condition))


def test_no_labels_no_new_classes_and_no_history_still_make_a_page(contents):
    content = contents["digits"]
    only_new = [replace(c, is_new=True) for c in content.classes]
    page = Page(render(replace(content, classes=only_new, n_labelled=0, history={}, log=[], calibration=None)))
    assert "none of them labelled" in page.text
    assert "This run has no training history" in page.text
    assert "Calibration Not available" in page.text
    only_known = [c for c in content.classes if not c.is_new]
    assert "No row was assigned to a new class" in Page(render(replace(content, classes=only_known))).text


def test_features_of_a_card_are_those_furthest_from_the_mean(contents):
    content = contents["wide-table"]
    for card, c in zip(cards(content), content.classes, strict=True):
        if c.n_rows:
            far = np.abs((c.mean - content.feature_mean) / content.feature_std)
            names = [content.feature_names[i] for i in np.argsort(-far)[:8]]
            assert [feature.name for feature in card.table.features] == names
            assert len(card.table.columns) == len(card.table.features[0].values)


def test_a_feature_that_never_varies_sets_nothing_apart(contents):
    content = contents["mixed-table"]
    for card, c in zip(cards(content), content.classes, strict=True):
        assert deviations(content, c)[content.feature_names.index("const")] == 0
        assert "const" not in [feature.name for feature in card.table.features]


@pytest.mark.parametrize("case", ["digits", "wide-table"])
def test_confusion_matrix_keeps_every_row_and_groups_new_classes(case, contents):
    content = contents[case]
    matrix = confusion(content)
    assert sum(cell.n_rows for line in matrix.lines for cell in line.cells) == content.n_rows
    assert sum(group.n_columns for group in matrix.groups) == len(matrix.columns)
    new = [group.name for group in matrix.groups if group.is_new]
    assert len(new) == len(set(new))
    for at, column in enumerate(matrix.columns):
        c = next(c for c in content.classes if c.name == column.name)
        assert column.is_new == c.is_new
        assert sum(line.cells[at].n_rows for line in matrix.lines) == c.n_rows
    empty = {c.name for c in content.classes if c.is_new and not c.n_rows}
    assert {column.name for column in matrix.columns} == {c.name for c in content.classes} - empty


def test_every_metric_has_its_exact_name_and_format(contents, parsed):
    shown = dict(metrics(contents["digits"]))
    assert shown.keys() == METRICS.keys()
    assert all(f"{name} {value}" in parsed["digits"].text for name, value in shown.items())
    assert shown["non-empty predicted classes"] == "10"
    assert shown["one-to-one accuracy (Hungarian), all"].endswith("%")


def test_numbers_that_rest_on_few_labels_say_so(contents, parsed):
    assert "(from" not in parsed["digits"].text
    assert "by one number, the temperature, 1.37" in parsed["digits"].text
    content = contents["digits"]
    few = replace(content.calibration, bin_rows=np.array([0] * 9 + [12]))
    page = Page(render(replace(content, calibration=few)))
    assert "not trained on (from 12 labels only)." in page.text
    assert "validation labels of known classes (from 12 labels only)." in page.text
    assert "fitted on these same labels. So few labels say little" in page.text
    fewer = replace(content.calibration, bin_rows=np.array([0] * 9 + [9]))
    assert "network's own: to correct them takes 10 validation labels." in temperature(fewer)
    drawn = charts(replace(content, calibration=few))["calibration"]
    assert drawn["layout"]["yaxis"]["title"]["text"] == "accuracy (from 12 labels only)"


def test_every_term_of_the_loss_has_its_printed_name(contents):
    from newfound.training import TERM_NAMES

    drawn = charts(contents["digits"])
    names = [trace["name"] for trace in drawn["terms"]["data"]]
    expected = ("kl_z", "kl_y", "cross_entropy", "pu_loss")
    assert names == [TERM_NAMES[name] for name in expected]
    assert drawn["loss"]["data"][0]["name"] == TERM_NAMES["loss"]


def test_the_whole_configuration_is_shown(contents, parsed):
    for part in contents["digits"].settings["config"].values():
        assert all(name in parsed["digits"].text for name in part)


def test_map_shows_each_row_once_and_new_classes_by_shape(contents):
    for content in contents.values():
        traces = charts(content)["map"]["data"]
        assert sum(len(trace["x"]) for trace in traces) == len(content.map.x)
        is_round = {
            c.name: t["marker"]["symbol"].startswith("circle") for c, t in zip(content.classes, traces, strict=True)
        }
        assert is_round == {c.name: not c.is_new for c in content.classes}
        looks = [(t["marker"]["symbol"], t["marker"]["color"]) for t in traces]
        assert len(set(looks)) == len(looks)


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (np.array([[3, 200]], np.uint8), (0, 255)),
        (np.array([[0.1, 0.9]]), (0, 1)),
        (np.array([[-2.0, 16.0, np.nan]]), (-2, 16)),
        (np.full((1, 2), np.nan), (0, 1)),
    ],
)
def test_limits_of_images(X, expected):
    assert limits(X) == expected


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 1), (4, 6, 3), (4, 6, 4), (4, 6, 2), (300, 200)])
def test_images_of_every_shape_become_pngs(shape):
    import base64
    import io

    from PIL import Image

    uri = data_uri(np.linspace(0, 1, int(np.prod(shape))), shape, (0, 1))
    image = Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1])))
    assert image.height / image.width == pytest.approx(shape[0] / shape[1], rel=0.02)
    assert max(image.size) <= 128


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (0.70711, 0.25, "0.71"),
        (-0.001, 0.25, "0.00"),
        (-2.5, 1.0, "−2.5"),
        (25200.4, 9000.0, "25,200"),
        (1.2e-7, 1e-6, "1.2e−07"),
        (float("nan"), 1.0, "–"),
    ],
)
def test_numbers_have_the_digits_their_feature_needs(value, spread, text):
    assert number(value, spread) == text


def test_shares_and_names_are_not_made_to_look_like_others():
    assert [percent(share) for share in (0, 0.001, 0.5, 0.9999, 1)] == ["0%", "<1%", "50%", "99.9%", "100%"]
    assert squeeze("subject-07/013", 9) == "subj…/013"
    assert squeeze("short", 9) == "short"
