"""Every page can be reached and its token chosen with the keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.browser.harness import Server, wait_idle

PAGES = (
    *("Three steps", "Mask", "One token at a time", "Inside a block", "Compare heads", "All heads"),
    *("Weights", "Models", "Attention"),
)
WITHOUT_STRIP = {"Models"}


def press_until(page: Page, key: str, condition: str, most: int = 60) -> None:
    """Press `key` until the focused element (looked for inside shadow roots too) meets the JavaScript `condition`."""
    test = f"""() => {{
        let element = document.activeElement;
        while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
        return Boolean(element && ({condition}));
    }}"""
    for _ in range(most):
        if page.evaluate(test):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{most} times {key} did not reach: {condition}")


def test_a_walk_through_all_pages_with_the_keyboard(page: Page, server: Callable[..., Server]) -> None:
    page.goto(f"{server().url}/?{urlencode({'text': 'a robot must obey', 'query': '1'})}")
    expect(page.get_by_label("Your text")).to_have_value("a robot must obey")
    wait_idle(page)
    for name in PAGES:
        page.locator("body").press("Home")
        press_until(page, "Tab", f"element.closest('a')?.textContent.trim() === '{name}'")
        page.keyboard.press("Enter")
        page.wait_for_function(
            "name => [...document.querySelectorAll('a[aria-current=page]')].some(a => a.textContent.includes(name))",
            arg=name,
        )
        wait_idle(page, quiet_ms=400)
        if name in WITHOUT_STRIP:
            continue
        press_until(page, "Tab", "element.classList.contains('cell')")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_text(re.compile(r"token 2 of 4"))).to_be_visible()
        wait_idle(page, quiet_ms=400)
        page.keyboard.press("Home")
        expect(page.get_by_text(re.compile(r"token 1 of 4"))).to_be_visible()
        wait_idle(page, quiet_ms=400)
