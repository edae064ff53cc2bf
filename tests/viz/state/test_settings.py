"""Each kind of setting: read from a link, written to it, damaged, and kept in the session."""

from __future__ import annotations

from typing import Any

import pytest

from viz.state import settings
from viz.state.settings import Setting, Sizes, choice, head, number, position, switch, token_id

SIZES = Sizes(n_pos=6, d_vocab=50, n_layers=2, n_heads=3)
# A setting of each kind, whose default is the first value: what links say and mean, what they cannot say, and what is
# told then.
KINDS: dict[str, tuple[Setting, dict[str, Any], list[str], str]] = {
    "choice": (
        choice("a_choice", "c", ("one", "two", 3)),
        {"one": "one", "two": "two", "3": 3},
        ["One", "four", "one,two", "two "],
        "one of one, two, 3",
    ),
    "switch, off": (switch("off", "f"), {"0": False, "1": True}, ["2", "on", "True", "01"], "one of 0, 1"),
    "switch, on": (switch("on", "n", default=True), {"1": True, "0": False}, ["2", "on", "True", "01"], "one of 1, 0"),
    "number": (
        number("a_number", "x", 1.0, 0.1, 2.0),
        {"1": 1.0, "0.1": 0.1, "1.25": 1.25, "2": 2.0},
        ["0.09", "2.01", "-1", "nan", "inf", "1e0", "1.", ".5", "0x1", "1,5", "١"],
        "a number from 0.1 to 2",
    ),
    "whole number": (
        number("whole", "w", 0, 0, 9999),
        {"0": 0, "1": 1, "9999": 9999},
        ["10000", "-1", "1.5", "1e3", "9" * 12, "١"],
        "a whole number from 0 to 9999",
    ),
    "position": (position("place", "p"), {"1": 0, "6": 5}, ["0", "7", "-1", "1.5", "١"], "a token of this text"),
    "token id": (token_id("token", "t", 7), {"7": 7, "0": 0, "49": 49}, ["50", "-1", "1.5", "١"], "a token's id"),
    "head": (
        head("a_head", "h", (0, 1)),
        {"L0H1": (0, 1), "L1H2": (1, 2)},
        ["L2H0", "L0H3", "L0", "H1", "l0h1", "L-1H0", "L0mean", "L0H1,L1H2", "L٠H1"],
        "a head of this model",
    ),
}
EACH = pytest.mark.parametrize("kind", KINDS)


class State(dict[str, Any]):
    """A session's state, outside of a run."""

    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__  # type: ignore[assignment]


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> State:
    """A session that has begun with an empty link."""
    state = State(link={})
    monkeypatch.setattr(settings.st, "session_state", state)
    return state


def default_of(kind: str) -> Any:
    """The default: the first value, but that no position is chosen before somebody does."""
    setting, values, _, _ = KINDS[kind]
    return None if setting.of_text else next(iter(values.values()))


@EACH
def test_what_a_link_says_is_read_and_written_again(kind: str) -> None:
    setting, values, _, _ = KINDS[kind]
    for raw, value in values.items():
        read, notices = setting.from_params({setting.param: raw, "other": "x"}, SIZES)
        assert (read, type(read), notices) == (value, type(value), [])
        assert setting.to_params(value) == ({} if value == setting.default else {setting.param: raw})


@EACH
def test_the_default_is_not_in_the_link(kind: str) -> None:
    setting = KINDS[kind][0]
    assert setting.default == default_of(kind)
    assert setting.to_params(setting.default) == {}
    assert setting.from_params({}, SIZES) == (setting.default, [])


@EACH
def test_a_damaged_value_is_left_out_and_named(kind: str) -> None:
    setting, _, damaged, allowed = KINDS[kind]
    notice = f"The link's {setting.param} is not {allowed}; it is left out."
    for raw in [*damaged, "", "<b>", " 1", "1\n", "None"]:
        assert setting.from_params({setting.param: raw}, SIZES) == (setting.default, [notice]), raw


@EACH
def test_a_smaller_model_or_text_has_no_room_for_it(kind: str) -> None:
    setting, values, _, _ = KINDS[kind]
    raw = list(values)[-1]
    least = Sizes(n_pos=1, d_vocab=1, n_layers=1, n_heads=1)
    fits = kind not in ("position", "token id", "head")
    assert bool(setting.from_params({setting.param: raw}, least)[1]) is not fits


@EACH
def test_what_was_chosen_stays_until_back_or_forward_leads_elsewhere(
    kind: str, session: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting, values, _, _ = KINDS[kind]
    (first, second), last = list(values.items())[:2], list(values.items())[-1]
    session.link = {setting.param: second[0]}
    settings.open_settings([setting], SIZES, "text")
    assert session[setting.key] == second[1]
    assert settings.settings_params() == {setting.param: second[0]}
    session[setting.key] = first[1]  # chosen with its widget
    settings.open_settings([setting], SIZES, "text")
    assert session[setting.key] == first[1]
    assert settings.settings_params() == setting.to_params(first[1])
    settings.close_settings()
    assert settings.settings_params() == {}  # on another page
    session.link = {setting.param: last[0]}
    settings.open_settings([setting], SIZES, "text")
    assert session[setting.key] == first[1]
    monkeypatch.setattr(settings, "was_led", lambda: True)
    settings.open_settings([setting], SIZES, "text")
    assert session[setting.key] == last[1]
    assert "notices" not in session or session["notices"] == []


@EACH
def test_only_a_setting_of_the_text_goes_with_it(kind: str, session: State) -> None:
    setting, values, _, _ = KINDS[kind]
    raw, value = list(values.items())[-1]
    session.link = {setting.param: raw}
    settings.open_settings([setting], SIZES, "text")
    assert session[setting.key] == value
    settings.open_settings([setting], SIZES, "another text")
    assert setting.of_text == (kind == "position")
    assert session[setting.key] == (setting.default if setting.of_text else value)


@EACH
def test_a_damaged_value_is_told_once(kind: str, session: State) -> None:
    setting, _, damaged, allowed = KINDS[kind]
    session.link = {setting.param: damaged[0]}
    for _ in range(2):
        settings.open_settings([setting], SIZES, "text")
    assert session[setting.key] == setting.default
    assert session["notices"] == [f"The link's {setting.param} is not {allowed}; it is left out."]
