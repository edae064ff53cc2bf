"""Visitors in a real Chromium, beside those who only speak the protocol."""

from __future__ import annotations

import asyncio
import re
import time
from urllib.parse import urlencode

from playwright.async_api import Page, async_playwright, expect

from tests.browser.harness import CHROMIUM_ARGS, find_chromium

TEXT = "A robot must obey the orders given it by human beings"


async def look_around(url: str, model: str, n_browsers: int, n_steps: int, think: float) -> list[float]:
    """Each tab steps through a sentence; the seconds from each key press to the address that says so."""
    if not n_browsers:
        return []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(playwright), args=CHROMIUM_ARGS)
        try:
            pages = [await browser.new_page() for _ in range(n_browsers)]
            waits = await asyncio.gather(*(_steps(page, url, model, n_steps, think) for page in pages))
        finally:
            await browser.close()
    return [seconds for page in waits for seconds in page]


async def _steps(page: Page, url: str, model: str, n_steps: int, think: float) -> list[float]:
    query = urlencode({"model": model, "text": TEXT, "query": "1", "layer": "0", "head": "0"})
    await page.goto(f"{url}/?{query}")
    chosen = page.locator(".cell[aria-checked=true]")
    await expect(chosen.locator(".position")).to_have_text("1", timeout=60_000)
    await page.locator(".js-plotly-plot").nth(2).wait_for(timeout=60_000)
    waits, position = [], 1
    for step in range(n_steps):
        await asyncio.sleep(think)
        right = step // 8 % 2 == 0  # eight steps there, eight back
        position += 1 if right else -1
        started = time.perf_counter()
        await chosen.press("ArrowRight" if right else "ArrowLeft")
        await page.wait_for_url(re.compile(rf"query={position}(&|$)"), timeout=60_000)
        waits.append(time.perf_counter() - started)
    return waits
