"""What is chosen on one page only: kept in the session under a widget's key and, so that a link shows it again, in the
URL, under a short name, where it is not what the page starts with.

A page names its settings to `open_view`. The session then has a value for each before its widget is drawn, which so has
no default of its own: the one chosen before, or that of the link, or the setting's default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from viz.state.focus import Head, head_name
from viz.state.link import was_led


@dataclass(frozen=True)
class Room:
    """What text and model have room for: positions, token ids, heads."""

    n_pos: int
    d_vocab: int
    n_layers: int
    n_heads: int


@dataclass(frozen=True)
class Setting:
    """One choice. `write` and `read` give None for what cannot be chosen; `allowed` says in words what can.

    A setting `of_text` starts from its default again with every text.
    """

    key: str
    param: str
    default: Any
    allowed: str
    write: Callable[[Any], str | None]
    read: Callable[[str, Room], Any]
    of_text: bool = False

    def to_params(self, value: Any) -> dict[str, str]:
        """The query parameter that says `value`; none for the default."""
        raw = None if value == self.default else self.write(value)
        return {} if raw is None else {self.param: raw}

    def from_params(self, params: Mapping[str, str], room: Room) -> tuple[Any, list[str]]:
        """Read a URL. What it says wrongly is left out and named in the list of notices."""
        if self.param not in params:
            return self.default, []
        value = self.read(params[self.param], room)
        if value is not None:
            return value, []
        return self.default, [f"The link's {self.param} is not {self.allowed}; it is left out."]


def choice(key: str, param: str, names: Mapping[Any, str]) -> Setting:
    """One of several values, each with its name in the link; the first is the default."""
    values = {name: value for value, name in names.items()}
    allowed = f"one of {', '.join(values)}"
    return Setting(key, param, next(iter(names)), allowed, names.get, lambda raw, _: values.get(raw))


def switch(key: str, param: str, *, default: bool = False) -> Setting:
    """On or off: 1 or 0."""
    return choice(key, param, {on: str(int(on)) for on in (default, not default)})


def number(key: str, param: str, default: float, least: float, most: float) -> Setting:
    """A number in a range, whole if `default` is an int."""
    kind = type(default)
    form = re.compile(r"[0-9]{1,9}" if kind is int else r"[0-9]{1,9}(\.[0-9]{1,9})?")

    def read(raw: str, _: Room) -> float | None:
        value = kind(raw) if form.fullmatch(raw) else None
        return value if value is not None and least <= value <= most else None

    allowed = f"a {'whole ' if kind is int else ''}number from {least:g} to {most:g}"
    return Setting(key, param, default, allowed, lambda value: f"{value:g}", read)


def position(key: str, param: str) -> Setting:
    """A token of the text by its position, from 1 in the link; None as long as nobody has chosen one."""

    def read(raw: str, room: Room) -> int | None:
        place = _whole(raw, 1, room.n_pos)
        return None if place is None else place - 1

    return Setting(key, param, None, "a token of this text", lambda at: str(at + 1), read, of_text=True)


def token_id(key: str, param: str, default: int) -> Setting:
    """An id of the model's vocabulary."""
    return Setting(key, param, default, "a token's id", str, lambda raw, room: _whole(raw, 0, room.d_vocab - 1))


def head(key: str, param: str, default: Head) -> Setting:
    """A head of the model, such as L3H7."""

    def read(raw: str, room: Room) -> Head | None:
        found = re.fullmatch(r"L([0-9]{1,4})H([0-9]{1,4})", raw)
        place = (int(found[1]), int(found[2])) if found else None
        return place if place is not None and place[0] < room.n_layers and place[1] < room.n_heads else None

    return Setting(key, param, default, "a head of this model", head_name, read)


def _whole(raw: str, least: int, most: int) -> int | None:
    value = int(raw) if re.fullmatch(r"[0-9]{1,9}", raw) else None
    return value if value is not None and least <= value <= most else None


# --- the session -----------------------------------------------------------------------------------------------------


def open_settings(settings: Sequence[Setting], room: Room, text: str) -> list[str]:
    """Give the session a value for each setting of the page on show; notices on what the link says wrongly.

    `text` changes whenever the tokens do. Where Back or Forward has led here, the page is to be as its link says.
    """
    session, led, notices = st.session_state, was_led(), list[str]()
    for setting in settings:
        known = setting.key in session and not led
        if not known:
            session[setting.key], wrong = setting.from_params(session.link, room)
            notices += wrong
        if setting.of_text:
            if known and session.get(f"{setting.key}_of") != text:
                session[setting.key] = setting.default
            session[f"{setting.key}_of"] = text
    session.settings = tuple(settings)
    return notices


def close_settings() -> None:
    """Another page is on show: the one before has no more say in the URL."""
    st.session_state.settings = ()


def settings_params() -> dict[str, str]:
    """Query parameters for the settings of the page on show."""
    params: dict[str, str] = {}
    for setting in st.session_state.get("settings", ()):
        params |= setting.to_params(st.session_state.get(setting.key, setting.default))
    return params
