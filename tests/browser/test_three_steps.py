"""The three steps in a real browser: walked by keys, with the mask off, on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.harness import PHONE, Server, wait_idle

Serve = Callable[..., Server]
TEXT = "a robot must obey a robot"


def open_page(page: Page, server: Serve, **params: str) -> None:
    page.goto(f"{server().url}/?{urlencode({'text': TEXT, 'query': '4', 'layer': '1', 'head': '2', **params})}")
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    page.get_by_role("link", name="Three steps").click()
    expect(page.locator(".st-key-map .js-plotly-plot").first).to_be_visible()
    wait_idle(page)


def step(page: Page, name: str) -> Locator:
    return page.get_by_role("radiogroup", name="Step", exact=True).get_by_role("radio", name=name)


def test_the_steps_are_walked_by_keys_and_the_chosen_token_stays(page: Page, server: Serve) -> None:
    open_page(page, server)
    expect(page.locator(".st-key-map").filter(has_text="Masked self-attention").first).to_be_visible()
    expect(page.locator(".st-key-created").filter(has_text="x of 4 ·obey").first).to_be_visible()
    step(page, "1 Create q, k, v").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-products").filter(has_text="−∞").first).to_be_visible()
    expect(page.locator(".st-key-bars .js-plotly-plot").first).to_be_visible()
    expect(page.get_by_text(re.compile("largest difference from the model's scores"))).to_be_visible()
    step(page, "3 Sum").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-sum").filter(has_text="The model's own z").first).to_be_visible()
    expect(page.get_by_text(re.compile("largest difference from the model's own z"))).to_be_visible()

    page.get_by_role("radiogroup", name=re.compile("token", re.IGNORECASE)).get_by_role("radio").nth(1).click()
    expect(page.locator(".st-key-sum").filter(has_text="for 2 ·robot").first).to_be_visible()
    page.get_by_role("switch", name="Mask").or_(page.get_by_role("checkbox", name="Mask")).focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("GPT-2 was not trained this way")).to_be_visible()
    expect(page.get_by_text(re.compile("differs from the model's own"))).to_be_visible()
    expect(page.locator(".st-key-map").filter(has_text="Masked")).to_have_count(0)
    page.get_by_role("link", name="Compare heads").click()
    expect(page.locator(".st-key-pair .js-plotly-plot").first).to_be_visible()
    page.get_by_role("link", name="Three steps").click()
    expect(step(page, "3 Sum")).to_be_checked()
    expect(page.get_by_text("GPT-2 was not trained this way")).to_be_visible()


@pytest.mark.parametrize("color_scheme", ["dark"])
def test_a_phone_scrolls_the_charts_and_not_the_page(page: Page, server: Serve) -> None:
    open_page(page, server, text="A robot must obey the orders given it by human beings.")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    for name in ("1 Create q, k, v", "All"):
        step(page, name).click()
        wait_idle(page)
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= PHONE[0]
