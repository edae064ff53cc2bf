"""One token at a time in a real browser: iterations by keys, writing, stopping, taking over, coming back."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.harness import PHONE, Server, wait_idle

Serve = Callable[..., Server]
TEXT = " the robot the robot the robot"  # six tokens in either model's vocabulary


def open_page(page: Page, server: Serve, **params: str) -> None:
    page.goto(f"{server().url}/?{urlencode({'text': TEXT, 'query': '2', **params})}")
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    phone = page.viewport_size is not None and page.viewport_size["width"] == PHONE[0]
    if phone:  # the pages are in the sidebar
        page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("link", name="One token at a time").click()
    if phone:
        expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    expect(page.locator(".st-key-next .js-plotly-plot").first).to_be_visible()
    wait_idle(page)


def tokens(page: Page) -> Locator:
    return page.get_by_role("radiogroup", name=re.compile("token", re.IGNORECASE)).get_by_role("radio")


def write_240(page: Page) -> None:
    page.get_by_label("Tokens to write").fill("240")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Write 240").click()


def test_iterations_by_keys_writing_stopping_and_taking_over(page: Page, server: Serve) -> None:
    open_page(page, server, model="endless")
    expect(page.get_by_text(re.compile("Iteration 2 of 6"))).to_be_visible()
    tokens(page).nth(1).focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text(re.compile("Iteration 3 of 6"))).to_be_visible()
    wait_idle(page)
    expect(page.locator(".st-key-cache").filter(has_text="3 ·the").first).to_be_visible()

    page.get_by_role("button", name="Write 1 token").press("Enter")
    expect(page.get_by_text(re.compile("Iteration 7 of 7"))).to_be_visible()
    expect(tokens(page)).to_have_count(7)

    wait_idle(page)
    write_240(page)
    page.locator(".st-key-gen_stop button").click()
    expect(page.get_by_role("button", name="Write 1 token")).to_be_visible()
    wait_idle(page)
    count = tokens(page).count()
    assert 7 < count < 247
    expect(page.get_by_text(re.compile(f"Iteration {count} of {count}"))).to_be_visible()

    tokens(page).last.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text(re.compile(f"Iteration {count - 1} of {count}"))).to_be_visible()
    page.get_by_role("link", name="Attention", exact=True).click()
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    expect(tokens(page)).to_have_count(6)
    page.get_by_role("link", name="One token at a time").click()
    expect(page.get_by_text(re.compile(f"Iteration {count - 1} of {count}"))).to_be_visible()

    page.goto(page.url.replace("/generation?", "/?"))  # what was written is in the link
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    page.get_by_role("link", name="One token at a time").click()
    expect(page.get_by_text(re.compile(f"Iteration {count - 1} of {count}"))).to_be_visible()
    wait_idle(page)

    page.get_by_role("button", name="Use as the sentence").click()
    expect(page.get_by_label("Your text")).not_to_have_value(TEXT)
    expect(page.get_by_role("button", name="Use as the sentence")).to_have_count(0)

    wait_idle(page)
    write_240(page)
    page.get_by_role("link", name="Weights", exact=True).click()  # is not lost while the model writes
    expect(page.get_by_role("link", name="Weights", exact=True)).to_have_attribute("aria-current", "page")
    expect(page.get_by_role("button", name="Write 240")).to_have_count(0)


@pytest.mark.parametrize("viewport", [PHONE])
def test_a_phone_shows_it_without_scrolling_sideways(page: Page, server: Serve) -> None:
    open_page(page, server)
    page.get_by_text("Sampled", exact=True).click()
    expect(page.get_by_text(re.compile(r"Seed 0"))).to_be_visible()
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= PHONE[0]


def test_no_file_of_all_logits_has_a_cell_that_a_spreadsheet_runs(page: Page, server: Serve) -> None:
    open_page(page, server)
    page.get_by_text(re.compile("^All .* logits$")).click()
    table = page.locator(".st-key-all_logits")
    expect(table.get_by_test_id("stDataFrame")).to_be_visible()
    table.hover()
    expect(table.get_by_role("button", name=re.compile("Search"))).to_be_visible()
    expect(table.get_by_role("button", name=re.compile("Download"))).to_be_hidden()
    with page.expect_download() as download:
        page.locator(".st-key-logits_csv").get_by_role("button").click()
    assert download.value.suggested_filename == "headlight-logits.csv"
    lines = list(csv.reader(download.value.path().read_text("utf-8-sig").splitlines()))
    tokens = [line[0] for line in lines[1:]]
    assert {"'=", "'+", "'@", "'-"} <= set(tokens)
    assert not [token for token in tokens if token.startswith(tuple("=+-@"))]
