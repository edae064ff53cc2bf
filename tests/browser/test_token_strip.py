"""The token strip in a browser: stepping, what it shows, and staying in step with a slow server."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.harness import PHONE, rgb, show_in, wait_idle
from viz.theme import DARK, LIGHT

# Collects the positions that the strip marks as chosen, in the order in which they appear.
WATCH = """() => {
  const host = document.querySelector('[data-testid=stBidiComponentIsolated]').shadowRoot;
  const group = host.querySelector('[role=radiogroup]');
  window.shown = [];
  new MutationObserver(() => {
    const chosen = [...group.children].findIndex((cell) => cell.getAttribute('aria-checked') === 'true');
    if (chosen >= 0 && window.shown.at(-1) !== chosen) window.shown.push(chosen);
  }).observe(group, { subtree: true, attributes: true, attributeFilter: ['aria-checked'] });
}"""
FOCUSED = "document.activeElement.shadowRoot?.activeElement?.getAttribute('aria-label') ?? ''"


class Strip:
    """The strip on a page, as a person sees it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.cells = page.get_by_role("radio")
        self.status = page.get_by_role("status").first

    def at(self, query: int) -> None:
        """Wait until the strip and the server agree on `query`."""
        expect(self.cells.nth(query)).to_have_attribute("aria-checked", "true")
        expect(self.page.get_by_text(re.compile(rf"^server: {query},"))).to_be_visible()

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)


@pytest.fixture
def open_strip(page, server) -> Callable[..., Strip]:
    def open_strip(**parameters: object) -> Strip:
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        page.goto(f"{server('tests/browser/apps/strip.py').url}?{query}")
        wait_idle(page)
        return Strip(page)

    return open_strip


# ---------------------------------------------------------------- what is shown


def test_percentages_shades_and_words_are_the_articles(open_strip):
    strip = open_strip()
    percentages = strip.page.locator(".percent").all_inner_texts()
    assert percentages[:9] == ["0.1%", "30%", "50%", "0.2%", "0.1%", "0.03%", "0.5%", "1%", "18%"]
    assert percentages[9:] == ["–"] * 6
    expect(strip.status).to_have_text(
        re.compile(r"token 9 of 15 · “·it” looks mostly at 3\s“·robot”\s\(50%\) and 2\s“a”\s\(30%\)")
    )
    expect(strip.cells.nth(2)).to_have_attribute("aria-label", re.compile(r"token 3: .*·robot.*, L3H7 50\.00%"))
    expect(strip.cells.nth(7)).to_have_attribute("aria-label", re.compile(r"L3H7 1\.070%"))
    expect(strip.cells.nth(12)).to_have_attribute("aria-label", re.compile("masked"))
    # A weight is the opacity of the key's colour.
    shades = [
        look.evaluate("e => Number(e.style.getPropertyValue('--w'))") for look in strip.page.locator(".look").all()
    ]
    assert shades[:9] == [0.001, 0.3, 0.5, 0.002, 0.001, 0, 0.005, 0.011, 0.18]
    # A label is text and never markup.
    expect(strip.cells.nth(9).locator("bdi")).to_have_text("<b>bold</b>")
    assert strip.page.locator(".cell b").count() == 0


def test_what_the_pointer_says_follows_the_chosen_token(open_strip):
    strip = open_strip()
    strip.cells.nth(7).click()
    strip.cells.nth(12).hover()
    expect(strip.cells.nth(12)).to_have_attribute("title", re.compile("masked"))
    strip.page.keyboard.press("End")
    expect(strip.cells.nth(12)).to_have_attribute("title", re.compile(r"L3H7 [0-9.]+%"))


