"""Rehearse `deploy/nginx.conf` on this machine: two replicas with visitors on both, one of which is killed.

    .venv/bin/python -m deploy.rehearse [--visitors 12]

Needs nginx (Debian: apt-get install nginx-light) and requirements-dev.txt; uses a Chromium if there is one.
Everything runs on loopback, on free ports, in a temporary folder. The exit status is 1 if any check fails.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.browser.harness import CHROMIUM_ARGS, CHROMIUM_NAMES, Server, free_port
from tests.soak.soak import sentence, share
from tests.soak.visitor import Visitor, gather_all

CONFIG = Path(__file__).with_name("nginx.conf")
AROUND = """
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    log_format replica '$cookie_headlight_visitor $upstream_addr $status $request_uri';
    access_log {folder}/access.log replica;
    {config}
}}
"""
problems: list[str] = []


def judge(fine: bool, what: str) -> None:
    """Print a finding, and remember a bad one."""
    print("ok " if fine else "BAD", what, flush=True)
    if not fine:
        problems.append(what)


def fetch(url: str, **headers: str) -> tuple[int, Any]:
    """Status and headers of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.headers


@contextmanager
def nginx(folder: Path, replicas: list[str]) -> Any:
    """nginx with our configuration before these replicas; its address."""
    port = free_port()
    config = CONFIG.read_text("utf-8").replace("listen 80;", f"listen 127.0.0.1:{port};")
    for ours, theirs in zip(("127.0.0.1:8501", "127.0.0.1:8502"), replicas, strict=True):
        config = config.replace(ours, urlsplit(theirs).netloc)
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder, config=config), "utf-8")
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if program is None:
        sys.exit("There is no nginx; Debian: apt-get install nginx-light")
    process = subprocess.Popen([program, "-e", folder / "error.log", "-c", folder / "nginx.conf", "-g", "daemon off;"])
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


class Tab(Visitor):
    """A visitor with the cookie that nginx gave it, which reconnects when the connection is lost."""

    def __init__(self, url: str, cookie: str, number: int) -> None:
        super().__init__(url, headers={"Cookie": f"headlight_visitor={cookie}", "Origin": url})
        self.cookie, self.number, self.lost, self.back_after = cookie, number, 0, 0.0

    async def look(self, until: float) -> None:
        """Step through the text until the time `until`; after each lost connection come back to the same view."""
        rng = random.Random(self.number)
        while time.monotonic() < until:
            await asyncio.sleep(rng.uniform(0.3, 0.9))
            query = rng.randrange(len(self.strip["labels"]))
            before, tokens = self.view, {self.params["query"], str(query + 1)}
            try:
                await self.step(query)
            except ConnectionClosed:
                await self._come_back(before, tokens)

    @property
    def view(self) -> dict[str, Any]:
        """What this tab shows, except for the chosen token."""
        link = {name: value for name, value in self.params.items() if name != "query"}
        return {"labels": self.strip["labels"], "heads": self.strip["heads"], "link": link}

    async def _come_back(self, before: dict[str, Any], tokens: set[str]) -> None:
        self.lost += 1
        started = time.perf_counter()
        self._states.clear()  # a new session does not know the old one's elements
        self._page = ""
        while True:
            try:
                await self.connect()
                await self.rerun()
                break
            except (ConnectionClosed, InvalidHandshake, OSError):
                await asyncio.sleep(0.2)
        self.back_after = time.perf_counter() - started
        same = self.view == before and self.params["query"] in tokens  # the last step may have arrived or not
        judge(same, f"visitor {self.number} is back after {self.back_after:.1f} s, with the same view")


async def kill_one_under_load(url: str, replicas: list[Server], n_visitors: int) -> None:
    """Kill one replica: its visitors come back on the other; the other visitors notice nothing."""
    tabs = []
    for number in range(n_visitors):
        _, headers = fetch(url)
        cookie = re.search(r"headlight_visitor=([0-9a-f]{32})", headers["Set-Cookie"] or "")
        judge(cookie is not None, f"visitor {number} is given a cookie")
        if cookie:
            tabs.append(Tab(url, cookie[1], number))
            _, again = fetch(url, Cookie=f"headlight_visitor={cookie[1]}")
            if number == 0:
                judge("Set-Cookie" not in again, "and keeps it")
    for tab in tabs:
        await tab.connect()
        text = f"{tab.number} {sentence(random.Random(tab.number), 8)}"
        await tab.open(text=text, layer=str(tab.number % 3), head="1", query="2")
    started = time.monotonic()

    async def kill() -> None:
        await asyncio.sleep(5)
        os.killpg(replicas[0].process.pid, signal.SIGKILL)
        print("--- the first replica is killed", flush=True)

    await gather_all(iter([kill(), *(tab.look(started + 15) for tab in tabs)]))
    lost = [tab for tab in tabs if tab.lost]
    judge(0 < len(lost) < len(tabs), f"{len(lost)} of {len(tabs)} visitors were on the killed replica, the others not")
    judge(all(tab.lost == 1 for tab in lost), "each of them was interrupted once")
    if lost:
        back = [tab.back_after for tab in lost]
        judge(share(back, 0.95) < 20, f"95 % were back within {share(back, 0.95):.1f} s")
    for tab in tabs:
        await tab.close()


