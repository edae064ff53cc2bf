"""Fixtures for tests in a real Chromium.

    def test_theme(page, server):
        page.goto(server().url)              # app.py; server("tests/browser/apps/plain.py") serves another app
        wait_idle(page)

`page` fails its test on any error in the page, exception in the app, or request to another host. When a test fails, a
screenshot of its page is written to `failures/`.
Theme and size are fixtures too: `@pytest.mark.parametrize("color_scheme", ["light", "dark"])`, `("viewport", [PHONE])`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, Playwright, expect, sync_playwright

from tests.browser.harness import (
    CHROMIUM_ARGS,
    DESKTOP,
    FAILURES,
    PATIENCE_MS,
    NoBrowser,
    ReusedPage,
    Server,
    Watch,
    find_chromium,
)
from tests.models import make_config, random_network, weights_of, write_checkpoint

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """`server(script)`: a server of that app, started by the first call and returned by later ones.

    Beside the embedded model it has `endless`, with random weights, which never ends its text.
    """
    servers: dict[str, Server] = {}
    models = tmp_path_factory.mktemp("models")
    write_endless(models / "endless")

    def serve(script: str = "app.py") -> Server:
        if script not in servers:
            servers[script] = Server(script, tmp_path_factory.mktemp("server") / "log.txt", models=models)
        return servers[script]

    yield serve
    for one in servers.values():
        one.stop()


def write_endless(folder: Path) -> None:
    """A checkpoint that never generates the start token: tied to a row of zeros, its logit is never the highest."""
    network = random_network(make_config(n_layers=12, n_heads=6, d_model=192, d_mlp=768, n_ctx=256))
    weights = weights_of(network)
    weights["wte.weight"][-1] = 0
    write_checkpoint(folder, network, weights=weights)


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Playwright, started."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """One Chromium for all tests."""
    try:
        path = find_chromium(playwright)
    except NoBrowser as missing:
        pytest.fail(str(missing), pytrace=False)
    chromium = playwright.chromium.launch(executable_path=path, headless=True, args=CHROMIUM_ARGS)
    yield chromium
    chromium.close()


@pytest.fixture
def color_scheme() -> Literal["light", "dark"]:
    """The preferred colour scheme: "light" or "dark"."""
    return "light"


@pytest.fixture
def viewport() -> tuple[int, int]:
    """Width and height of the window."""
    return DESKTOP


@pytest.fixture(scope="session")
def reused_page(browser: Browser) -> ReusedPage:
    """The page that all tests of this worker share."""
    return ReusedPage(browser)


@pytest.fixture
def context(
    reused_page: ReusedPage, color_scheme: Literal["light", "dark"], viewport: tuple[int, int]
) -> Iterator[BrowserContext]:
    """A browser without history, cookies and stored data, with one empty page."""
    yield reused_page.take(viewport, color_scheme).context
    reused_page.clean()


@pytest.fixture
def watch(context: BrowserContext) -> Iterator[Watch]:
    """The problems in this test's pages so far."""
    watch = Watch(context)
    yield watch
    watch.close()


@pytest.fixture
def page(context: BrowserContext, watch: Watch) -> Page:
    """An empty page, watched: an error in it, an exception in the app or a request to another host fails the test."""
    return context.pages[0]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """After the test, while its pages are open: report problems, and keep screenshots of a failure."""
    watch, context = pyfuncitem.funcargs.get("watch"), pyfuncitem.funcargs.get("context")
    try:
        outcome = yield
        if isinstance(watch, Watch):
            watch.check()
        return outcome
    except Exception:
        if isinstance(context, BrowserContext):
            if not pyfuncitem.get_closest_marker("xfail"):
                _keep_pictures(context, pyfuncitem.name)
            context.close()  # the next test gets a new page
        raise


def _keep_pictures(context: BrowserContext, test: str) -> None:
    FAILURES.mkdir(exist_ok=True)
    name = re.sub(r"[^\w.-]+", "-", test).strip("-")
    for number, page in enumerate(context.pages):
        with suppress(Error):  # a page that has crashed has no picture; the test's own failure is what matters
            page.screenshot(path=FAILURES / f"{name}{f'-{number}' if number else ''}.png", full_page=True)
