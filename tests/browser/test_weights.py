"""The Weights page in a real browser: reached by its link, steered by keyboard, readable on a phone."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import DESKTOP, PHONE, Server, show_in, wait_idle, watch_drawing
from viz.theme import DARK, LIGHT

Serve = Callable[..., Server]
TEXT = "a robot must obey a robot"


def open_weights(page: Page, server: Serve) -> None:
    """From the first page by the link on top (in a narrow window: in the menu), with the text and head kept."""
    page.goto(f"{server().url}/?{urlencode({'text': TEXT, 'layer': '1', 'head': '2'})}")
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    wait_idle(page)
    menu = page.get_by_test_id("stExpandSidebarButton")
    if menu.is_visible():
        menu.click()
    page.get_by_role("link", name="Weights").click()
    expect(page.locator(".st-key-embedding_weights .js-plotly-plot").first).to_be_visible()
    wait_idle(page)


@pytest.mark.parametrize("viewport", [DESKTOP])
def test_another_layer_and_another_statistic_by_keyboard(page: Page, server: Serve) -> None:
    open_weights(page, server)
    expect(page.locator(".st-key-stack").filter(has_text="block 1").first).to_be_visible()
    untouched = watch_drawing(page.locator(".st-key-embedding_weights .js-plotly-plot"))

    page.get_by_role("radiogroup", name="Layer").get_by_role("radio", name="1").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.wait_for_function("new URLSearchParams(location.search).get('layer') === '2'")
    expect(page.get_by_role("heading", name="Block 2")).to_be_visible()
    wait_idle(page)
    assert untouched()  # the embeddings belong to no layer

    statistic = page.get_by_role("radiogroup", name="Each cell stands for several weights and shows the").get_by_role(
        "radio", name="mean"
    )
    statistic.focus()
    page.keyboard.press("Space")
    expect(statistic).to_be_checked()
    page.wait_for_function(
        "document.querySelector('.st-key-block_weights .js-plotly-plot')?.data"
        "?.find(trace => trace.meta?.panel === 0)?.hovertemplate?.includes('the mean: ')"
    )
    assert f"text={TEXT.split()[0]}" in page.url


@pytest.mark.parametrize("viewport", [PHONE])
def test_a_phone_scrolls_charts_inside_their_frames(page: Page, server: Serve) -> None:
    open_weights(page, server)
    for theme in (LIGHT, DARK):
        show_in(page, theme)
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE[0]
        frame = page.locator(".st-key-block_weights .plot-frame")
        assert frame.evaluate("frame => frame.scrollWidth > frame.clientWidth")
    expect(page.get_by_role("cell", name="124,439,808")).to_be_visible()