def test_parts_of_a_character_are_explained_where_there_are_some(open_strip):
    said = "is only a part of a character, which this vocabulary spells in several tokens."
    strip = open_strip(tokens=14)
    expect(strip.page.locator(".parts")).to_have_text(f"⟨E6⟩⟨A9⟩ {said}")
    for cell, told in ((13, True), (12, False)):
        strip.cells.nth(cell).hover()
        assert ("only a part of a character" in (strip.cells.nth(cell).get_attribute("title") or "")) == told
    strip = open_strip(tokens=13)
    expect(strip.page.locator(".parts")).to_be_hidden()


def test_two_heads_share_the_columns(open_strip):
    strip = open_strip(heads=2)
    lines = len({(cell.bounding_box() or {})["y"] for cell in strip.cells.all()})
    assert strip.page.locator(".gutter span").all_inner_texts() == ["L3H7", "L5H1"] * lines
    first, second = strip.cells.nth(2).locator(".chip").all()
    assert [box["x"] for box in (first.bounding_box(), second.bounding_box()) if box] == pytest.approx(
        [(first.bounding_box() or {})["x"]] * 2
    )
    expect(strip.status.locator("p")).to_have_count(3)
    expect(strip.cells.nth(2)).to_have_attribute("aria-label", re.compile(r"L3H7 50\.00%, L5H1 "))


def test_single_token(open_strip):
    strip = open_strip(tokens=1)
    expect(strip.status).to_have_text("token 1 of 1 · “<s>” can look only at itself (100%)")
    expect(strip.button("Next token")).to_have_attribute("aria-disabled", "true")
    strip.button("Play: step through the tokens").click(force=True)
    strip.at(0)


@pytest.mark.parametrize("viewport", [PHONE])
def test_fits_a_phone(open_strip, viewport):
    strip = open_strip(heads=2)
    for theme in (LIGHT, DARK):
        show_in(strip.page, theme)
        assert strip.page.evaluate("document.documentElement.scrollWidth") == viewport[0]
        for button in ("Previous token", "Play: step through the tokens", "Next token"):
            box = strip.button(button).bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 44


def test_colours_are_the_themes(open_strip):
    strip = open_strip()
    for theme in (LIGHT, DARK):
        show_in(strip.page, theme)
        chosen = strip.cells.nth(8)
        expect(chosen.locator(".chip").first).to_have_css("border-top-color", rgb(theme.roles["query"]))
        expect(strip.button("Play: step through the tokens")).to_have_css("background-color", rgb(theme.roles["query"]))
        expect(strip.page.locator(".status .query")).to_have_css("color", rgb(theme.inks["query"]))


# ---------------------------------------------------------------- stepping


def test_click_arrows_home_and_end(open_strip):
    strip = open_strip()
    strip.cells.nth(4).click()
    strip.at(4)
    wait_idle(strip.page)
    assert "token 5:" in strip.page.evaluate(FOCUSED)  # the focus survives a rerun
    for key, query in (("ArrowRight", 5), ("ArrowLeft", 4), ("End", 14), ("ArrowRight", 14), ("Home", 0)):
        strip.page.keyboard.press(key)
        strip.at(query)
        assert f"token {query + 1}:" in strip.page.evaluate(FOCUSED)
    strip.button("Next token").click()
    strip.at(1)
    strip.page.keyboard.press("ArrowRight")  # the focus is on the button now
    strip.at(2)
    strip.button("Previous token").click()
    strip.at(1)


def test_play_steps_to_the_end_and_starts_again_from_there(open_strip):
    strip = open_strip(tokens=3)
    strip.at(2)
    strip.page.evaluate(WATCH)
    strip.button("Play: step through the tokens").click()
    expect(strip.button("Pause")).to_be_visible()
    expect(strip.button("Pause")).to_be_hidden()
    strip.at(2)
    assert strip.page.evaluate("window.shown") == [0, 1, 2]
    expect(strip.page.get_by_text("heard 3")).to_be_visible()


