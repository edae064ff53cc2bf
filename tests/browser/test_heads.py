"""The All heads page in a real browser: pointed at and opened by key and by click, marked, readable on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.harness import PHONE, Server, rgb, show_in, wait_idle
from viz.theme import DARK, LIGHT

Serve = Callable[..., Server]
TEXT = "a robot must obey a robot"


def open_heads(page: Page, server: Serve) -> Locator:
    """From the first page by the link on top (in a narrow window: in the menu); the grid, with its marks and words."""
    params = {"text": TEXT, "layer": "0", "head": "0", "compare": "L0H1", "query": "6"}
    page.goto(f"{server().url}/?{urlencode(params)}")
    expect(page.get_by_label("Your text")).to_have_value(TEXT)
    wait_idle(page)
    return go_to_heads(page)


def go_to_heads(page: Page) -> Locator:
    menu = page.get_by_test_id("stExpandSidebarButton")
    if menu.is_visible():
        menu.click()
    page.get_by_role("link", name="All heads").click()
    page.wait_for_function("location.pathname.endsWith('/heads')")
    grid = page.get_by_role("grid", name="All heads")
    expect(grid.locator(".mark.first")).to_be_visible()
    expect(page.locator(".near .words")).to_contain_text("spread over")  # the measures come last
    wait_idle(page)
    return grid


def click_head(grid: Locator, layer: int, head: int) -> None:
    size, pitch = (
        float(grid.evaluate(f"e => parseFloat(getComputedStyle(e).getPropertyValue('--{name}'))"))
        for name in ("size", "pitch")
    )
    at = {"x": head * pitch + size / 2, "y": layer * pitch + size / 2}
    grid.locator("canvas").click(position=at)  # type: ignore[arg-type]


def wait_for_link(page: Page, **params: str) -> None:
    for name, value in params.items():
        page.wait_for_function(
            "([name, value]) => new URLSearchParams(location.search).get(name) === value", arg=[name, value]
        )


def test_marks_follow_the_token_and_keys_open_heads(page: Page, server: Serve) -> None:
    grid = open_heads(page, server)
    expect(page.get_by_text(re.compile("by the weight that 6 ·robot gives to"))).to_be_visible()
    expect(grid.locator(".mark.found").first).to_be_visible()
    # The names of the layers, which stay in sight, leave room for what sticks out of the first column.
    first, layers = grid.locator(".mark.first").bounding_box(), grid.locator(".down").bounding_box()
    assert first is not None
    assert layers is not None
    assert first["x"] - (layers["x"] + layers["width"]) >= 3
    canvas = grid.locator("canvas")
    picture = canvas.evaluate("canvas => canvas.toDataURL()")
    page.get_by_role("button", name="Previous token", exact=True).click()
    expect(page.get_by_text(re.compile("by the weight that 5 ·a gives to"))).to_be_visible()
    # The mark at the token's row moves in every thumbnail.
    before_and_now = [canvas.element_handle(), picture]
    page.wait_for_function("([canvas, before]) => canvas.toDataURL() !== before", arg=before_and_now)

    grid.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(grid.get_by_role("gridcell")).to_have_accessible_name(re.compile(r"^L1H1, .*spread over"))
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    wait_for_link(page, layer="1", head="1", compare="L0H1", query="5", text=TEXT)

    grid = go_to_heads(page)
    grid.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    expect(grid.get_by_role("gridcell")).to_have_accessible_name(re.compile("^L0H0, "))
    page.keyboard.press("Shift+Enter")
    page.wait_for_function("location.pathname.endsWith('/compare')")
    wait_for_link(page, layer="1", head="1", compare="L0H0")


@pytest.mark.parametrize("viewport", [PHONE])
@pytest.mark.parametrize("color_scheme", ["dark"])
def test_a_tap_on_a_phone_puts_a_head_beside(page: Page, server: Serve) -> None:
    grid = open_heads(page, server)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE[0]
    for theme in (LIGHT, DARK):
        show_in(page, theme)
        page.wait_for_function(
            """masked => {
              const grid = [...document.querySelectorAll('[data-testid=stBidiComponentIsolated]')]
                .map((host) => host.shadowRoot?.querySelector('.near canvas')).find(Boolean);
              const [red, green, blue] = grid.getContext('2d').getImageData(grid.width - 4, 4, 1, 1).data;
              return `rgb(${red}, ${green}, ${blue})` === masked;
            }""",
            arg=rgb(theme.masked),
        )
        expect(grid.locator(".mark.first")).to_have_css("outline-color", rgb(theme.roles["query"]))
    page.get_by_text("puts it beside L0H0").click()
    click_head(grid, 1, 0)
    page.wait_for_function("location.pathname.endsWith('/compare')")
    wait_for_link(page, layer="0", head="0", compare="L1H0")
