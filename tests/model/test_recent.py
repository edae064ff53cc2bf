"""What was derived last: kept once, in bounded room, the oldest gone first."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from model.recent import Recent


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
