"""A server that is killed and started again: open tabs come back by themselves, to the view in their address."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from tests.browser.harness import Server

CONNECTED = "[data-test-connection-state=CONNECTED]"


def test_open_tabs_come_back_to_the_same_view(context: BrowserContext, tmp_path: Path) -> None:
    page = context.new_page()  # not a watched one: that the server was away is told on the console, late and often
    server = Server("app.py", tmp_path / "log.txt")
    try:
        page.goto(f"{server.url}/mask?text=a+robot+a+robot&layer=1&head=2&query=2")
        chosen = page.locator(".cell[aria-checked=true] .position")
        expect(chosen).to_have_text("2")
        page.locator(".cell[aria-checked=true]").press("ArrowRight")
        page.wait_for_url(re.compile("query=3"))
        address = page.url
        os.killpg(server.process.pid, signal.SIGKILL)
        page.locator(CONNECTED).wait_for(state="detached")
        server.start_again()
        page.locator(f"{CONNECTED}[data-test-script-state=notRunning]").wait_for()
        expect(chosen).to_have_text("3")
        expect(page.get_by_label("Your text", exact=True)).to_have_value("a robot a robot")
        assert page.url == address
        expect(page.get_by_test_id("stException")).to_have_count(0)
    finally:
        server.stop()
