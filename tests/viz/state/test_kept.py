"""What the session keeps: a bound widget's choice goes where its state is; a value goes with what it belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from viz.state import kept
from viz.state.kept import Kept, bound


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    state: dict[str, Any] = {}
    monkeypatch.setattr(kept.st, "session_state", state)
    return state


def test_a_bound_widget_shows_the_state_and_hands_the_choice_on(session: dict[str, Any]) -> None:
    chosen = list[int]()
    session["slider"] = 9  # from the run before
    arguments = bound("slider", 3, chosen.append)
    assert arguments["key"] == "slider"
    assert (session["slider"], chosen) == (3, [])
    session["slider"] = 5  # a person's choice
    arguments["on_change"]()
    assert chosen == [5]


def test_a_value_is_kept_as_long_as_what_it_belongs_to(session: dict[str, Any]) -> None:
    size = Kept[int]("size")
    assert size.get("a") is None
    assert size.put("a", 0) == 0
    assert size.get("a") == 0
    assert size.get("b") is None
    assert Kept[int]("other").get("a") is None
    size.put("b", 2)
    assert (size.get("a"), size.get("b")) == (None, 2)
    size.drop()
    size.drop()
    assert size.get("b") is None
    assert not session
