"""The app in a real browser: typing, stepping, choosing, and coming back by a link."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.harness import PHONE, Server, show_in, wait_idle, watch_drawing
from viz.theme import DARK, LIGHT

Serve = Callable[..., Server]
TEXT = "a robot must obey a robot"
HERE = {"text": TEXT, "query": "6", "layer": "0", "head": "0"}


def open_app(page: Page, server: Serve, **params: str) -> None:
    page.goto(f"{server().url}/?{urlencode({**HERE, **params})}")
    expect(page.locator(".st-key-matrices .js-plotly-plot").first).to_be_visible()
    wait_idle(page)


def chips(page: Page) -> Locator:
    return page.get_by_role("radiogroup", name=re.compile("token", re.IGNORECASE)).get_by_role("radio")


def chosen(page: Page) -> Locator:
    return page.get_by_role("radiogroup", name=re.compile("token", re.IGNORECASE)).get_by_role("radio", checked=True)


def param(page: Page, name: str) -> str:
    return parse_qs(urlsplit(page.url).query)[name][0]


def expect_param(page: Page, name: str, value: str) -> None:
    page.wait_for_function(
        "([name, value]) => new URLSearchParams(location.search).get(name) === value", arg=[name, value]
    )


def test_typing_shows_the_tokens_while_the_box_keeps_the_focus(page: Page, server: Serve) -> None:
    open_app(page, server, query="2")
    box = page.get_by_label("Your text")
    box.fill("")
    box.press("Enter")
    expect(page.get_by_text("type at least one character")).to_be_visible()
    box.press_sequentially("a robot must", delay=120)  # the app hears of it on the way
    expect(chips(page)).to_have_count(3)
    expect(chips(page).nth(2)).to_be_checked()  # a new text opens at its last token
    box.press_sequentially(f" obey a robot, {TEXT}", delay=20)
    expect(chips(page)).to_have_count(13)
    expect(chips(page).nth(12)).to_be_checked()
    expect(box).to_be_focused()
    expect(box).to_have_value(f"{TEXT}, {TEXT}")
    expect_param(page, "text", f"{TEXT}, {TEXT}")


def test_stepping_with_the_keys_is_answered_by_the_browser_and_reaches_the_server(page: Page, server: Serve) -> None:
    open_app(page, server, query="1")
    chosen(page).focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(chips(page).nth(3)).to_be_checked()
    expect_param(page, "query", "4")
    page.keyboard.press("End")
    expect(chips(page).nth(5)).to_be_checked()
    page.keyboard.press("Home")
    expect(chips(page).nth(0)).to_be_checked()
    page.keyboard.press("ArrowLeft")
    expect_param(page, "query", "1")

    chips(page).nth(3).click()
    expect_param(page, "query", "4")
    page.get_by_role("button", name=re.compile("play", re.IGNORECASE)).click()  # steps to the end
    expect(chips(page).nth(5)).to_be_checked()
    expect_param(page, "query", "6")


def test_a_click_on_a_chip_redraws_the_bars_only_and_one_on_a_cell_names_the_pair(page: Page, server: Serve) -> None:
    open_app(page, server)
    untouched = watch_drawing(page.locator(".st-key-matrices .js-plotly-plot"))
    chips(page).nth(2).click()
    expect_param(page, "query", "3")
    wait_idle(page)
    expect(page.locator(".st-key-bars").filter(has_text="query 3 ·must").first).to_be_visible()
    expect(page.locator(".st-key-vectors").filter(has_text="3 ·must").first).to_be_visible()
    assert untouched()

    plot = page.locator(".st-key-matrices .js-plotly-plot")
    plot.scroll_into_view_if_needed()
    spot = plot.evaluate(
        """plot => {
            const { xaxis, yaxis, shapes } = plot._fullLayout, box = plot.getBoundingClientRect();
            const [, , { x0, y0 }] = shapes;
            return [box.x + xaxis._offset + xaxis.c2p(x0 + 1.5), box.y + yaxis._offset + yaxis.c2p(y0 + 4.5)];
        }"""
    )
    page.mouse.move(*spot)
    page.mouse.click(*spot)
    expect_param(page, "query", "5")
    expect(chips(page).nth(4)).to_be_checked()
    expect(page.get_by_text(re.compile(r"query 5 “·a” reads key 2 “·robot”: 0\.\d+"))).to_be_visible()


def test_back_and_forward_lead_to_pages_as_they_were_left(page: Page, server: Serve) -> None:
    open_app(page, server, query="4")
    for position in (2, 5):
        chips(page).nth(position - 1).click()
        expect_param(page, "query", f"{position}")
        wait_idle(page)
    page.get_by_role("link", name="Mask", exact=True).click()
    expect(page.locator(".st-key-mask_steps .js-plotly-plot").first).to_be_visible()
    wait_idle(page)
    chips(page).nth(2).click()
    expect_param(page, "query", "3")
    wait_idle(page)
    page.go_back()
    expect(page.locator(".st-key-bars").filter(has_text="query 5").first).to_be_visible()
    expect(chips(page).nth(4)).to_be_checked()
    expect_param(page, "query", "5")
    wait_idle(page)
    page.go_forward()
    expect(page.locator(".st-key-mask_steps .js-plotly-plot").first).to_be_visible()
    expect(chips(page).nth(2)).to_be_checked()
    expect_param(page, "query", "3")


def test_back_brings_an_earlier_sentence_back(page: Page, server: Serve) -> None:
    open_app(page, server)
    page.get_by_role("button", name="They drank").click()
    expect(page.get_by_label("Your text")).not_to_have_value(TEXT)
    page.wait_for_function("text => new URLSearchParams(location.search).get('text') !== text", arg=TEXT)
    wait_idle(page)
    page.go_back()
    box = page.get_by_label("Your text")
    expect(box).to_have_value(TEXT)
    expect(chips(page)).to_have_count(6)
    wait_idle(page)

    for _ in range(2):  # the same text can be typed again after an example
        box.fill("a robot")
        box.press("Enter")
        expect_param(page, "text", "a robot")
        page.get_by_role("button", name="They drank").click()
        expect(box).to_have_value(re.compile("The farmer and the horses"))
        wait_idle(page)


CHOOSERS = """() => {
  const row = document.querySelector('.st-key-choosers');
  const lines = (selector) => [...row.querySelectorAll(selector)].map((part) => part.getBoundingClientRect());
  const label = 'label[data-testid=stWidgetLabel]';
  const kinds = { select: '[data-testid=stSelectbox] [role=group]', buttons: '[role=radio]:first-child',
    toggle: '[data-testid=stCheckbox]', menu: '[data-testid=stPopoverButton]' };
  return { labels: lines(label).map(({ top, bottom }) => [top, bottom]),
    boxes: Object.values(kinds).flatMap(lines).map(({ top, bottom }) => [top, bottom]) };
}"""


def test_choosers_stand_on_one_line(page: Page, server: Serve) -> None:
    open_app(page, server)
    row = page.evaluate(CHOOSERS)
    assert (len(row["labels"]), len(row["boxes"])) == (3, 5)
    for lines in row.values():
        assert all(line == pytest.approx(lines[0], abs=0.5) for line in lines), row
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    page.wait_for_function(f"() => {{ const {{ labels }} = ({CHOOSERS})(); return labels[2][0] > labels[1][1] }}")
    row = page.evaluate(CHOOSERS)  # each label beside its box now
    for (top, bottom), box in zip(row["labels"], row["boxes"], strict=False):
        assert (top + bottom) / 2 == pytest.approx(sum(box) / 2, abs=0.5)
        assert box[1] - box[0] == pytest.approx(40, abs=0.5)


def test_another_head_is_drawn_and_named_and_a_copied_link_opens_the_same_view(page: Page, server: Serve) -> None:
    open_app(page, server)
    page.get_by_role("radiogroup", name="Layer").get_by_role("radio", name="3").click()
    page.get_by_role("radiogroup", name="Head").get_by_role("radio", name="2").click()
    expect(page.locator(".st-key-matrices").filter(has_text="L3H2").first).to_be_visible()
    expect_param(page, "layer", "3")
    expect_param(page, "head", "2")
    chips(page).nth(1).click()
    expect_param(page, "query", "2")
    link = page.url
    other = page.context.new_page()
    other.goto(link)
    expect(chips(other).nth(1)).to_be_checked()
    expect(other.locator(".st-key-matrices").filter(has_text="L3H2").first).to_be_visible()
    expect(other.get_by_label("Your text")).to_have_value(TEXT)
    page.reload()
    expect(chips(page).nth(1)).to_be_checked()


def test_the_view_is_kept_when_moving_between_pages(page: Page, server: Serve) -> None:
    open_app(page, server, layer="1", head="3", compare="L2H4", query="4")
    page.get_by_role("link", name="Compare heads").click()
    expect(page.locator(".st-key-pair").filter(has_text="L2H4").first).to_be_visible()
    expect(page.locator(".st-key-pair").filter(has_text="L1H3").first).to_be_visible()
    expect(page.get_by_label("Your text")).to_have_value(TEXT)
    expect(page.get_by_text(re.compile("token 4 of 6"))).to_be_visible()
    page.get_by_role("link", name="Models").click()
    expect(page.get_by_text("Parameters")).to_be_visible()
    page.get_by_role("link", name="Attention").click()
    expect(page.locator(".st-key-matrices").filter(has_text="L1H3").first).to_be_visible()
    assert (param(page, "query"), param(page, "text")) == ("4", TEXT)


def test_markup_is_shown_as_typed(page: Page, server: Serve) -> None:
    typed = "<b>x</b> **y** $z$ <img src=x onerror=alert(1)>"
    open_app(page, server, text=typed, query="2")
    assert "".join(text.replace("·", " ") for text in chip_labels(page)) == typed
    assert page.locator(".st-key-matrices img, .st-key-bars b").count() == 0
    expect(page.locator(".st-key-bars").filter(has_text=f"query 2 {chip_labels(page)[1]}").first).to_be_visible()


def chip_labels(page: Page) -> list[str]:
    return chips(page).locator(".chip bdi").all_text_contents()


@pytest.mark.parametrize("viewport", [PHONE])
def test_a_phone_shows_everything_without_scrolling_sideways(page: Page, server: Serve) -> None:
    open_app(page, server, text="A robot must obey the orders given it by human beings.")
    for theme in (LIGHT, DARK):
        show_in(page, theme)
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= PHONE[0]
        columns = page.locator(".st-key-bars, .st-key-vectors").locator("xpath=ancestor::*[@data-testid='stColumn'][1]")
        above, below = (column.bounding_box() for column in columns.all())
        assert above is not None
        assert below is not None
        assert below["y"] - above["y"] - above["height"] < 20  # one below the other, but no hole between them
    chips(page).nth(3).click()
    expect_param(page, "query", "4")


def test_what_is_typed_survives_a_quick_change_of_page(page: Page, server: Serve) -> None:
    open_app(page, server)
    box = page.get_by_label("Your text", exact=True)
    box.focus()
    page.keyboard.press("End")
    page.keyboard.type(" must")
    page.get_by_role("link", name="Mask").click()
    expect(page.get_by_text("One text, many training examples")).to_be_visible()
    expect(box).to_have_value(f"{TEXT} must")
    expect_param(page, "text", f"{TEXT} must")
    expect(chips(page)).to_have_count(7)
    expect(chips(page).nth(6)).to_be_checked()  # who types at the end stays at the end


def test_the_chosen_token_stays_while_the_text_grows_in_front_of_it_and_behind(page: Page, server: Serve) -> None:
    open_app(page, server, query="3")
    box = page.get_by_label("Your text")
    box.focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type("Now ")
    expect(chips(page)).to_have_count(7)
    expect(chosen(page)).to_contain_text("must")
    page.keyboard.press("Control+End")
    page.keyboard.type(" again")
    expect(chips(page)).to_have_count(8)
    expect(chosen(page)).to_contain_text("must")
    expect(page.locator(".st-key-bars").filter(has_text="query 4 ·must").first).to_be_visible()
    expect_param(page, "query", "4")
    page.get_by_text("<|endoftext|>", exact=True).click()
    expect(chips(page)).to_have_count(9)
    expect_param(page, "query", "5")
    expect(chosen(page)).to_contain_text("must")


def test_a_text_that_the_box_cuts_off_says_so(page: Page, server: Serve) -> None:
    open_app(page, server)
    box = page.get_by_label("Your text")
    box.focus()
    page.keyboard.insert_text("a robot must " * 2_000)
    expect(page.get_by_text("20,000 characters: no more fit in here")).to_be_visible()
    expect(page.get_by_text(re.compile("The text has [0-9,]+ tokens"))).to_be_visible()
    box.fill("a robot")
    expect(page.get_by_text("no more fit in here")).to_have_count(0)
