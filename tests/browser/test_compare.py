"""Compare heads and Two sentences in a real browser: hovering, locking, the framed row, other heads, another word."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.harness import PHONE, Server, wait_idle, watch_drawing

Serve = Callable[..., Server]
TEXT = "a robot must obey a robot"
HERE = {"text": TEXT, "query": "6", "layer": "0", "head": "0", "compare": "L0H1"}
FRAME = "getComputedStyle(document.querySelector('.st-key-pair'), '::after').top"


def open_page(page: Page, server: Serve, name: str, **params: str) -> None:
    page.goto(f"{server().url}/?{urlencode({**HERE, **params})}")
    expect(chips(page)).to_have_count(6)
    wait_idle(page)
    page.get_by_role("link", name=name, exact=True).click()
    drawn = page.locator(".st-key-pair .js-plotly-plot, .st-key-aligned .js-plotly-plot")
    expect(drawn).to_be_visible()
    wait_idle(page)


def expect_param(page: Page, name: str, value: str) -> None:
    page.wait_for_function(
        "([name, value]) => new URLSearchParams(location.search).get(name) === value", arg=[name, value]
    )


def chips(page: Page, strip: int = 0) -> Locator:
    group = page.get_by_role("radiogroup", name=re.compile("token", re.IGNORECASE)).nth(strip)
    return group.get_by_role("radio")


def expect_drawn(page: Page, chart: str, text: str) -> None:
    """Wait for a chart with `text` in it; while the page is drawn anew, the old one stays beside it for a moment."""
    expect(page.locator(f".st-key-{chart}").filter(has_text=text).first).to_be_visible()


def words(page: Page, strip: int = 0) -> Locator:
    return page.locator(".status[role=status]").nth(strip)


def test_hovering_shows_every_head_until_a_click_locks_and_escape_unlocks(page: Page, server: Serve) -> None:
    open_page(page, server, "Compare heads", compare="L0H1,L1H2")
    lock = page.locator("button.lock")
    chips(page).nth(2).hover()
    expect(words(page)).to_contain_text("token 3 of 6")
    expect(chips(page).nth(2)).to_have_class(re.compile("previewed"))
    # In all three heads at once: nothing is read beyond the token under the pointer, whichever one is chosen.
    assert chips(page).nth(3).locator(".percent").all_text_contents() == ["–"] * 3
    expect(chips(page).nth(5)).to_be_checked()
    chips(page).nth(1).hover()
    expect(words(page)).to_contain_text("token 2 of 6")
    page.get_by_label("Your text").hover()
    expect(words(page)).to_contain_text("token 6 of 6")
    expect(page.locator(".previewed")).to_have_count(0)
    expect_param(page, "query", "6")  # the server has heard of none of it

    before = page.evaluate(FRAME)
    chips(page).nth(3).click()
    expect(lock).to_have_attribute("aria-pressed", "true")
    expect_param(page, "query", "4")
    page.wait_for_function(f"before => {FRAME} !== before", arg=before)
    chips(page).nth(1).hover()
    expect(words(page)).to_contain_text("token 4 of 6")
    page.keyboard.press("ArrowRight")
    expect(words(page)).to_contain_text("token 5 of 6")
    expect_param(page, "query", "5")
    page.keyboard.press("Escape")
    expect(lock).to_have_attribute("aria-pressed", "false")
    chips(page).nth(0).hover()
    expect(words(page)).to_contain_text("token 1 of 6")
    expect(chips(page).nth(4)).to_be_checked()


def test_another_head_and_a_token_chosen_in_its_matrix(page: Page, server: Serve) -> None:
    open_page(page, server, "Compare heads")
    page.get_by_role("button", name="Next head").click()
    expect_drawn(page, "pair", "L0H2")
    expect_drawn(page, "pair_bars", "L0H2")
    expect_drawn(page, "outputs", "result of L0H2")
    expect_param(page, "compare", "L0H2")
    wait_idle(page)
    untouched = watch_drawing(page.locator(".st-key-pair .js-plotly-plot"))
    chips(page).nth(1).click()
    expect_drawn(page, "pair_bars", "query 2 ·robot")
    wait_idle(page)
    assert untouched()
    page.get_by_role("button", name="Add layer 0's average").click()
    expect_drawn(page, "pair", "mean of L0's")
    expect(chips(page).first.locator(".chip")).to_have_count(3)


@pytest.mark.parametrize("color_scheme", ["dark"])
def test_another_word_in_the_second_sentence(page: Page, server: Serve) -> None:
    open_page(page, server, "Two sentences")
    box = page.get_by_role("textbox", name="Second text")
    expect(box).to_have_value(TEXT)
    box.fill("a man must obey a robot")
    expect(page.get_by_text("have a partner")).to_be_visible()
    expect_param(page, "second", "a man must obey a robot")
    expect(chips(page, 1).nth(1)).to_have_text(re.compile("·man"))
    wait_idle(page)
    chips(page, 1).nth(3).click()
    expect(chips(page, 0).nth(3)).to_be_checked()
    expect_param(page, "query", "4")
    expect_drawn(page, "sentences_next", '4 "·obey"')
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    wait_idle(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= PHONE[0]
