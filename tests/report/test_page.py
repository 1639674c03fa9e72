"""The report: what it says, and that no name can break it."""

import base64
import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from make_content import ATTACK, CASES, CLOSER, large_table
from PIL import Image

from newfound._internal.words import percent
from newfound.evaluation import METRICS
from newfound.explain.audit_record import hidden_sentence
from newfound.report.cards import MAX_CARDS, N_FIRST, cards, data_uri, deviations, limits
from newfound.report.charts import Axis, confusion, map_data, marks, reliability, training, training_curves
from newfound.report.page import render
from newfound.report.words import TERMINATION_MEANS, number, squeeze, temperature
from newfound.runs.answer import answer, discovery_sentences


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
def test_every_class_with_rows_is_there_once_and_the_largest_comes_first(case, contents, parsed):
    content, shown = contents[case], cards(contents[case])
    new = shown.new + shown.more_new
    assert {card.name for card in new} == {c.name for c in content.classes if c.is_new and c.n_discovered > 1}
    assert [card.name for card in shown.known] == [c.name for c in content.known]
    sizes = [card.n_rows for card in new]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) > 1
    assert len(parsed[case].all("article")) == len(shown.new) <= MAX_CARDS
    assert shown.first == new[:N_FIRST]
    anchors = [attributes["id"] for _, attributes in parsed[case].tags if attributes.get("id", "").startswith("class-")]
    assert len([anchor for anchor in anchors if not anchor.endswith("-name")]) == len(new) + len(shown.known)
    for card in new:
        assert " ".join(card.name.split()) in parsed[case].text


def test_ten_thousand_rows_are_less_than_one_and_a_half_megabytes():
    assert len(render(large_table(10_000)).encode()) < 1_500_000


@pytest.mark.parametrize("case", CASES)
def test_contents_lead_to_sections_and_nothing_is_empty(case, pages, parsed):
    links = [link["href"] for link in parsed[case].all("a")]
    ids = {f"#{attributes['id']}" for _, attributes in parsed[case].tags if "id" in attributes}
    assert set(links) <= ids
    sections = [f"#{section['id']}" for section in parsed[case].all("section")]
    assert [link for link in links if link in sections][: len(sections)] == sections
    assert not re.search(r"<(p|h\d|tbody|ul|ol|dl|figure)( [^>]*)?>\s*</", pages[case])


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
    """The only scripts are the map's data, the map and the page's own; the only images are those of the rows."""
    scripts = parsed[case].all("script")
    assert [script.get("type", "") for script in scripts] == ["application/json", "", ""]
    assert all(
        image["src"].startswith(("data:image/png;base64,", "data:image/jpeg;base64,"))
        for image in parsed[case].all("img")
    )
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
    assert "?" in render(replace(contents["mixed-table"], source="caf\udce9"))


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_the_first_thing_said(case, contents, parsed):
    content, text = contents[case], parsed[case].text
    said = answer(content.discovered, content.classes, content.audit, content.selection)
    first = f"{said.found}; {said.reason}: {said.advice}."
    assert first == str(said)
    assert text.index(first) < text.index("newfound suggest") < text.index("Probably yes")
    assert all(sentence in text for sentence in map(" ".join, map(str.split, discovery_sentences(content.discovered))))
    assert "Found on the graph of neighbours. 37 rows (" in text


def test_what_to_look_at_first_is_on_the_first_screen(contents):
    flagged = render(replace(contents["digits"], flags=("<b>code</b> alone determines every label.",)))
    assert "&lt;b&gt;code&lt;/b&gt; alone determines every label." in flagged.partition('class="screen"')[0]


def test_every_new_class_tells_the_labels_it_lacks(contents, parsed):
    (largest,) = [c for c in contents["digits"].classes if c.name == "new-1"]
    expected = round(0.2 * largest.n_rows)
    assert f"would hold about {expected} labels if it were known, and holds none (p " in parsed["digits"].text
    n_new = sum(c.evidence is not None for c in contents["digits"].classes)
    assert parsed["digits"].text.count("if it were known") == n_new == 5


