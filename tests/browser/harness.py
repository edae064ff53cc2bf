"""A served app and a watched browser, for the tests in this folder. The fixtures in conftest.py hand them out."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Playwright, WebError, expect

from tests.browser.lifeline import Lifeline
from viz.theme import Theme

ROOT = Path(__file__).resolve().parents[2]
FAILURES = Path(__file__).resolve().parent / "failures"  # screenshots of failed tests

PATIENCE_MS = 120_000  # how long to wait for anything; only a test that fails waits this long

DESKTOP = (1440, 900)
PHONE = (390, 844)

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A request to another host is reported by the Watch; this keeps it from leaving all the same.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
NO_BROWSER = (
    "no browser for tests/browser: install Chromium (Debian: apt-get install chromium) or Chrome, "
    "or run: .venv/bin/python -m playwright install chromium"
)


class NoBrowser(Exception):
    """No Chromium was found; the message says how to get one."""


class BrowserProblem(AssertionError):
    """The page did something that `Watch` reports."""


def find_chromium(playwright: Playwright) -> str:
    """Path of the Chromium or Chrome on the PATH, or else of the one that Playwright installed."""
    for name in CHROMIUM_NAMES:
        if path := shutil.which(name):
            return path
    if Path(playwright.chromium.executable_path).exists():
        return playwright.chromium.executable_path
    raise NoBrowser(NO_BROWSER)


class Server:
    """A Streamlit app, served as `make run` serves it, but on a free port.

    `models` is a folder of checkpoints to choose from beside the embedded one.
    """

    def __init__(self, script: str | Path, log: Path, seconds: float = 180, models: Path | None = None) -> None:
        self.script, self.log, self.models = ROOT / script, log, models
        if not self.script.is_file():
            raise FileNotFoundError(f"no app to serve at {self.script}")
        for _ in range(3):  # another program can take the free port before Streamlit does
            port = free_port()
            self.url = f"http://127.0.0.1:{port}"
            self._start(port)
            if self._wait_until_healthy(seconds):
                return
            self.stop()
        raise RuntimeError(f"{self.script.name} did not start. Its log:\n{self.log_text()[-3000:]}")

    def _start(self, port: int) -> None:
        options = [f"--server.port={port}", "--server.address=127.0.0.1", "--server.headless=true"]
        app = ["serve.py"] if self.script == ROOT / "app.py" else ["-m", "streamlit", "run", str(self.script)]
        command = [sys.executable, *app, *options]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("STREAMLIT_")}
        if self.models is not None:
            environment["HEADLIGHT_MODELS"] = str(self.models)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # its own process group, so that all of it can be ended
            )
        self._lifeline = Lifeline(self.process.pid)

    def start_again(self, seconds: float = 180) -> None:
        """Serve on the same port again, after the server was ended from outside."""
        self.process.wait()
        self._lifeline.cut()
        self._start(urlsplit(self.url).port or 80)
        if not self._wait_until_healthy(seconds):
            raise RuntimeError(f"{self.script.name} did not start again. Its log:\n{self.log_text()[-3000:]}")

    def _wait_until_healthy(self, seconds: float) -> bool:
        """Whether the server answered before it ended or time ran out."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=20) as answer:
                    return answer.status == 200
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        return False

    def log_text(self) -> str:
        """The server's output so far."""
        return self.log.read_text(errors="replace")

    def stop(self) -> None:
        """End the server and its child processes, by SIGKILL if SIGTERM does not do."""
        for request in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                os.killpg(self.process.pid, request)
                try:
                    self.process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    continue
        self._lifeline.cut()


def free_port() -> int:
    """A port nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ReusedPage:
    """A page that one test after another uses, cleaned between them.

    Its process keeps Streamlit's and plotly's compiled scripts; compiling them is more than half the cost of opening
    the app in a new page.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._page: Page | None = None

    def take(self, viewport: tuple[int, int], color_scheme: Literal["light", "dark"]) -> Page:
        """The page: empty, without history, cookies and stored data, in this size and colour scheme."""
        if self._page is None:
            context = self._browser.new_context(locale="en-US", viewport={"width": DESKTOP[0], "height": DESKTOP[1]})
            context.set_default_timeout(PATIENCE_MS)
            context.add_init_script(NOTE_RUNS)
            self._page = context.new_page()
        width, height = viewport
        self._page.set_viewport_size({"width": width, "height": height})
        self._page.emulate_media(color_scheme=color_scheme)
        return self._page

    def clean(self) -> None:
        """Leave nothing of the test that used the page; if that test closed it, give it up."""
        page = self._page
        if page is None:
            return
        if page.is_closed():
            self._page = None
            return
        for other in page.context.pages:
            if other is not page:
                other.close()
        page.unroute_all()
        if page.url.startswith("http"):
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
        page.context.clear_cookies()
        page.goto("about:blank")
        page.mouse.move(0, 0)
        session = page.context.new_cdp_session(page)
        session.send("Page.resetNavigationHistory")
        session.detach()


