"""The report in a real browser: it draws, follows the theme, fits a phone and paper, and needs no network."""

import os
import re
import shutil

import numpy as np
import pytest
from make_content import CASES, LONG, large_table

from newfound.report.page import render

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium; without it these tests are skipped, except where CI promises it."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if chromium is None or sync_playwright is None:
        missing = "chromium is not installed" if chromium is None else "playwright is not installed"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{missing}: the report was not opened")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser, pages, tmp_path):
    """Open a case from its file; whatever the page complains about or asks for is kept in the list given back."""
    opened = []

    def open_it(case, width=1200, **options):
        page = browser.new_page(viewport={"width": width, "height": 800}, **options)
        opened.append(page)
        trouble: list[str] = []
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: _note_network(request.url, trouble))
        (tmp_path / "report.html").write_text(pages[case], encoding="utf-8")
        page.goto((tmp_path / "report.html").as_uri())
        page.wait_for_selector("html[data-drawn=all]")
        return page, trouble

    yield open_it
    for page in opened:
        page.close()


def _note_network(url: str, trouble: list[str]) -> None:
    if not url.startswith(("file:", "data:", "blob:")):
        trouble.append(f"request: {url}")


FRAME = "document.getElementById('map').map.frame()"
COLOURS = """() => {  // of the map's pixels, and how many there are of each
  const canvas = document.querySelector("#map canvas"), context = canvas.getContext("2d"), n = {};
  const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
  for (let i = 0; i < data.length; i += 4) {
    const colour = data.slice(i, i + 3).join();
    n[colour] = (n[colour] || 0) + 1;
  }
  return n;
}"""
CONTRAST = """() => {  // the texts that can be seen and have less than 4.5 : 1 with what is behind them
  const rgb = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    const colour = rgb(getComputedStyle(element).backgroundColor);
    return colour.length < 4 || colour[3] === 1 ? colour : behind(element.parentElement);
  };
  const texts = "h1, h1 span, h2, h3, p, a, small, button, td:not([style]), th, dt, dd, code, b, li";
  return [...document.querySelectorAll(texts)].filter((element) => {
    if (!element.offsetParent || !element.textContent.trim()) return false;
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05) < 4.5;
  }).map((element) => element.outerHTML.slice(0, 80));
}"""


def n_like(colours: dict[str, int], colour: list[int]) -> int:
    """How many pixels are near a colour."""
    distance = {c: sum(abs(int(a) - b) for a, b in zip(c.split(","), colour, strict=True)) for c in colours}
    return sum(n for c, n in colours.items() if distance[c] < 30)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("case", CASES)
def test_a_browser_shows_it_without_trouble(case, scheme, contents, open_page):
    page, trouble = open_page(case, color_scheme=scheme)
    assert page.evaluate(FRAME)["n"] == len(contents[case].map.x)
    assert len(page.evaluate(COLOURS)) > 20
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) > 384) == (scheme == "light")
    assert page.evaluate(CONTRAST) == []
    assert trouble == []


def test_the_first_screen_holds_the_answer_the_map_the_classes_and_what_to_do(open_page):
    page, _ = open_page("digits", width=1280)
    for selector in ("h1", "#map", ".brief li:last-child", ".steps li:first-child"):
        box = page.locator(selector).bounding_box()
        assert box["y"] + box["height"] <= 800, selector


def test_many_classes_do_not_make_a_long_page(open_page):
    page, _ = open_page("wide-table", width=1280)
    assert page.evaluate("document.documentElement.scrollHeight") < 9000


def test_a_chosen_class_dims_the_others_in_place(contents, open_page):
    page, trouble = open_page("digits")
    name = contents["digits"].new[0].name
    style = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--known-0')").strip()
    known = [int(style[i : i + 2], 16) for i in (1, 3, 5)]
    before = n_like(page.evaluate(COLOURS), known)
    entry = page.locator(".brief .entry", has_text=name)
    entry.press("Enter")
    assert entry.get_attribute("aria-pressed") == "true"
    assert page.evaluate(FRAME)["chosen"] is not None
    assert n_like(page.evaluate(COLOURS), known) < before / 10
    entry.press("Enter")
    assert page.evaluate(FRAME)["chosen"] is None
    assert n_like(page.evaluate(COLOURS), known) == before
    assert trouble == []


