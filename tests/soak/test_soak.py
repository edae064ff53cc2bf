"""The soak's short form: a small model, a small cache, nine visitors at once. No outcome depends on how long they wait:
the long form, `make soak`, has limits for that."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from model.network.config import GPT2Config
from tests.browser.harness import Server
from tests.soak.soak import Crowd, Memory, Waits, many_at_once, one_types_on, type_on_and_leave
from tests.soak.visitor import run
from tests.soak.weights import write_random_model

SMALL = GPT2Config(n_layers=4, n_heads=4, d_model=128, n_ctx=1024, d_vocab=50257, d_mlp=512)
CACHE_MB, PER_SESSION_MB, LONG_TEXT_MB = 4, 2, 40


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("soak")
    write_random_model(folder / "models" / "small", SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_MODELS", str(folder / "models"))
        patch.setenv("HEADLIGHT_TRACE_CACHE_MB", str(CACHE_MB))
        server = Server("app.py", folder / "log.txt")
    yield server
    server.stop()


def test_memory_levels_off_while_one_visitor_types_on(served: Server) -> None:
    held = run(one_types_on(served.url, "small", 24, Memory(served.process.pid), n_words=(20, 20)))
    # What 24 sentences leave behind together is twice what the cache holds; it is full after the first half.
    assert max(held[18:]) - max(held[12:18]) < CACHE_MB / 2, held


def test_many_at_once_see_their_own_text_only(served: Server) -> None:
    memory = Memory(served.process.pid)
    held = []
    for n_steps in (2, 4):  # the first crowd has all pages' code read, and one long text of its own
        waits = Waits()
        crowd = Crowd(served.url, "small", n_visitors=8, n_steps=n_steps, think=0.2, n_writing=1)
        run(many_at_once(crowd, waits))
        held.append(memory.now())
    assert set(waits.by_action) >= {"open a link", "type a long text", "write on after a long text"}
    assert held[1] - held[0] < 9 * PER_SESSION_MB + LONG_TEXT_MB + CACHE_MB, held


def test_long_work_that_nobody_waits_for_is_given_up(served: Server) -> None:
    run(type_on_and_leave(served.url, "small", 1000))  # both who come after are served
    assert "Traceback" not in served.log_text()