def test_long_text_keeps_the_chosen_token_in_view_and_the_page_still(open_strip):
    strip = open_strip(tokens=1024)
    strip.cells.first.click()
    for key, query in (("End", 1023), ("Home", 0)):
        strip.page.keyboard.press(key)
        strip.at(query)
        cell, box = strip.cells.nth(query).bounding_box(), strip.page.locator(".scroll").bounding_box()
        assert cell is not None
        assert box is not None
        assert box["y"] <= cell["y"] + 1
        assert cell["y"] + cell["height"] <= box["y"] + box["height"] + 1
        assert strip.page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0
        expect(strip.page.locator(".frame")).to_have_class(f"frame {'below' if query == 0 else 'above'}")
    # The box ends with the chips of a line, which fade: half of it says that there is more below.
    bottom = strip.page.locator(".scroll").evaluate("box => box.getBoundingClientRect().bottom")
    ends = strip.page.locator(".chip").evaluate_all("chips => chips.map(chip => chip.getBoundingClientRect().bottom)")
    assert min(abs(end - bottom) for end in ends) < 4
    strip.page.keyboard.press("End")
    # Cells out of view are brought up to date in spare time.
    expect(strip.cells.first).to_have_attribute("aria-label", re.compile("about 0.0"))
    expect(strip.cells.first.locator(".percent")).not_to_have_text("100%")


# ---------------------------------------------------------------- in step with the server


def test_quick_steps_on_a_slow_server_are_never_thrown_back(open_strip):
    strip = open_strip(tokens=40, slow=0.3)
    strip.cells.nth(8).click()
    strip.page.evaluate(WATCH)
    for _ in range(15):
        strip.page.keyboard.press("ArrowRight")
        strip.page.wait_for_timeout(30)
    strip.at(23)
    wait_idle(strip.page)
    strip.at(23)
    assert strip.page.evaluate("window.shown") == list(range(9, 24))


def test_steps_slower_than_the_pause_are_never_thrown_back(open_strip):
    strip = open_strip(tokens=40, slow=0.3)
    strip.cells.nth(20).click()
    strip.page.evaluate(WATCH)
    for _ in range(10):
        strip.page.keyboard.press("ArrowLeft")
        strip.page.wait_for_timeout(120)
    strip.at(10)
    wait_idle(strip.page)
    strip.at(10)
    assert strip.page.evaluate("window.shown") == list(range(19, 9, -1))


def test_settled_choice_alone_is_reported(open_strip):
    strip = open_strip()
    strip.cells.nth(0).click()
    expect(strip.page.get_by_text("server: 0, heard 1")).to_be_visible()
    strip.cells.nth(0).evaluate(
        "e => { for (let i = 0; i < 9; i++) e.getRootNode().querySelector('[data-act=next]').click() }"
    )
    expect(strip.page.get_by_text("server: 9, heard 2")).to_be_visible()


def test_strip_follows_python(open_strip):
    strip = open_strip()
    strip.cells.nth(12).click()
    strip.at(12)
    strip.button("Go to 3").click()
    strip.at(3)
    strip.cells.nth(12).click()
    strip.at(12)
    strip.button("Go to 3").click()
    strip.at(3)


def test_step_made_before_pythons_answer_arrives_holds(open_strip):
    strip = open_strip(slow=0.5)
    strip.button("Go to 3").click()
    strip.cells.nth(10).click()
    strip.page.keyboard.press("ArrowRight")
    wait_idle(strip.page, quiet_ms=500)
    strip.at(11)


def test_new_text_shows_pythons_query_and_keeps_the_keyboard_working(open_strip):
    strip = open_strip(tokens=20)
    strip.cells.nth(12).click()
    strip.at(12)
    strip.page.get_by_label("Text").fill("second")
    strip.page.keyboard.press("Enter")
    expect(strip.page.get_by_text(re.compile("^server: 12, heard .*, text second$"))).to_be_visible()
    wait_idle(strip.page)
    strip.cells.nth(12).click()
    strip.page.keyboard.press("ArrowRight")
    strip.at(13)