async def browser_comes_back(url: str, folder: Path, replicas: list[Server]) -> None:
    """Kill the replica of a real tab, which must show the same view again by itself."""
    program = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if program is None:
        print("-   no Chromium here: the real tab is left out")
        return
    from playwright.async_api import async_playwright, expect

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=CHROMIUM_ARGS)
        page = await browser.new_page()
        await page.goto(f"{url}/?text=a+robot+must+obey&layer=1&head=2&query=3")
        chosen = page.locator(".cell[aria-checked=true] .position")
        await expect(chosen).to_have_text("3", timeout=60_000)
        await page.locator(".cell[aria-checked=true]").press("ArrowRight")
        await page.wait_for_url(re.compile("query=4"), timeout=60_000)
        cookie = next(c["value"] for c in await page.context.cookies() if c["name"] == "headlight_visitor")
        address = page.url
        os.killpg(replica_of(cookie, folder, replicas, url).process.pid, signal.SIGKILL)
        started = time.perf_counter()
        connected = "[data-test-connection-state=CONNECTED]"
        await page.locator(connected).wait_for(state="detached", timeout=60_000)
        await page.locator(f"{connected}[data-test-script-state=notRunning]").wait_for(timeout=60_000)
        await expect(chosen).to_have_text("4", timeout=60_000)
        judge(page.url == address, f"a real tab is back after {time.perf_counter() - started:.1f} s: {page.url}")
        await browser.close()


def replica_of(cookie: str, folder: Path, replicas: list[Server], url: str) -> Server:
    """The replica that answers a visitor with this cookie, as nginx's log says."""
    fetch(f"{url}/?which", Cookie=f"headlight_visitor={cookie}")
    time.sleep(0.2)  # nginx writes the line after the answer
    lines = [line for line in (folder / "access.log").read_text("utf-8").splitlines() if line.startswith(cookie)]
    address = lines[-1].split()[1]
    return next(replica for replica in replicas if urlsplit(replica.url).netloc == address)


def check_rules(url: str) -> None:
    """Check what nginx lets through and what it refuses."""
    judge(fetch(f"{url}/health")[0] == 200, "/health answers")
    judge(fetch(f"{url}/_stcore/metrics")[0] == 404, "the metrics are not served")
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    foreign = fetch(f"{url}/_stcore/stream", Origin="http://elsewhere.example", **upgrade)[0]
    judge(foreign == 403, f"a page of another site is refused ({foreign})")
    judge(fetch(url, Origin=url)[0] == 200, "a page of its own is not")


async def check_limits(url: str) -> None:
    """Check that one address cannot take all connections."""
    refused, tabs = 0, []
    for _ in range(70):
        tab = Visitor(url)
        try:
            await tab.connect()
            tabs.append(tab)
        except InvalidHandshake as error:
            refused += "429" in str(error)
    judge(0 < refused <= 12, f"of 70 connections from one address {refused} are refused with 429")
    for tab in tabs:
        await tab.close()


def main() -> int:
    """Try all of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--visitors", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        replicas = [Server("app.py", folder / f"replica{number}.txt") for number in (1, 2)]
        try:
            with nginx(folder, [replica.url for replica in replicas]) as url:
                check_rules(url)
                asyncio.run(kill_one_under_load(url, replicas, options.visitors))
                replicas[0].start_again()
                time.sleep(6)  # nginx tries a replica again after fail_timeout
                asyncio.run(browser_comes_back(url, folder, replicas))
                asyncio.run(check_limits(url))
        finally:
            for replica in replicas:
                replica.stop()
    print(f"{len(problems)} problems" if problems else "all is as it should be")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
