"""Taking charts and the trace away, in a real browser: by keyboard, with real file names, readable anywhere."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Download, Locator, Page, expect

from model.trace.file import read_trace
from tests.browser.harness import Server, wait_idle
from viz.theme import DARK

Serve = Callable[..., Server]
TEXT = "=a robot must obey"


def open_page(page: Page, server: Serve, **params: str) -> None:
    page.goto(f"{server().url}/?{urlencode({'text': TEXT, 'query': '4', 'layer': '1', 'head': '2', **params})}")
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    wait_idle(page)


def press(page: Page, button: Locator) -> Download:
    expect(button).to_be_visible()
    button.focus()
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    return waiting.value


@pytest.mark.parametrize("color_scheme", ["dark"])
def test_a_chart_is_saved_by_keyboard_in_every_form(
    page: Page, server: Serve, browser: Browser, tmp_path: Path
) -> None:
    open_page(page, server)
    menu = page.locator(".st-key-save_matrices").get_by_role("button", name=re.compile("^Save: .*weights of L1H2"))
    saved: dict[str, Path] = {}
    # A picture last: plotly's own saving counts as a click beside the menu and closes it.
    for button, ending in (("CSV", "csv"), ("HTML", "html"), ("Save the picture as PNG", "png"), ("... SVG", "svg")):
        name = button.replace("...", "Save the picture as")
        if not page.get_by_role("button", name=name, exact=True).is_visible():
            expect(page.get_by_role("dialog")).to_have_count(0)
            wait_idle(page)
            menu.focus()
            page.keyboard.press("Enter")
        download = press(page, page.get_by_role("button", name=name, exact=True))
        assert download.suggested_filename == f"headlight-L1H2-matrices.{ending}"
        download.save_as(saved.setdefault(ending, tmp_path / f"saved.{ending}"))
        if ending == "csv":
            boxes = [one.bounding_box() for one in page.locator(".st-key-save_row_matrices button").all()]
            edges = sorted((box["x"], box["x"] + box["width"]) for box in boxes if box)
            gaps = [after[0] - before[1] for before, after in pairwise(edges)]
            assert len(gaps) == 3
            assert max(gaps) - min(gaps) < 1.5
        if ending == "png":
            expect(page.get_by_role("dialog")).to_have_count(0)
    rows = list(csv.DictReader(io.StringIO(saved["csv"].read_text("utf-8-sig"))))
    assert [row["key label"] for row in rows[:3]] == ["'=", "a", "·robot"]
    ground = DARK.paper
    red, green, blue = (int(ground[i : i + 2], 16) for i in (1, 3, 5))
    assert f"fill: rgb({red}, {green}, {blue}); fill-opacity: 1" in saved["svg"].read_text("utf-8")
    assert saved["png"].read_bytes().startswith(b"\x89PNG")

    context = browser.new_context(offline=True)
    alone, asked = context.new_page(), list[str]()
    context.on("request", lambda request: asked.append(request.url.split(":")[0]))
    alone.goto(saved["html"].as_uri())
    expect(alone.locator(".js-plotly-plot .heatmaplayer image").first).to_be_attached()
    expect(alone.get_by_text(f"“{TEXT}”")).to_be_visible()
    assert set(asked) <= {"file", "data", "blob"}
    context.close()


def test_the_trace_is_saved_and_the_words_about_a_cell_go(page: Page, server: Serve, tmp_path: Path) -> None:
    open_page(page, server)
    page.get_by_role("button", name="Take it with you").focus()
    page.keyboard.press("Enter")
    download = press(page, page.get_by_role("button", name=re.compile(r"Trace, [\d.]+ MB")))
    assert download.suggested_filename == "headlight-mini-trace.safetensors"
    download.save_as(tmp_path / "trace")
    arrays, metadata = read_trace(tmp_path / "trace")
    assert metadata["tokens"] == ["=", "a", "·robot", "·must", "·obey"]
    assert arrays["pattern"].shape[2:] == (5, 5)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    wait_idle(page)

    words = page.get_by_text(re.compile(r"query 3 “·robot” (reads|does not read) key"))
    chart = page.locator(".st-key-matrices .js-plotly-plot")
    chart.scroll_into_view_if_needed()
    spot = chart.evaluate(
        """plot => {
            const { xaxis, yaxis, shapes } = plot._fullLayout, box = plot.getBoundingClientRect();
            const [, , { x0, y0 }] = shapes;
            return [box.x + xaxis._offset + xaxis.c2p(x0 + 0.5), box.y + yaxis._offset + yaxis.c2p(y0 + 2.5)];
        }"""
    )
    page.mouse.move(*spot)
    page.mouse.click(*spot)
    expect(words).to_be_visible()
    wait_idle(page)
    chips = page.get_by_role("radiogroup", name=re.compile("token", re.IGNORECASE)).get_by_role("radio")
    expect(chips.nth(2)).to_be_checked()
    chips.nth(2).press("ArrowRight")
    expect(page.get_by_text("Click a cell to choose its query token.")).to_be_visible()
    expect(words).to_have_count(0)