def test_the_theme_can_be_chosen_and_follows_the_system(open_page):
    page, trouble = open_page("digits", color_scheme="light")
    light = page.evaluate(COLOURS)
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("#theme:has-text('Light')")
    dark = page.evaluate(COLOURS)
    assert max(light, key=light.get) != max(dark, key=dark.get)
    page.get_by_role("button", name="Use light colours").click()
    assert page.evaluate(COLOURS) == light
    assert trouble == []


def test_keys_and_buttons_move_the_map(open_page):
    page, trouble = open_page("digits")
    page.locator("#map").focus()
    page.keyboard.press("+")
    assert page.evaluate(FRAME)["k"] == pytest.approx(1.5)
    x = page.evaluate(FRAME)["tx"]
    page.keyboard.press("ArrowRight")
    assert page.evaluate(FRAME)["tx"] < x
    page.keyboard.press("-")
    assert page.evaluate(FRAME)["k"] == pytest.approx(1)
    page.get_by_role("button", name="Zoom in").press("Enter")
    page.get_by_role("button", name="Reset").press("Enter")
    assert page.evaluate(FRAME)["k"] == 1
    page.locator("#map").focus()
    page.mouse.move(400, 300)
    page.mouse.wheel(0, -200)
    page.wait_for_function(f"{FRAME}.k > 1")
    assert trouble == []


def test_a_lasso_chooses_the_rows_inside_it_and_gives_their_ids(contents, open_page):
    page, trouble = open_page("wide-table", accept_downloads=True)
    box = page.locator("#map").bounding_box()
    middle, low = box["x"] + box["width"] / 2, box["y"] + 2
    around = [(middle, low), (box["x"] + box["width"] - 2, low), (box["x"] + box["width"] - 2, low + box["height"] - 4)]
    page.get_by_role("button", name="Lasso").click()
    page.mouse.move(*around[0])
    page.mouse.down()
    for place in [*around[1:], (middle, low + box["height"] - 4)]:
        page.mouse.move(*place)
    page.mouse.up()
    rows = contents["wide-table"].map
    places = page.evaluate("[...Array(2000).keys()].map((i) => document.getElementById('map').map.place(i)[0])")
    inside = np.array(places) > box["width"] / 2
    assert 0 < inside.sum() < 2000
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0] == "row_id,class"
    chosen = {line.split(",")[0] for line in lines[1:]}
    border = np.abs(np.array(places) - box["width"] / 2) < 1.5
    assert chosen ^ set(rows.row_ids[inside]) <= set(rows.row_ids[border])
    page.locator("#map").focus()
    page.keyboard.press("Escape")
    assert page.evaluate(FRAME)["selected"] == 0
    assert trouble == []


def test_pointing_at_a_row_tells_its_name_class_and_probability(contents, open_page):
    page, _ = open_page("mixed-table")
    box = page.locator("#map").bounding_box()
    x, y = page.evaluate("document.getElementById('map').map.place(3)")
    page.mouse.move(box["x"] + x, box["y"] + y)
    tip = page.locator(".map-tip").inner_text()
    assert "row " in tip
    assert "probability " in tip


@pytest.mark.parametrize("case", CASES)
def test_a_browser_shows_it_on_a_phone_and_on_paper(case, open_page):
    page, trouble = open_page(case, width=390, color_scheme="dark", has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = page.evaluate("[...document.querySelectorAll('.lines tbody tr')].map((row) => row.offsetHeight)")
    assert max(heights) < 200  # no column is a tower of letters or pictures
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".contents").is_visible()
    assert page.pdf().startswith(b"%PDF")
    assert trouble == []


def test_sixty_thousand_rows_move_without_being_drawn_again(browser, tmp_path):
    (tmp_path / "report.html").write_text(render(large_table(60_000)), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("html[data-drawn=all]")
    assert page.evaluate(FRAME)["n"] == 60_000
    page.evaluate("for (let i = 0; i < 30; i++) document.getElementById('map').map.zoom(1.02)")
    assert page.evaluate(FRAME)["k"] == pytest.approx(1.02**30)
    page.close()


def test_a_long_name_is_cut_on_the_map_but_not_in_its_card(open_page):
    page, _ = open_page("mixed-table")
    assert page.get_by_role("heading", name=LONG).count() == 1
    assert page.locator(".brief .entry", has_text="a class whose name").inner_text().endswith("…")
