"""The fixtures of this folder themselves: what they let pass and what they catch."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser import harness
from tests.browser.harness import DESKTOP, PHONE, BrowserProblem, wait_idle

PLAIN, FAULTY = "tests/browser/apps/plain.py", "tests/browser/apps/faulty.py"


def test_normal_app_passes(page, server):
    page.goto(server(PLAIN).url)
    wait_idle(page)
    expect(page.get_by_role("heading", name="Plain")).to_be_visible()


def test_server_is_started_once_for_all_tests(server):
    assert server(PLAIN) is server(PLAIN)
    assert "127.0.0.1" in server(PLAIN).log_text()


def test_wait_idle_waits_for_the_run_that_a_click_begins(page, server):
    page.goto(server(PLAIN).url)
    wait_idle(page)
    page.get_by_role("button", name="Slow").click()
    wait_idle(page)
    assert page.get_by_text("done").is_visible()


def test_harmless_page_has_no_problem(page, server, watch):
    page.goto(server(FAULTY).url)
    wait_idle(page)
    expect(page.get_by_text("Faulty")).to_be_visible()
    assert watch.take() == []


PROBLEMS = {
    "console": "error on the console: written on the console",
    "raise": "error in the page: .*raised in the page",
    "reject": "error in the page: .*rejected in the page",
    "exception": "the app raised an exception",
    "image": "request to another host: http://elsewhere.example/picture.png",
    "socket": "request to another host: ws://elsewhere.example/socket",
}


def test_every_fault_is_detected(page, server, watch):
    page.goto(f"{server(FAULTY).url}?faults={','.join(PROBLEMS)}")
    wait_idle(page)
    expect(page.get_by_text("Faulty")).to_be_visible()
    with pytest.raises(BrowserProblem) as found:
        watch.check()
    for problem in PROBLEMS.values():
        assert re.search(problem, str(found.value))


@pytest.mark.xfail(raises=BrowserProblem, strict=True, reason="this test fails, by its fixtures alone")
def test_page_fails_a_test_that_says_nothing_of_faults(page, server):
    page.goto(f"{server(FAULTY).url}?faults=console")
    wait_idle(page)
    expect(page.get_by_text("Faulty")).to_be_visible()


@pytest.mark.parametrize(
    ("color_scheme", "viewport", "background"),
    [("light", PHONE, "rgb(255, 255, 255)"), ("dark", DESKTOP, "rgb(23, 21, 26)")],
)
def test_theme_and_size_are_as_asked(page, server, viewport, background):
    page.goto(server(PLAIN).url)
    wait_idle(page)
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", background)
    assert page.evaluate("[innerWidth, innerHeight]") == list(viewport)


@pytest.mark.parametrize("number", range(2))
def test_nothing_of_one_test_is_left_for_the_next(page, server, number):
    assert page.url == "about:blank"
    assert page.context.pages == [page]
    page.goto(server(PLAIN).url)
    wait_idle(page)
    left = "[localStorage.left, sessionStorage.left, /left/.test(document.cookie), history.length]"
    assert page.evaluate(left) == [None, None, False, 2]
    assert page.evaluate("navigator.maxTouchPoints") == 0
    page.evaluate("localStorage.left = sessionStorage.left = document.cookie = 'left=behind'")
    page.evaluate("history.pushState(null, '', '/other')")
    page.route("**/*", lambda route: route.abort())
    page.context.new_page()


def test_missing_browser_is_told_in_one_line(monkeypatch, playwright, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(type(playwright.chromium), "executable_path", str(tmp_path / "none"))
    with pytest.raises(harness.NoBrowser) as told:
        harness.find_chromium(playwright)
    assert "apt-get install chromium" in str(told.value)
    assert "\n" not in str(told.value)


def test_app_that_cannot_start_shows_its_log(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.py"):
        harness.Server("nowhere.py", tmp_path / "log.txt")
