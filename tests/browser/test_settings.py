"""A page's own choices in a real browser: in the address, after a reload, and where Back and Forward lead."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect

from tests.browser.harness import Server, Watch, wait_idle

Serve = Callable[..., Server]


def choice(page: Page, group: str, name: str) -> Locator:
    return page.get_by_role("radiogroup", name=group, exact=True).get_by_role("radio", name=name)


def choose(page: Page, group: str, name: str, **told: str | None) -> None:
    choice(page, group, name).click()
    expect(choice(page, group, name)).to_be_checked()
    expect_told(page, **told)


def expect_told(page: Page, **told: str | None) -> None:
    page.wait_for_function(
        """told => {
            const params = new URLSearchParams(location.search);
            return Object.entries(told).every(([name, value]) => params.get(name) === value);
        }""",
        arg=told,
    )
    wait_idle(page)


def go_to(page: Page, name: str, path: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()
    page.wait_for_function("path => location.pathname === path", arg=path)
    wait_idle(page)


def test_a_pages_choices_are_in_its_address_and_come_back(page: Page, server: Serve, watch: Watch) -> None:
    page.goto(f"{server().url}/?{urlencode({'text': 'a robot must obey', 'query': '3', 'layer': '1', 'head': '2'})}")
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    go_to(page, "Three steps", "/steps")
    visited = page.evaluate("history.length")
    choose(page, "Step", "2 Score", step="2", mask=None)
    page.get_by_text("Mask", exact=True).last.click()
    expect(page.get_by_text("GPT-2 was not trained this way")).to_be_visible()
    expect_told(page, step="2", mask="0")
    assert page.evaluate("history.length") == visited

    go_to(page, "Mask", "/mask")
    choose(page, "A masked score becomes", "−10¹⁰", masked="1e10", step=None, mask=None)
    go_to(page, "Three steps", "/steps")
    choose(page, "Step", "3 Sum", step="3", mask="0")
    page.go_back()
    expect(choice(page, "A masked score becomes", "−10¹⁰")).to_be_checked()
    expect_told(page, masked="1e10", step=None)
    page.go_back()  # to the page as it was left there, not as it was last seen
    expect(choice(page, "Step", "2 Score")).to_be_checked()
    expect(page.locator(".st-key-products .js-plotly-plot").first).to_be_visible()
    expect_told(page, step="2", mask="0", masked=None)

    page.reload()
    expect(choice(page, "Step", "2 Score")).to_be_checked()
    expect(page.get_by_text("GPT-2 was not trained this way")).to_be_visible()
    expect(page.locator(".st-key-products .js-plotly-plot").first).to_be_visible()
    expect_told(page, step="2", mask="0", query="3")
    # Streamlit looks for its server below the page's own address, too.
    assert all("404" in problem and "/steps/_stcore/" in problem for problem in watch.take())
