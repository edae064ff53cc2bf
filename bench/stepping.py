"""How long a key press takes to reach the strip and the charts, in a real browser, on every page that has a strip.

    .venv/bin/python -m bench.stepping [--steps 30] [--tokens 16]

Prints milliseconds, p50 and p95: from the key press to the painted strip (drawn in the browser), and to the last
repaint of a chart (drawn by the server). Needs requirements-dev.txt and a Chromium.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from tests.browser.harness import CHROMIUM_ARGS, Server, find_chromium, wait_idle

SENTENCE = "A robot must obey the orders given it by human beings except where such orders would conflict"
PAGES = ("Attention", "Three steps", "Mask", "One token at a time", "Inside a block", "Compare heads")

# Notes when anything inside a chart last changed, and finds the strip inside its shadow root.
_WATCH = """() => {
  window.lastChange = 0;
  const inChart = node => (node.nodeType === 1 ? node : node.parentElement)?.closest('[data-testid="stPlotlyChart"]');
  new MutationObserver(changes => {
    if (changes.some(change => inChart(change.target))) window.lastChange = performance.now();
  }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
  window.strip = () => [...document.querySelectorAll('*')].map(e => e.shadowRoot).find(r => r?.querySelector('.cells'));
}"""

# The strip counts as painted two frames after its chosen chip has changed.
_STEP = """async position => {
  const chosen = () => window.strip().querySelector('[aria-checked=true]');
  const frame = () => new Promise(requestAnimationFrame);
  window.pressed = performance.now();
  chosen().dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true, composed: true }));
  while (chosen().querySelector('.position').textContent !== `${position}`) await frame();
  await frame(); await frame();
  return performance.now() - window.pressed;
}"""


def measure(page: Page, steps: int, n_tokens: int) -> tuple[list[float], list[float]]:
    """Milliseconds to the strip and to the last change of a chart, for `steps` steps to the right."""
    page.evaluate(_WATCH)
    strip, charts = [], []
    position = n_tokens
    for _ in range(steps):
        if position >= n_tokens:
            page.evaluate("window.strip().querySelector('[role=radio]').click()")
            position = 1
            wait_idle(page, quiet_ms=600)
        position += 1
        strip.append(page.evaluate(_STEP, position))
        wait_idle(page, quiet_ms=500)
        taken = page.evaluate("window.lastChange - window.pressed")
        charts += [taken] if taken > 0 else []
    return strip, charts


def _summary(values: list[float]) -> str:
    if not values:
        return "none changes"
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    return f"p50 {statistics.median(values):4.0f}  p95 {p95:4.0f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--tokens", type=int, default=16)
    options = parser.parse_args()
    words = SENTENCE.split()
    text = " ".join(words[i % len(words)] for i in range(options.tokens))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server("app.py", Path(folder) / "log.txt")
        try:
            browser = playwright.chromium.launch(executable_path=find_chromium(playwright), args=CHROMIUM_ARGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{server.url}/?{urlencode({'text': text, 'query': '1', 'layer': '0', 'head': '0'})}")
            page.locator(".js-plotly-plot").first.wait_for(timeout=60_000)
            for name in PAGES:
                page.get_by_role("link", name=name).click()
                wait_idle(page, quiet_ms=1500)
                n_tokens = page.locator("[role=radiogroup]").filter(has=page.locator(".cell")).locator(".cell").count()
                strip, charts = measure(page, options.steps, n_tokens)
                print(f"{name:20} {n_tokens} tokens   strip ms: {_summary(strip)}   charts ms: {_summary(charts)}")
            browser.close()
        finally:
            server.stop()


if __name__ == "__main__":
    main()
