"""The chart component in a browser: drawn in place, once for each change; zoom, clicks, keys, narrow screens."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.harness import PHONE, Server, Watch, wait_idle

Serve = Callable[..., Server]
HEIGHTS = "plot => plot.calcdata[0].map(bar => bar.s)"
RANGE = "plot => plot._fullLayout.xaxis.range"


def open_plot(page: Page, server: Serve) -> Locator:
    page.goto(server("tests/browser/apps/plots.py").url)
    chart = page.locator(".st-key-bars .js-plotly-plot")
    expect(chart.locator(".bars .point")).to_have_count(6)
    wait_idle(page)
    return chart


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()
    wait_idle(page)


def spot_of(chart: Locator, bar: int) -> tuple[float, float]:
    """The middle of a bar, in pixels of the window."""
    box = chart.locator(".bars .point").nth(bar).bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_change_is_drawn_in_place_and_once_and_the_zoom_stays(page: Page, server: Serve) -> None:
    chart = open_plot(page, server)
    expect(chart).to_have_attribute("data-drawings", "1")
    expect(page.get_by_role("figure", name="Random bars")).to_be_visible()
    before = chart.evaluate(HEIGHTS)
    chart.evaluate("plot => { plot.theSame = true }")
    press(page, "Other numbers")
    expect(chart).to_have_attribute("data-drawings", "2")
    assert chart.evaluate(HEIGHTS) != before
    assert chart.evaluate("plot => plot.theSame")
    press(page, "Nothing")
    expect(chart).to_have_attribute("data-drawings", "2")

    # The zoom stays until the axes are others.
    chart.hover()
    chart.locator('.modebar-btn[data-title="Zoom in"]').click()
    page.wait_for_function("() => document.querySelector('.js-plotly-plot')._fullLayout.xaxis.range[0] > 0")
    zoomed = chart.evaluate(RANGE)
    press(page, "Other numbers")
    expect(chart).to_have_attribute("data-drawings", "3")
    assert chart.evaluate(RANGE) == zoomed
    press(page, "More bars")
    expect(chart).to_have_attribute("data-drawings", "4")
    assert chart.evaluate(RANGE) == [-0.5, 6.5]


def test_a_click_says_which_point_and_the_same_again(page: Page, server: Serve) -> None:
    chart = open_plot(page, server)
    for bar, told in ((2, "[(0, 2)]"), (2, "[(0, 2), (0, 2)]"), (4, "[(0, 2), (0, 2), (0, 4)]")):
        page.mouse.move(*spot_of(chart, bar))
        expect(chart.locator(".hoverlayer")).to_contain_text(f"({bar}, ")  # plotly knows where the pointer is
        page.mouse.click(*spot_of(chart, bar))
        expect(page.get_by_text(f"server: seed 0, clicks {told}", exact=True)).to_be_visible()
    # As from a browser that has not drawn the newest figure yet.
    chart.evaluate(
        "plot => { const part = plot[Symbol.for('headlight.part')]; part.drawn = {...part.drawn, revision: 'older'} }"
    )
    page.mouse.click(*spot_of(chart, 1))
    press(page, "Other numbers")
    expect(page.get_by_text("server: seed 1, clicks [(0, 2), (0, 2), (0, 4)]", exact=True)).to_be_visible()


def test_the_toolbar_is_one_stop_and_arrows_go_along_it(page: Page, server: Serve) -> None:
    chart = open_plot(page, server)
    page.get_by_role("button", name="Nothing").focus()
    page.keyboard.press("Tab")
    focused = "document.activeElement.dataset.title"
    titles = chart.locator(".modebar-btn").evaluate_all("buttons => buttons.map(button => button.dataset.title)")
    assert len(titles) > 3
    assert page.evaluate(focused) == titles[0]
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == titles[1]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(focused) == titles[-1]
    page.keyboard.press("Tab")
    assert page.evaluate(focused) is None


@pytest.mark.parametrize("viewport", [PHONE])
def test_a_chart_wider_than_the_screen_fades_where_there_is_more(page: Page, server: Serve) -> None:
    chart = open_plot(page, server)
    frame = page.locator(".st-key-bars .plot-frame")
    expect(frame).not_to_have_attribute("data-more", "")  # it is scrolled to the last bar, which this chart is about
    assert frame.evaluate("frame => frame.scrollLeft") > 20
    expect(frame).to_have_attribute("data-before", "")
    frame.evaluate("frame => { frame.scrollLeft = 0 }")
    expect(frame).to_have_attribute("data-more", "")
    expect(frame).not_to_have_attribute("data-before", "")
    page.set_viewport_size({"width": 900, "height": 700})
    page.wait_for_function("() => document.querySelector('.js-plotly-plot')._fullLayout.width > 700")
    expect(chart).to_have_attribute("data-drawings", "1")


def test_a_library_that_does_not_come_is_told(page: Page, server: Serve, watch: Watch) -> None:
    page.route(re.compile("plotly.min.js"), lambda route: route.abort())
    page.goto(server("tests/browser/apps/plots.py").url)
    expect(page.get_by_text("This chart could not be drawn. Reload the page to try again.")).to_be_visible()
    watch.take()


def test_a_press_that_moves_on_chooses_nothing(page: Page, server: Serve) -> None:
    chart = open_plot(page, server)
    for bar, far, told in ((2, 30, ""), (4, 3, "(0, 4)")):  # a hand is never quite still
        x, y = spot_of(chart, bar)
        page.mouse.move(x, y)
        expect(chart.locator(".hoverlayer")).to_contain_text(f"({bar}, ")
        page.mouse.down()
        page.mouse.move(x + 2, y - far, steps=3)
        page.mouse.move(x + 1, y)
        page.mouse.up()
        press(page, "Nothing")
        expect(page.get_by_text(f"server: seed 0, clicks [{told}]", exact=True)).to_be_visible()


@pytest.mark.parametrize("viewport", [PHONE])
def test_a_finger_chooses_with_a_tap_once_and_not_with_a_swipe(page: Page, server: Serve) -> None:
    chart = open_plot(page, server)
    browser = page.context.new_cdp_session(page)
    browser.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    expect(chart.locator(".modebar")).to_be_hidden()  # it would always be there, over titles
    for bar, far, told in ((4, 50, ""), (5, 0, "(0, 5)"), (3, 0, "(0, 5), (0, 3)")):
        x, y = spot_of(chart, bar)
        for kind, moved in (("touchStart", 0), ("touchMove", far / 2), ("touchMove", far)):
            finger = {"x": x, "y": y - moved}
            browser.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [finger]})
            page.evaluate("new Promise(requestAnimationFrame)")  # no finger is quicker
        browser.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        expect(page.get_by_text(f"server: seed 0, clicks [{told}]", exact=True)).to_be_visible()
    browser.detach()  # no finger for the next test
