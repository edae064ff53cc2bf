"""Inside a block in a real browser: the walk from step to step, and a token step that leaves the weights alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.browser.harness import PHONE, Server, wait_idle

Serve = Callable[..., Server]


def open_block(page: Page, server: Serve) -> None:
    query = urlencode({"text": "a robot must obey a robot", "query": "4", "layer": "1", "head": "2"})
    page.goto(f"{server().url}/?{query}")
    wait_idle(page)
    page.get_by_role("link", name="Inside a block").click()
    expect(page.locator(".st-key-block_strips .js-plotly-plot").first).to_be_visible()
    wait_idle(page)


def test_walking_by_keys_and_buttons_and_in_a_narrow_window(page: Page, server: Serve) -> None:
    open_block(page, server)
    steps = page.get_by_role("radiogroup", name="Steps of one layer")
    steps.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("heading", name="LayerNorm not drawn in the article")).to_be_visible()
    wait_idle(page)
    page.get_by_role("button", name="Next step").click()
    expect(page.get_by_role("heading", name="1) Create q, k, v")).to_be_visible()
    expect(page.get_by_text(re.compile("Recomputed from its inputs, equal: largest difference"))).to_be_visible()
    matrix = page.locator(".st-key-block_matrix .js-plotly-plot")
    expect(matrix).to_be_visible()
    wait_idle(page)

    matrix.evaluate("plot => plot.dataset.untouched = 'yes'")
    page.get_by_role("radiogroup", name=re.compile("token", re.IGNORECASE)).get_by_role("radio").nth(1).click()
    page.wait_for_function("new URLSearchParams(location.search).get('query') === '2'")
    wait_idle(page)
    assert matrix.get_attribute("data-untouched") == "yes"  # the weights do not depend on the token

    page.get_by_role("radio", name="3 blocks").click()
    expect(page.get_by_text("Each block shows one of the numbers")).to_be_visible()

    page.get_by_role("radio", name="Every number").click()
    expect(page.get_by_text("Each block shows one of the numbers")).to_have_count(0)
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    wait_idle(page)
    for label in ("3) Sum", "MLP 2) Second layer", "1) Create q, k, v"):
        page.get_by_role("radiogroup", name="Steps of one layer").get_by_text(label).click()
        expect(page.get_by_role("heading", name=label)).to_be_visible()
        wait_idle(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
