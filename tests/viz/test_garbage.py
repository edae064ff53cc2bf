"""Garbage is collected seldom, and where Streamlit asks for it after every run."""

from __future__ import annotations

import gc

import pytest
from streamlit.runtime.scriptrunner import script_runner

from viz import garbage


def test_streamlit_asks_ours_and_is_answered_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_runner, "gc", gc)
    monkeypatch.setattr(garbage, "_last", 0.0)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    garbage.spare_the_collector.clear()  # type: ignore[attr-defined]
    garbage.spare_the_collector()
    clock, collected = [1000.0], list[int]()
    monkeypatch.setattr(garbage.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(gc, "collect", lambda generation: collected.append(generation) or 7)
    ask = vars(script_runner)["gc"].collect
    assert [ask(2), ask(2)] == [7, 0]
    clock[0] += garbage.SECONDS
    assert ask(2) == 7
    assert collected == [2, 2]
