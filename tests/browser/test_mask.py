"""The page Mask in a real browser: stepping, the other mask value, the article's example beside, a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import PHONE, Server, wait_idle

Serve = Callable[..., Server]
TEXT = "a robot must obey a robot"


def open_page(page: Page, server: Serve, **params: str) -> None:
    page.goto(f"{server().url}/?{urlencode({'text': TEXT, 'query': '3', **params})}")
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    page.get_by_role("link", name="Mask").click()
    expect(page.locator(".st-key-mask_steps .js-plotly-plot").first).to_be_visible()
    wait_idle(page)


def choose(page: Page, name: str) -> None:
    """Choose a segment with the keyboard, and wait for the page without what it showed before."""
    segment = page.get_by_role("radio", name=name)
    segment.focus()
    page.keyboard.press("Space")
    expect(segment).to_be_checked()
    wait_idle(page)


def test_a_walk_through_the_page_by_keyboard(page: Page, server: Serve) -> None:
    open_page(page, server)
    matrices = page.locator(".st-key-mask_steps .js-plotly-plot")
    expect(page.locator(".st-key-training").filter(has_text="example 6").first).to_be_visible()
    matrices.evaluate("plot => plot.dataset.untouched = 'yes'")
    page.get_by_role("radiogroup", name=re.compile("token", re.IGNORECASE)).get_by_role("radio", checked=True).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("p").filter(has_text=re.compile("^While processing \u2068·obey"))).to_be_visible()
    wait_idle(page)
    assert matrices.get_attribute("data-untouched") == "yes"  # stepping leaves the matrices as they are

    choose(page, "−10¹⁰")
    expect(page.locator(".st-key-mask_steps").filter(has_text="later keys become −10¹⁰").first).to_be_visible()
    article = page.locator(".st-key-article_steps .js-plotly-plot")
    expect(article.filter(has_text="later keys become −10¹⁰").filter(has_text="0.48")).to_be_visible()
    expect(page.get_by_text("Fixed numbers")).to_be_visible()
    expect(page.get_by_role("cell", name="0.42 0.58")).to_be_visible()
    own, beside = matrices.bounding_box(), article.bounding_box()
    assert own is not None
    assert beside is not None
    assert own["x"] + own["width"] <= beside["x"]
    assert abs(own["y"] - beside["y"]) < 60


@pytest.mark.parametrize("color_scheme", ["dark"])
def test_a_phone_shows_it_without_scrolling_sideways(page: Page, server: Serve) -> None:
    open_page(page, server, text=f"{TEXT} must obey the orders given to it by human beings")
    table = page.get_by_test_id("stDataFrame")
    wide, whole = table.bounding_box(), page.locator(".st-key-training").first.bounding_box()
    assert wide is not None
    assert whole is not None
    assert abs(wide["width"] - whole["width"]) < 20  # sentences beside the article's example would be cut off
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    wait_idle(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= PHONE[0]
    expect(page.locator(".st-key-mask_steps .js-plotly-plot").first).to_be_visible()
