"""Typed text is text, wherever it is shown: the browser shows what was typed and makes nothing else of it."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.browser.harness import Server, wait_idle
from tests.viz.text.texts import TEXTS

MADE = "a, img, em, del, code, pre, li, h1, h2, table, blockquote, hr, sup, [role=img], .katex, .stMarkdownColoredText"

MARKDOWN = "[data-testid=stMarkdownContainer]"
PLACES = ("alone", "among", "button")


def as_shown(text: str) -> str:
    """What a page shows of a text: one line."""
    return text.replace("\n", " ").replace("\t", " ")


def shown(place: Locator) -> list[str]:
    return [text.replace("\t", " ") for text in place.all_text_contents()]


def test_what_is_shown_is_what_was_typed(page: Page, server: Callable[..., Server]) -> None:
    page.goto(server("tests/browser/apps/texts.py").url)
    expect(page.locator(".st-key-plot .textpoint")).to_have_count(len(TEXTS))
    wait_idle(page)
    expected = [as_shown(text) for text in TEXTS]
    alone, among, buttons = (shown(page.locator(f"[class*=st-key-{place}_] {MARKDOWN}")) for place in PLACES)
    assert alone == expected
    assert among == [f"1 “{as_shown(text)}” is {as_shown(text)}: {as_shown(text)}" for text in TEXTS]
    assert buttons == expected
    assert shown(page.locator("[data-testid=stCaptionContainer]")) == expected
    assert shown(page.locator(f".st-key-warnings {MARKDOWN}")) == expected
    assert page.locator(f":is({MARKDOWN}, [data-testid=stCaptionContainer]) :is({MADE})").all_text_contents() == []
    in_html = page.locator("[data-testid=stHtml] p")
    assert in_html.all_text_contents() == TEXTS
    titles = in_html.evaluate_all("all => all.map(p => p.title)")
    # `st.html` trims attributes, and drops those that hold the end of a comment or a section.
    assert titles == ["" if re.search(r"--!?>|]>|</(style|script|title)", text) else text.strip() for text in TEXTS]
    # The options of a list are no Markdown: they are given as they are.
    assert page.locator(".st-key-options [data-tag]").all_text_contents() == TEXTS
    in_plotly = page.locator(".st-key-plot .textpoint text")
    visible = [text.replace("\n", "⏎").replace("\t", "␉") for text in TEXTS]
    assert [text.replace("\u00a0", " ") for text in in_plotly.all_text_contents()] == visible
