"""The head grid's Python half: what travels to the browser, and which choices of the browser count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st

from viz.components import head_grid as module
from viz.components.head_grid import MAX_BYTES, MAX_BYTES_LONG, Choice, cells_for, chosen_head, head_grid, pack


def thumbnails_of(n_layers: int, n_heads: int, side: int) -> np.ndarray:
    weights = np.tril(np.random.default_rng(0).random((n_layers, n_heads, side, side)).astype(np.float32))
    return weights / weights.sum(axis=-1, keepdims=True)


@given(n_layers=st.integers(1, 4), n_heads=st.integers(1, 4), side=st.integers(1, 12))
def test_each_triangle_travels_as_bytes_one_after_the_other(n_layers: int, n_heads: int, side: int) -> None:
    weights = thumbnails_of(n_layers, n_heads, side)
    sent = pack(weights).column(0).to_numpy()
    assert sent.dtype == np.uint8
    assert sent.size == n_layers * n_heads * side * (side + 1) // 2
    expected = weights[:, :, np.tri(side, dtype=bool)].ravel()
    assert np.abs(sent / 255 - expected).max() <= 0.5 / 255 + 1e-6


@given(n_heads=st.integers(1, 5000), n_tokens=st.integers(1, 1024))
def test_all_heads_together_stay_within_their_bytes(n_heads: int, n_tokens: int) -> None:
    side = cells_for(n_heads, n_tokens, most=64)
    shown = min(side, n_tokens)
    assert 1 <= side <= 64
    if side > 1:
        assert n_heads * shown * (shown + 1) // 2 <= (MAX_BYTES if n_tokens <= side else MAX_BYTES_LONG)


def test_known_models_show_every_weight_of_a_sentence() -> None:
    assert cells_for(144, 64, most=64) == 64
    assert cells_for(48 * 25, 40, most=64) == 40


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The session, with a grid of two layers and three heads in it."""
    state: dict[str, Any] = {}
    monkeypatch.setattr(streamlit, "session_state", state)
    monkeypatch.setattr(module, "_render_grid", lambda **options: None)
    head_grid(thumbnails_of(2, 3, 4), queries=np.arange(4), note="", revision="a", key="g", on_choice=lambda: None)
    return state


def test_a_choice_of_the_browser(session: dict[str, Any]) -> None:
    assert chosen_head("g") is None
    session["g"] = {"choice": {"wish": "beside", "layer": 1, "head": 2, "revision": "a"}}
    assert chosen_head("g") == Choice("beside", (1, 2))


@pytest.mark.parametrize(
    "change",
    [{"revision": "b"}, {"layer": 2}, {"head": -1}, {"head": True}, {"layer": "1"}, {"wish": "delete"}, {"wish": None}],
)
def test_a_choice_of_another_text_or_of_nothing_does_not_count(session: dict[str, Any], change: dict[str, Any]) -> None:
    session["g"] = {"choice": {"wish": "open", "layer": 1, "head": 2, "revision": "a"} | change}
    assert chosen_head("g") is None
