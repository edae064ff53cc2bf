"""How fast the app responds in a real browser, and how much it sends: key presses, head changes, first pages.

    .venv/bin/python -m bench.browser [--out bench/browser.json] [--quick] [--pages PAGE …] [--model FOLDER]

Serves a random model of GPT-2 small's shape, or the one in FOLDER. Times run from the key press or click to the
second frame after the last change of a strip or chart; bytes are what the server sent for it, the program itself left
out. Writes JSON; needs requirements-dev.txt and a Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import Browser, sync_playwright

from bench import models
from model.files.library import FOLDERS_VARIABLE
from tests.browser.harness import CHROMIUM_ARGS, ROOT, Server, find_chromium, wait_idle

SENTENCE = "A robot must obey the orders given it by human beings except where such orders would conflict"
PAGES = (
    *("Attention", "Three steps", "Mask", "One token at a time", "Inside a block"),
    *("Compare heads", "All heads", "Change heads", "Logit lens", "Weights"),
)
MODEL = "gpt2-shape"
LONG, SHORT = 1024, 32

# Notes when a chart last changed, in the page or in a component's shadow root, and when the grid of all heads did;
# finds the strip.
_WATCH = """() => {
  window.lastChange = window.lastGrid = 0;
  const noted = name => requestAnimationFrame(() => requestAnimationFrame(() => { window[name] = performance.now(); }));
  const options = { subtree: true, childList: true, attributes: true, characterData: true };
  const inChart = ({ target }) => {
    const element = target.nodeType === 1 ? target : target.parentElement;
    if (element?.closest('[data-testid=stDataFrame]')) return false; // a table, which Streamlit paints on a canvas, too
    return element?.closest('.js-plotly-plot, canvas') || target.querySelector?.(':scope > canvas');
  };
  const inGrid = ({ target }) => target.getRootNode().querySelector?.('.overview canvas');
  const observer = new MutationObserver(changes => {
    if (changes.some(inChart)) noted('lastChange');
    if (changes.some(inGrid)) noted('lastGrid');
  });
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (how) {
    const root = attach.call(this, how);
    observer.observe(root, options);
    return root;
  };
  addEventListener('DOMContentLoaded', () => observer.observe(document.body, options));
  const component = '[data-testid^="stBidiComponent"]';
  window.strip = () => [...document.querySelectorAll(`${component}, ${component} *`)]
    .map(element => element.shadowRoot).find(root => root?.querySelector('.cells'));
}"""

# The strip counts as painted two frames after its chosen chip has changed.
_STEP = """async position => {
  const chosen = () => window.strip().querySelector('[aria-checked=true]');
  const frame = () => new Promise(requestAnimationFrame);
  window.pressed = performance.now();
  chosen().dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true, composed: true }));
  while (chosen().querySelector('.position').textContent !== `${position}`)
    if (performance.now() - window.pressed > 5000) throw new Error('the strip does not step'); else await frame();
  await frame(); await frame();
  return performance.now() - window.pressed;
}"""

_CHOOSE_HEAD = """head => {
  const group = document.querySelector('.st-key-first_head');
  const button = [...group.querySelectorAll('button')].find(button => button.textContent.trim() === `${head}`);
  window.pressed = performance.now();
  button.click();
}"""


@dataclass
class Taken:
    """Times and bytes of one kind of interaction on one page."""

    milliseconds: list[float] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """Median, 95th percentile and the most bytes; no times where nothing was timed."""
        taken = self.milliseconds
        times = {"p50_ms": round(statistics.median(taken)), "p95_ms": round(p95(taken))} if taken else {}
        return times | {"n": len(taken), "bytes": max(self.sent, default=0)}


class Tab:
    """One browser tab, and how much the server has sent it."""

    def __init__(self, browser: Browser) -> None:
        self.page = browser.new_page(viewport={"width": 1440, "height": 900})
        self.page.set_default_timeout(90_000)
        self.received = 0
        self.page.add_init_script(f"({_WATCH})()")
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._frame))
        self.page.on("response", self._response)

    def _frame(self, payload: str | bytes) -> None:
        self.received += len(payload)

    def _response(self, response: Any) -> None:
        if not urlsplit(response.url).path.startswith(("/static/", "/component/")):
            self.received += int(response.headers.get("content-length", 0))

    def settle(self) -> None:
        """Wait until the app is idle and nothing has been drawn for a while."""
        wait_idle(self.page, quiet_ms=300)
        self.page.wait_for_function("performance.now() - window.lastChange > 350")

    def open(self, url: str) -> None:
        """Load the app's first page."""
        self.page.goto(url)
        self.page.locator(".js-plotly-plot, canvas").first.wait_for()
        self.settle()

    @contextmanager
    def taking(self, taken: Taken) -> Iterator[None]:
        """Note how long it takes until the last chart is repainted, and what is sent."""
        before = self.received
        yield
        self.settle()
        taken.sent.append(self.received - before)
        milliseconds = self.page.evaluate("window.lastChange - window.pressed")
        if milliseconds > 0:
            taken.milliseconds.append(milliseconds)


