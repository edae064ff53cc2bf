"""The strip shows each token once, whatever happens while the model writes: it writes on, somebody types, it ends."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.browser.harness import Server, wait_idle

TEXT = "Once upon a time there was a little robot who"
ROUNDS = 3

# The strip's tokens and positions as they stand, and those that are marked as chosen.
CELLS = """() => {
  const cells = [...document.querySelectorAll('[data-testid^=stBidiComponent], [data-testid^=stBidiComponent] *')]
    .map(element => element.shadowRoot?.querySelector('.cells')).find(Boolean).children;
  return [...cells].map(cell => [
    cell.querySelector('bdi').textContent,
    Number(cell.querySelector('.position').textContent),
    cell.getAttribute('aria-checked') === 'true',
  ]);
}"""


def shown(page: Page) -> str:
    """The text that the strip shows; each of its tokens stands there once, and one is chosen."""
    cells = page.evaluate(CELLS)
    assert [position for _, position, _ in cells] == list(range(1, len(cells) + 1))
    assert sum(chosen for _, _, chosen in cells) == 1
    return "".join(label for label, _, _ in cells).replace("·", " ")


def test_typing_while_the_model_writes_and_letting_it_end(page: Page, server: Callable[..., Server]) -> None:
    page.goto(f"{server().url}/?{urlencode({'text': TEXT, 'way': 'sampled', 'seed': '6'})}")
    page.get_by_role("link", name="One token at a time").click()
    box = page.get_by_role("textbox", name="Your text")
    write, stop = page.get_by_role("button", name="Write 60"), page.locator(".st-key-gen_stop button")
    n_tokens = page.get_by_label("Tokens to write")
    expect(n_tokens).to_be_visible()
    wait_idle(page)
    n_tokens.fill("60")
    page.keyboard.press("Enter")
    expect(write).to_be_visible()
    for number in range(ROUNDS):
        wait_idle(page)
        n_tokens_before = len(page.evaluate(CELLS))
        write.click()
        page.wait_for_function(f"n => ({CELLS})().length > n", arg=n_tokens_before)
        box.press("End")
        box.press_sequentially(f" {number}")
        page.wait_for_function(f"() => ({CELLS})().length && !document.querySelector('.st-key-gen_stop')")
        wait_idle(page, quiet_ms=600)
        text = box.input_value()
        assert text == TEXT + "".join(f" {i}" for i in range(number + 1))
        page.wait_for_function(
            f"text => ({CELLS})().map(cell => cell[0]).join('').replaceAll('·', ' ') === text", arg=text
        )
        assert shown(page) == text
    n_typed = len(page.evaluate(CELLS))
    write.click()  # and once to its end: by then it was redrawn dozens of times
    # Only the end is waited for: a fast machine has written all 60 before anybody looks for the button that stops it.
    page.wait_for_function(f"n => ({CELLS})().length === n", arg=n_typed + 60, timeout=120_000)
    expect(stop).to_have_count(0)
    wait_idle(page, quiet_ms=600)
    assert shown(page).startswith(text)
