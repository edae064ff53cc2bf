"""Written text in the URL: what goes in comes back, and what could not have been written is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.state.writing import MOST, Writing

ROOM = {"n_typed": 5, "d_vocab": 50257, "n_ctx": 1024}


@given(ids=st.lists(st.integers(0, 50256), max_size=MOST), beyond=st.none() | st.integers(0, MOST - 1))
def test_a_link_brings_back_what_was_written(ids: list[int], beyond: int | None) -> None:
    at = None if beyond is None or beyond >= len(ids) else 5 + beyond
    writing = Writing("text", tuple(ids), at)
    assert Writing.from_params(writing.to_params(), "text", **ROOM) == (writing, [])


def test_what_is_still_to_be_written_is_not_in_the_link() -> None:
    params = Writing("text", (1, 35, 36), None, left=4).to_params()
    assert params == {"written": "1.z.10"}
    assert Writing.from_params(params, "text", **ROOM)[0].left == 0
    assert Writing("text", (1,) * (MOST + 1)).to_params() == {}


def test_a_link_without_it_writes_nothing_and_tells_nothing() -> None:
    assert Writing.from_params({"at": "x"}, "text", **ROOM) == (Writing("text"), [])


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "1..2",
        "1.-2",
        "<b>",
        "zzzzz",  # no such token
        "zzzzzzz",
        ".".join(["1"] * (MOST + 1)),
        "1." * 100_000,
    ],
)
def test_a_tampered_link_writes_nothing_and_is_told(raw: str) -> None:
    notice = "The link's written is not a list of this model's tokens; it is left out."
    assert Writing.from_params({"written": raw}, "text", **ROOM) == (Writing("text"), [notice])


def test_no_more_than_the_context_holds() -> None:
    params = {"written": "1.2.3"}
    writing, notices = Writing.from_params(params, "text", n_typed=5, d_vocab=9, n_ctx=8)
    assert (len(writing.ids), notices) == (3, [])
    notice = "The link's written is longer than this model's context; it is left out."
    assert Writing.from_params(params, "text", n_typed=6, d_vocab=9, n_ctx=8) == (Writing("text"), [notice])


@pytest.mark.parametrize(("at", "position"), [("6", 5), ("8", 7), ("5", None), ("9", None), ("x", None), ("-1", None)])
def test_the_position_lies_in_what_was_written(at: str, position: int | None) -> None:
    writing, notices = Writing.from_params({"written": "1.2.3", "at": at}, "text", **ROOM)
    assert writing == Writing("text", (1, 2, 3), position)
    told = ["The link's at is not one of the written tokens; it is left out."]
    assert notices == (told if position is None else [])