def p95(values: list[float]) -> float:
    """The 95th percentile, an observed value."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]


def text_of(n_tokens: int) -> str:
    """A text of `n_tokens` tokens, one for each word."""
    words = SENTENCE.split()
    return " ".join(words[i % len(words)] for i in range(n_tokens))


def link(server: Server, model: str, n_tokens: int) -> str:
    """The address of a view of a text of `n_tokens` tokens, with the middle one chosen."""
    params = {"model": model, "text": text_of(n_tokens), "query": str(n_tokens // 2), "layer": "1", "head": "0"}
    return f"{server.url}/?{urlencode(params)}"


def first_pages(browser: Browser, folder: Path, times: int) -> dict[str, float]:
    """Seconds to the first text and to the last chart: right after the server's start, and in a new tab later."""
    text, first, new = list[float](), list[float](), list[float]()
    for turn in range(times):
        server = Server("app.py", folder / f"first{turn}.txt")
        try:
            for kept in (first, new):
                one = Tab(browser)
                start = time.perf_counter()
                one.page.goto(server.url, wait_until="commit")
                one.page.get_by_role("heading", name="Headlight").wait_for()
                seen = time.perf_counter() - start
                if kept is first:
                    text.append(seen)
                one.page.locator(".js-plotly-plot").first.wait_for()
                one.settle()
                kept.append(one.page.evaluate("window.lastChange") / 1000)
                one.page.close()
        finally:
            server.stop()
    seconds = {"first_text_s": text, "first_page_s": first, "new_tab_s": new}
    return {name: round(statistics.median(values), 2) for name, values in seconds.items()}