class Watch:
    """Collects what a page must never do: log or raise an error, show an exception, contact another host."""

    def __init__(self, context: BrowserContext) -> None:
        self.problems: list[str] = []
        self._told: set[str] = set()
        self._context = context
        self._listening: list[tuple[Any, str, Callable[..., None]]] = []
        self._listen(context, "console", self._on_console)
        self._listen(context, "weberror", self._on_error)
        self._listen(context, "request", lambda request: self._on_request(request.url))
        self._listen(context, "page", self._on_page)
        for page in context.pages:
            self._on_page(page)

    def _listen(self, source: BrowserContext | Page, event: str, heard: Callable[..., None]) -> None:
        emitter: Any = source  # `on` has an overload for each event
        emitter.on(event, heard)
        self._listening.append((emitter, event, heard))

    def close(self) -> None:
        """Stop collecting: the next test has a Watch of its own."""
        for emitter, event, heard in self._listening:
            emitter.remove_listener(event, heard)
        self._listening.clear()

    def _on_page(self, page: Page) -> None:
        self._listen(page, "websocket", lambda socket: self._on_request(socket.url))
        self._listen(page, "crash", lambda page: self.problems.append(f"the page crashed: {page.url}"))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(f"error on the console: {message.text} ({message.location.get('url', '')})")

    def _on_error(self, error: WebError) -> None:
        self.problems.append(f"error in the page: {error.error}")

    def _on_request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob", "about") and parts.hostname not in ("127.0.0.1", "localhost"):
            self.problems.append(f"request to another host: {url}")

    def take(self) -> list[str]:
        """Return the problems so far and forget them."""
        for page in self._context.pages:
            # Once the page answers this, its earlier reports have arrived too.
            if page.locator('[data-testid="stException"]').count() and page.url not in self._told:
                self._told.add(page.url)  # it stays on the page
                self.problems.append(f"the app raised an exception (its log has it): {page.url}")
        taken, self.problems = self.problems, []
        return taken

    def check(self) -> None:
        """Raise if there were problems."""
        if problems := self.take():
            raise BrowserProblem("\n".join(problems))


# Run in every page before its own scripts: `window.asked` says that a run was asked for and the server has not begun to
# answer. (A message of Streamlit's that asks for one is a `BackMsg` whose first field is number 11, `rerun_script`.)
NOTE_RUNS = """(() => {
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    const [first] = data instanceof ArrayBuffer ? new Uint8Array(data) : ArrayBuffer.isView(data) ? data : [];
    if (first === 0x5a) {
      window.asked = true;
      for (const event of ['message', 'close']) {
        this.addEventListener(event, () => { window.asked = false; }, { once: true });
      }
    }
    return send.call(this, data);
  };
})()"""

# The quiet time is counted in frames drawn: while the page is too busy to draw, it does not pass.
_IDLE = """quiet => {
  const app = document.querySelector('[data-testid="stApp"]');
  const idle = app?.dataset.testScriptState === 'notRunning' && app.dataset.testConnectionState === 'CONNECTED'
    && !window.asked && !document.querySelector('[data-testid="stSkeleton"]');
  const now = performance.now();
  window.quietFor = idle ? (window.quietFor ?? 0) + Math.min(now - (window.lookedAt ?? now), 40) : 0;
  window.lookedAt = now;
  return idle && window.quietFor >= quiet;
}"""


def wait_idle(page: Page, quiet_ms: float = 150) -> None:
    """Wait until the app's script has run, all it shows is drawn, and for `quiet_ms` no new run has been asked for.

    The quiet time covers what asks for a run a little later: a component that waits for the last of several key
    presses. For a certain change, wait for the change itself (`expect(...)`) instead.
    """
    page.evaluate("window.quietFor = window.lookedAt = undefined")
    page.wait_for_function(_IDLE, arg=quiet_ms)


def rgb(colour: str) -> str:
    """A colour "#rrggbb" as browsers write computed ones."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"


def show_in(page: Page, theme: Theme) -> None:
    """Switch the browser to this theme; wait until the page and its charts have its colours."""
    page.emulate_media(color_scheme=theme.kind)
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", rgb(theme.paper))
    drawn = "paper => [...document.querySelectorAll('.js-plotly-plot')].every(p => p.layout.paper_bgcolor === paper)"
    page.wait_for_function(drawn, arg=theme.paper)
    wait_idle(page)


def watch_drawing(chart: Locator) -> Callable[[], bool]:
    """Mark a chart; the returned function says whether it has been neither replaced nor redrawn since."""
    chart.evaluate("plot => { plot.dataset.marked = plot.dataset.drawings }")
    return lambda: bool(chart.evaluate("plot => plot.dataset.marked === plot.dataset.drawings"))
