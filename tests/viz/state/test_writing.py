"""Written text in the URL: what goes in comes back, and what could not have been written is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.state.writing import MOST, Writing, from_params, to_params

ROOM = {"n_typed": 5, "d_vocab": 50257, "n_ctx": 1024}


@given(ids=st.lists(st.integers(0, 50256), max_size=MOST), beyond=st.none() | st.integers(0, MOST - 1))
def test_a_link_brings_back_what_was_written(ids: list[int], beyond: int | None) -> None:
    at = None if beyond is None or beyond >= len(ids) else 5 + beyond
    writing = Writing("text", tuple(ids), at)
    assert from_params(to_params(writing), "text", **ROOM) == writing


def test_what_is_still_to_be_written_is_not_in_the_link() -> None:
    params = to_params(Writing("text", (1, 35, 36), None, left=4))
    assert params == {"written": "1.z.10"}
    assert from_params(params, "text", **ROOM).left == 0
    assert to_params(Writing("text", (1,) * (MOST + 1))) == {}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"written": ""},
        {"written": "1..2"},
        {"written": "1.-2"},
        {"written": "<b>"},
        {"written": "zzzzz"},  # no such token
        {"written": "zzzzzzz"},
        {"written": ".".join(["1"] * (MOST + 1))},
        {"written": "1." * 100_000},
    ],
)
def test_a_tampered_link_writes_nothing(params: dict[str, str]) -> None:
    assert from_params(params, "text", **ROOM) == Writing("text")


def test_no_more_than_the_context_holds() -> None:
    params = {"written": "1.2.3"}
    assert len(from_params(params, "text", n_typed=5, d_vocab=9, n_ctx=8).ids) == 3
    assert not from_params(params, "text", n_typed=6, d_vocab=9, n_ctx=8).ids


@pytest.mark.parametrize(("at", "position"), [("6", 5), ("8", 7), ("5", None), ("9", None), ("x", None), ("-1", None)])
def test_the_position_lies_in_what_was_written(at: str, position: int | None) -> None:
    assert from_params({"written": "1.2.3", "at": at}, "text", **ROOM).at == position