def visit(tab: Tab, title: str, steps: int, heads: int) -> dict[str, Any]:
    """Go to a page, step, change the head."""
    opened, charts, changed, strip = Taken(), Taken(), Taken(), list[float]()
    page = tab.page
    if page.get_by_role("link", name=title, exact=True).count():
        with tab.taking(opened):
            page.evaluate("window.pressed = performance.now()")
            page.get_by_role("link", name=title, exact=True).click()
    if page.evaluate("Boolean(window.strip())"):
        position = max(1, page.evaluate("window.strip().querySelectorAll('.cell').length") // 2)
        page.evaluate("at => window.strip().querySelectorAll('.cell')[at - 1].click()", position)
        tab.settle()
        for step in range(steps):
            with tab.taking(charts):
                strip.append(page.evaluate(_STEP, position + step + 1))
    for head in range(1, heads + 1):
        with tab.taking(changed):
            page.evaluate(_CHOOSE_HEAD, head)
    page.evaluate(_CHOOSE_HEAD, 0)
    tab.settle()
    found = {"open": opened.summary(), "step": charts.summary(), "head": changed.summary()}
    return found | ({"strip_p95_ms": round(p95(strip))} if strip else {})


def measure(
    browser: Browser, address: str, titles: Sequence[str], n_tokens: int, steps: int, heads: int
) -> dict[str, Any]:
    """Measure these pages with the text of `n_tokens` tokens that `address` links to."""
    tab = Tab(browser)
    tab.open(address)
    tab.page.wait_for_function("window.strip()?.querySelector('.cell')")
    found = tab.page.evaluate("window.strip().querySelectorAll('.cell').length")
    if found != n_tokens:
        raise RuntimeError(f"the page shows {found} tokens instead of {n_tokens}: is the model there?")
    pages: dict[str, Any] = {}
    there = tab.page.get_by_role("link").all_inner_texts()
    for title in sorted(titles, key=PAGES[0].__eq__):  # the first page is already open: return to it at the end
        if title in there:
            pages[title] = visit(tab, title, steps, heads)
            _say(title, n_tokens, pages[title])
    tab.page.close()
    return pages


def overview(browser: Browser, address: str, times: int) -> dict[str, int]:
    """Open the page of all heads repeatedly: time until its grid is painted, and until its tables are."""
    tab = Tab(browser)
    tab.open(address)
    grid, whole = list[float](), list[float]()
    for _ in range(times):
        tab.page.evaluate("window.pressed = performance.now()")
        tab.page.get_by_role("link", name="All heads", exact=True).click()
        tab.page.wait_for_function("window.lastGrid > window.pressed")
        tab.settle()
        grid.append(tab.page.evaluate("window.lastGrid - window.pressed"))
        whole.append(tab.page.evaluate("window.lastChange - window.pressed"))
        tab.page.get_by_role("link", name="Attention", exact=True).click()
        tab.settle()
    tab.page.close()
    return {"overview_p95_ms": round(p95(grid)), "overview_page_p95_ms": round(p95(whole))}


def _say(title: str, n_tokens: int, found: dict[str, Any]) -> None:
    parts = [f"strip p95 {found['strip_p95_ms']}"] if "strip_p95_ms" in found else []
    for kind in ("open", "step", "head"):
        one = found[kind]
        parts.append(f"{kind} {one.get('p50_ms', '-')}/{one.get('p95_ms', '-')} ms {one['bytes'] / 1e6:.2f} MB")
    print(f"{n_tokens:5} {title:20} {' · '.join(parts)}", flush=True)


def headline(short: dict[str, Any], long: dict[str, Any]) -> dict[str, Any]:
    """The figures that targets are set for: each the worst page's."""

    def worst(pages: dict[str, Any], *kinds: str, what: str = "p95_ms") -> int | None:
        found = [page[kind][what] for page in pages.values() for kind in kinds if what in page[kind]]
        return max(found, default=None)

    def strip(pages: dict[str, Any]) -> int | None:
        return max((page["strip_p95_ms"] for page in pages.values() if "strip_p95_ms" in page), default=None)

    return {
        "key_to_strip_p95_ms": strip(short),
        "key_to_strip_p95_ms_1024": strip(long),
        "key_to_charts_p95_ms_32": worst(short, "step", "head"),
        "key_to_charts_p95_ms_1024": worst(long, "step", "head"),
        "most_bytes_1024": worst(long, "open", "step", "head", what="bytes"),
    }


def run(model: Path | None, quick: bool, pages: list[str] | None = None) -> dict[str, Any]:
    """All measurements, or those of some pages."""
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary)
        if model is None:
            model = models.write_checkpoint(folder / "models" / MODEL, models.random_weights())
        os.environ[FOLDERS_VARIABLE] = str(model.resolve().parent)
        browser = playwright.chromium.launch(executable_path=find_chromium(playwright), args=CHROMIUM_ARGS)
        found: dict[str, Any] = {} if pages else first_pages(browser, folder, times=1 if quick else 3)
        server = Server("app.py", folder / "log.txt")
        try:
            titles = pages or PAGES
            addresses = [link(server, model.name, n_tokens) for n_tokens in (SHORT, LONG)]
            once = Tab(browser)  # loads the model and the libraries, so that no figure includes the start
            once.open(addresses[0])
            once.page.close()
            short = measure(browser, addresses[0], titles, SHORT, *((3, 2) if quick else (15, 8)))
            long = measure(browser, addresses[1], titles, LONG, *((2, 1) if quick else (6, 4)))
            if "All heads" in titles:
                found |= overview(browser, addresses[0], times=5 if quick else 12)
        finally:
            server.stop()
            browser.close()
    return headline(short, long) | found | {"pages_32": short, "pages_1024": long}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "browser.json")
    parser.add_argument("--model", type=Path, help="serve this folder instead of a random model")
    parser.add_argument("--pages", nargs="+", choices=PAGES, metavar="PAGE", help="these pages only")
    parser.add_argument("--quick", action="store_true", help="a few interactions of each kind only")
    options = parser.parse_args()
    found = run(options.model, options.quick, options.pages)
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    for name, value in found.items():
        if not isinstance(value, dict):
            print(f"{name:28} {value}")


if __name__ == "__main__":
    main()
