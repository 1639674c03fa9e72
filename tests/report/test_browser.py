"""The report in a real browser: it draws, follows the theme, fits a phone and paper, and needs no network."""

import os
import re
import shutil

import numpy as np
import pytest
from make_content import CASES, LONG

from newfound.report.charts import charts

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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("case", CASES)
def test_a_browser_shows_it_without_trouble(case, scheme, contents, open_page):
    page, trouble = open_page(case, color_scheme=scheme)
    assert page.locator("#map .point").count() == len(contents[case].map.x)
    assert page.locator(".plot .main-svg").count() >= len(charts(contents[case]))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) > 384) == (scheme == "light")
    assert trouble == []


def test_a_browser_follows_the_theme_and_the_legend(contents, open_page):
    from playwright.sync_api import expect

    page, trouble = open_page("digits", color_scheme="light")
    mark = page.locator("#map .point").first
    light = mark.evaluate("mark => getComputedStyle(mark).fill")
    page.emulate_media(color_scheme="dark")
    expect(mark).not_to_have_css("fill", light)

    content = contents["digits"]
    new = [c.name for c in content.classes if c.is_new]
    page.get_by_role("button", name="New", exact=True).click()
    assert page.locator("#map .point").count() == np.isin(content.map.predicted, new).sum()
    page.get_by_role("button", name="new-1", exact=True).press("Enter")
    assert page.locator("#map .point").count() == np.isin(content.map.predicted, new[1:]).sum()
    page.get_by_role("button", name="Zoom in").press("Enter")
    assert trouble == []


def test_a_browser_shows_it_on_a_phone_and_on_paper(open_page):
    page, trouble = open_page("wide-table", width=390, color_scheme="dark", has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")
    assert trouble == []


def test_a_long_name_is_cut_in_the_legend_but_not_in_its_card(open_page):
    page, _ = open_page("mixed-table")
    assert page.get_by_role("heading", name=LONG).count() == 1
    assert page.locator(".entry", has_text="a class whose name").inner_text().endswith("…")
