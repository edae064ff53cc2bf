"""How long a key press takes to reach the strip and the charts, in a real browser.

    .venv/bin/python -m bench.stepping [--steps 30] [--tokens 16]

Prints milliseconds, p50 and p95: from the key press to the painted strip (drawn in the browser), and to the last
repaint of the charts that depend on the token (drawn by the server). Needs requirements-dev.txt and a Chromium.
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

# The strip is painted two frames after its chosen chip has changed; the charts when both titles name the new token.
_STEP = """async position => {
  const strip = [...document.querySelectorAll('*')].map(e => e.shadowRoot).find(r => r?.querySelector('.cells'));
  const now = performance.now(), frame = () => new Promise(requestAnimationFrame);
  const chosen = () => strip.querySelector('[aria-checked=true]');
  const named = key => document.querySelector(`.st-key-${key}`)?.textContent.includes(` ${position} `);
  chosen().dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true, composed: true }));
  while (chosen().querySelector('.position').textContent !== `${position}`) await frame();
  await frame(); await frame();
  const painted = performance.now() - now;
  while (!(named('bars') && named('vectors'))) await frame();
  await frame(); await frame();
  return [painted, performance.now() - now];
}"""


def measure(page: Page, steps: int, n_tokens: int) -> tuple[list[float], list[float]]:
    """Milliseconds to the strip and to the charts of `steps` steps to the right."""
    strip, charts = [], []
    position = 1
    page.locator("[role=radiogroup] [aria-checked=true]").last.focus()
    for _ in range(steps):
        if position >= n_tokens:
            page.keyboard.press("Home")
            position = 1
            wait_idle(page, quiet_ms=400)
        position += 1
        to_strip, to_charts = page.evaluate(_STEP, position)
        strip.append(to_strip)
        charts.append(to_charts)
        wait_idle(page, quiet_ms=200)
    return strip, charts


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
            page.locator(".st-key-matrices .js-plotly-plot").wait_for(timeout=60_000)
            wait_idle(page, quiet_ms=500)
            n_tokens = page.locator("[role=radiogroup]").last.locator("[role=radio]").count()
            for name, values in zip(("strip", "charts"), measure(page, options.steps, n_tokens), strict=True):
                ordered = sorted(values)
                p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
                print(f"key to {name}: p50 {statistics.median(values):.0f} ms, p95 {p95:.0f} ms, {n_tokens} tokens")
            browser.close()
        finally:
            server.stop()


if __name__ == "__main__":
    main()