@pytest.mark.parametrize("case", CASES)
def test_the_audit_tells_every_class_that_was_hidden(case, contents, parsed):
    audit, text = contents[case].audit, parsed[case].text
    assert "Probably yes: about 5 kinds of rows (4–6)" in text
    shown = [attributes["title"] for attributes in parsed[case].all("li") if "title" in attributes]
    assert shown[: len(audit.hidden)] == [hidden_sentence(hidden) for hidden in audit.hidden]
    assert "12 labels only" in text
    assert "Communities of the graph alone (F1 0.98) finds hidden classes better than newfound" in text
    assert "k-means from the class means 0.31 4.5" in text
    without = render(replace(contents[case], audit=None))
    assert "Are there classes without labels" not in without
    assert "no known class was hidden to check it: nothing shows how far to trust this" in " ".join(
        Page(without).text.split()
    )


def test_a_description_is_told_with_its_rule_and_its_name_is_a_suggestion(contents, parsed):
    text = parsed["mixed-table"].text
    assert "Rule price > 40 and colour = <b>blue</b>: 96% of its rows, 2% of all others." in text
    assert "Suggested name: blue ones" in text
    assert "On average " in text  # of the class that has none


def test_commands_are_ready_to_be_copied(contents, pages):
    commands = re.findall(r'data-copy="([^"]*)"', pages["digits"])
    largest, closest = contents["digits"].new[0], " ".join(contents["digits"].discovered.closest)
    named = f"&#39;{largest.name}=blue ones&#39;" if largest.description else f"{largest.name}=…"
    assert commands[:5] == [
        f"newfound name run/ {named}",
        f"newfound merge run/ {closest}",
        "newfound suggest run/ --rows 50",
        "newfound label run/ suggest.csv",
        "newfound refit run/ --out run2/",
    ]


def test_every_termination_condition_is_explained(contents):
    from newfound.fitted import Termination

    assert TERMINATION_MEANS.keys() == {str(condition) for condition in Termination}
    for condition, meaning in TERMINATION_MEANS.items():
        assert meaning in Page(render(replace(contents["digits"], termination_condition=condition))).text


def test_no_labels_no_new_classes_and_no_history_still_make_a_page(contents):
    content = contents["digits"]
    only_new = [c.replace(is_new=True) for c in content.classes]
    found = content.discovered.replace(has_labels=False)
    nothing = {"n_labelled": 0, "history": {}, "log": [], "calibration": None, "audit": None}
    page = Page(render(replace(content, classes=only_new, discovered=found, **nothing)))
    assert "rows, none labelled." in page.text
    assert "no row has a label: nothing shows how far to trust this" in page.text
    assert "This run has no training history" in page.text
    assert "Calibration Not available" in page.text
    only_known = [c for c in content.classes if not c.is_new]
    page = Page(render(replace(content, classes=only_known)))
    assert "No row was assigned to a new class" in page.text
    assert "5 known classes, no new class" in page.text


def by_name(content):
    return {c.name: c for c in content.classes}


def test_features_of_a_card_are_those_furthest_from_the_mean(contents):
    content = contents["wide-table"]
    for card in cards(content).new:
        far = np.abs((by_name(content)[card.name].mean - content.feature_mean) / content.feature_std)
        names = [content.feature_names[i] for i in np.argsort(-far)[:8]]
        assert [feature.name for feature in card.table.features] == names
        assert len(card.table.columns) == len(card.table.features[0].values)


def test_a_feature_that_never_varies_sets_nothing_apart(contents):
    content = contents["mixed-table"]
    for card in cards(content).new:
        assert deviations(content, by_name(content)[card.name])[content.feature_names.index("const")] == 0
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
    shown = dict(contents["digits"].evaluation.shown)
    assert shown.keys() == METRICS.keys()
    assert all(f"{name} {value}" in parsed["digits"].text for name, value in shown.items())
    assert shown["non-empty predicted classes"] == "10"
    assert shown["one-to-one accuracy (Hungarian), all"].endswith("%")


