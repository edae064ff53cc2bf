"""What was derived last: kept once, in bounded room, the oldest gone first; and what a trace so keeps."""

from __future__ import annotations

import gc
import weakref

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from model.changes.interventions import Changes, Link
from model.network import attention
from model.trace.recent import Recent
from model.trace.trace import run_trace
from tests.model.conftest import IDS


def test_what_is_kept_is_not_made_again() -> None:
    recent, made = Recent(100), np.zeros(10, np.uint8)
    assert recent.get("a", lambda: made) is made
    assert recent.get("a", lambda: np.ones(10, np.uint8)) is made
    assert recent.get("b", lambda: np.ones(20, np.uint8)) is not made
    assert recent.nbytes == 30


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    recent, one, two = Recent(25), np.zeros(10, np.uint8), np.zeros(10, np.uint8)
    recent.get(1, lambda: one)
    recent.get(2, lambda: two)
    recent.get(1, lambda: one)
    recent.get(3, lambda: np.zeros(10, np.uint8))
    assert recent.get(1, lambda: two) is one
    assert recent.get(2, lambda: one) is one  # made anew


def test_what_is_larger_than_the_room_is_made_and_not_kept() -> None:
    recent = Recent(5)
    assert len(recent.get("a", lambda: np.zeros(6, np.uint8))) == 6
    assert recent.nbytes == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=40), st.integers(0, 20))
def test_the_room_is_never_exceeded(asked: list[tuple[int, int]], room: int) -> None:
    recent = Recent(room)
    for key, size in asked:
        assert len(recent.get((key, size), lambda size=size: np.zeros(size, np.uint8))) == size
        assert recent.nbytes <= room


def test_a_heads_matrices_are_derived_once(network, monkeypatch):
    trace, derived = run_trace(network, IDS), []
    for name in ("attn_scores", "softmax"):
        make = getattr(attention, name)
        monkeypatch.setattr(attention, name, lambda *a, name=name, make=make: derived.append(name) or make(*a))
    for _ in range(2):
        scores, masked, pattern = (getattr(trace, name)(1, 2) for name in ("attn_scores", "masked_scores", "pattern"))
        np.testing.assert_array_equal(masked[4, :5], scores[4, :5])
        weights = np.exp(masked[4, :5])
        np.testing.assert_allclose(pattern[4, :5], weights / weights.sum(), atol=1e-5)
        assert not pattern.flags.writeable
    assert derived == ["attn_scores", "softmax"]
    assert not np.array_equal(trace.pattern(1, 1), trace.pattern(1, 2))  # another head is not taken for it,
    changed = run_trace(network, IDS, changes=Changes(cuts=(Link(1, 2, 4, 0),)))
    assert changed.pattern(1, 2)[4, 0] == 0 < trace.pattern(1, 2)[4, 0]  # nor another pass over the same text


def test_the_logits_of_a_position_are_derived_once_and_do_not_hold_the_trace(network, monkeypatch):
    trace, derived, logits = run_trace(network, IDS), [], network.logits
    monkeypatch.setattr(network, "logits", lambda resid: derived.append(resid) or logits(resid))
    assert trace.logits(3) is trace.logits(3)
    assert trace.logits(4) is not trace.logits(3)
    assert len(derived) == 2
    gone = weakref.ref(trace)
    del trace
    gc.collect()
    assert gone() is None
