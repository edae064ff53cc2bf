"""Change heads and Logit lens in a real browser: a head off and on again, the marks and the link, a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import PHONE, Server, wait_idle

Serve = Callable[..., Server]
HERE = {"text": "a robot must obey a robot", "layer": "1", "head": "2", "query": "5"}


def open_page(page: Page, server: Serve, name: str, chart: str) -> None:
    page.goto(f"{server().url}/?{urlencode(HERE)}")
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    page.get_by_role("link", name=name).click()
    expect(page.locator(f".st-key-{chart} .js-plotly-plot").first).to_be_visible()
    wait_idle(page)


def test_a_head_goes_off_by_keyboard_is_marked_everywhere_and_comes_back(page: Page, server: Serve) -> None:
    open_page(page, server, "Change heads", "change_next")
    expect(page.get_by_text("KL(before ‖ after) = 0 bits")).to_be_visible()
    way = page.get_by_role("radio", name="Off: zero")
    way.focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("Changed here: L1H2 (zero).")).to_be_visible()
    expect(page.locator(".st-key-change_matrices .js-plotly-plot").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"off=L1H2%3Azero"))
    expect(page.get_by_text("KL(before ‖ after) = 0 bits")).to_have_count(0)

    matrices = page.locator(".st-key-change_matrices .js-plotly-plot")
    matrices.evaluate("plot => plot.dataset.untouched = 'yes'")
    page.get_by_role("radiogroup", name=re.compile("token", re.IGNORECASE)).get_by_role("radio", checked=True).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".st-key-change_next").filter(has_text='What comes after 6 "·robot"').first).to_be_visible()
    wait_idle(page)
    assert matrices.get_attribute("data-untouched") == "yes"  # stepping leaves the matrices as they are

    links = page.get_by_role("combobox", name="Cut links (query → key)")
    links.focus()
    wait_idle(page, quiet_ms=500)  # a key that is pressed while the page is drawn can be lost
    links.press_sequentially("ro", delay=80)  # both robots
    expect(page.get_by_role("option")).to_have_count(2)
    links.press("Enter")
    expect(page.get_by_text("links cut: L1H2 6 → 2 (rows not renormalised)")).to_be_visible()
    expect(page).to_have_url(re.compile(r"cut=L1H2%3A6%3E2(&|$)"))
    page.keyboard.press("Escape")  # closes the list

    page.get_by_role("link", name="Attention").click()
    expect(page.get_by_text("This page shows the unchanged model.")).to_be_visible()
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    page.reload()
    expect(page.get_by_text(re.compile(r"L1H2 \(zero\); .*This page shows the unchanged model."))).to_be_visible()
    page.get_by_role("button", name="Switch everything back on").click()
    expect(page.get_by_text("This page shows the unchanged model.")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("off="))


@pytest.mark.parametrize("color_scheme", ["dark"])
def test_a_phone_shows_both_pages_without_scrolling_sideways(page: Page, server: Serve) -> None:
    open_page(page, server, "Logit lens", "lens_others")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    expect(page.locator(".st-key-lens").filter(has_text="layer 0").first).to_be_visible()
    wait_idle(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= PHONE[0]
    expect(page.get_by_text("Check: all parts add up")).to_be_visible()