def test_numbers_that_rest_on_few_labels_say_so(contents, parsed):
    assert "(from" not in parsed["digits"].text
    assert "by one number, the temperature, 1.37" in parsed["digits"].text
    content = contents["digits"]
    few = content.calibration.replace(bin_rows=np.array([0] * 9 + [12]))
    page = Page(render(replace(content, calibration=few)))
    assert "not trained on (from 12 labels only)." in page.text
    assert "How often a probability was right (from 12 labels only)." in page.text
    assert "validation labels of known classes (from 12 labels only)." in page.text
    assert "With fewer than 30 labels, this is a rough estimate." in page.text
    fewer = content.calibration.replace(bin_rows=np.array([0] * 9 + [9]))
    assert "network's own: correcting them takes 10 validation labels." in temperature(fewer)


def test_every_term_of_the_loss_has_its_printed_name(contents):
    from newfound.fitted import TERM_NAMES

    curves = training_curves(contents["digits"].history)
    expected = ("kl_z", "kl_y", "cross_entropy", "pu_loss")
    assert list(curves["Other terms of the loss"]) == [TERM_NAMES[name] for name in expected]
    assert next(iter(curves["Loss and reconstruction error"])) == TERM_NAMES["loss"]


def test_every_chart_has_words_on_its_axes(contents):
    drawn = [panel.svg for panel in training(contents["digits"].history)] + [
        reliability(contents["digits"].calibration)
    ]
    assert len(drawn) == 5
    for svg in drawn:
        words = re.findall(r'<text class="axis-title"[^>]*>([^<]+)<', svg)
        assert len(words) == 2
        assert "nan" not in svg
    assert Axis("x", -0.03, 1.03, ".0%").ticks == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])


def test_the_whole_configuration_is_shown(contents, parsed):
    for part in contents["digits"].settings["config"].values():
        assert all(name in parsed["digits"].text for name in part)


def unpacked(column):
    kind = {"Uint8Array": "<u1", "Uint16Array": "<u2", "Uint32Array": "<u4"}[column["type"]]
    return np.frombuffer(base64.b64decode(column["bytes"]), kind)


@pytest.mark.parametrize("case", CASES)
def test_the_map_holds_each_row_once_with_its_class_place_and_probability(case, contents):
    content, data = contents[case], map_data(contents[case])
    rows, column = content.map, {name: unpacked(stored) for name, stored in data["columns"].items()}
    assert {len(values) for values in column.values()} == {len(rows.x)}
    groups = np.array([group["name"] for group in data["groups"]], object)
    shown = {c.name for c in (*content.known, *content.new)}
    is_class = rows.is_sure & np.array([name in shown for name in rows.discovered])
    assert (groups[column["group"]] == np.where(is_class, rows.discovered, "not sure")).all()
    assert np.corrcoef(column["x"], rows.x)[0, 1] > 0.9999
    assert np.abs(column["probability"] / 255 - rows.probability).max() <= 0.5 / 255
    assert [data["names"][i] for i in column["label"]] == rows.observed.tolist()
    assert data["ids"] == [str(row_id) for row_id in rows.row_ids]


def test_ids_that_count_on_are_stored_as_their_first(contents):
    content = contents["digits"]
    rows = replace(content.map, row_ids=np.arange(7, 7 + len(content.map.x)))
    assert map_data(replace(content, map=rows))["ids"] == {"first": 7}


def test_known_classes_are_round_and_grey_and_no_two_look_alike(contents):
    for content in contents.values():
        looks = marks(content)
        assert all(
            (mark.shape in ("circle", "ring")) == (not by_name(content)[name].is_new) for name, mark in looks.items()
        )
        assert len(set(looks.values())) == len(looks)


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
    uri = data_uri(np.linspace(0, 1, int(np.prod(shape))), shape, (0, 1))
    image = Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1])))
    assert image.height / image.width == pytest.approx(shape[0] / shape[1], rel=0.02)
    assert max(image.size) <= 72
    assert image.format == ("JPEG" if shape == (300, 200) else "PNG")


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
