"""The Attention page in a real browser: words instead of tokens, by keyboard; the head's measures on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import PHONE, Server, wait_idle

Serve = Callable[..., Server]
TEXT = "a 🤖 robot"  # no vocabulary has that picture as one token


def open_page(page: Page, server: Serve) -> None:
    page.goto(f"{server().url}/?{urlencode({'text': TEXT, 'layer': '1', 'head': '1', 'query': '1'})}")
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    wait_idle(page)


def group(page: Page) -> None:
    """Switch to words with the keyboard."""
    switch = page.get_by_role("switch", name="Group tokens to words")
    switch.focus()
    page.keyboard.press("Space")
    expect(page.locator(".st-key-matrix_by_word .js-plotly-plot").first).to_be_visible()
    wait_idle(page)


def click_cell(page: Page, *, row: int, column: int) -> None:
    """Click a cell of the matrix between words."""
    plot = page.locator(".st-key-matrix_by_word .js-plotly-plot")
    plot.scroll_into_view_if_needed()
    spot = plot.evaluate(
        """(plot, [row, column]) => {
            const { xaxis, yaxis, shapes } = plot._fullLayout, box = plot.getBoundingClientRect();
            const x = xaxis.c2p(shapes[0].x0 + column + 0.5), y = yaxis.c2p(shapes[0].y0 + row + 0.5);
            return [box.x + xaxis._offset + x, box.y + yaxis._offset + y];
        }""",
        [row, column],
    )
    page.mouse.move(*spot)
    page.mouse.click(*spot)


def test_stepping_word_by_word(page: Page, server: Serve) -> None:
    open_page(page, server)
    expect(page.locator(".st-key-measures").filter(has_text="L1H1").first).to_be_visible()
    parts = page.get_by_text(re.compile("^⟨F0⟩.* is only a part of the character “.?🤖.?”"))
    expect(parts).to_be_visible()
    group(page)
    expect(parts).to_be_hidden()
    words = page.get_by_role("radiogroup", name="Choose the word").get_by_role("radio")
    expect(page.get_by_text(re.compile("^word 1 of "))).to_be_visible()
    expect(page.locator(".legend")).to_contain_text("chosen word")
    expect(page.get_by_role("button", name="Next word", exact=True)).to_be_visible()
    words.first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text(re.compile("^word 2 of "))).to_contain_text("·🤖")
    expect(page.locator(".st-key-weights_by_word").filter(has_text="Weights of word 2 ·🤖").first).to_be_visible()
    expect(page).to_have_url(re.compile("[?&]query=2(&|$)"))  # the word's first token

    click_cell(page, row=2, column=1)
    expect(page.get_by_text(re.compile(r"query 3 “·robot” reads key 2 “·🤖”: \d"))).to_be_visible()
    expect(words.nth(2)).to_be_checked()
    expect(page).to_have_url(re.compile(r"[?&]query=([3-9]|\d\d)(&|$)"))  # that word's first token

    page.get_by_role("switch", name="Group tokens to words").press("Space")
    expect(page.locator(".st-key-bars .js-plotly-plot").first).to_be_visible()
    expect(page.get_by_text(re.compile(r"^token ([3-9]|\d\d) of "))).to_be_visible()
    expect(page.locator(".legend")).to_contain_text("chosen token")


@pytest.mark.parametrize("color_scheme", ["dark"])
@pytest.mark.parametrize("viewport", [PHONE])
def test_a_phone_shows_words_and_measures_without_scrolling_sideways(page: Page, server: Serve) -> None:
    open_page(page, server)
    group(page)
    expect(page.locator(".st-key-measures").filter(has_text="Mean distance").first).to_be_visible()
    for selector in ("html", "[data-testid=stMain]"):
        width = page.locator(selector).evaluate("node => node.scrollWidth - node.clientWidth")
        assert width <= 0, f"{selector} is {width} pixels too wide"
