"""What is chosen on one page only: kept in the session under a widget's key and, so that a link shows it again, in the
URL under a short name, where it is not the default.

A page names its settings in `SETTINGS`. `open_settings` gives the session a value for each before its widget is drawn:
the one chosen before, or that of the link, or the default. So the widgets have no defaults of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from viz.state.focus import Head, head_name
from viz.state.link import get_link, was_led
from viz.state.notices import notify
from viz.text.catalogue import N_, _


@dataclass(frozen=True)
class Sizes:
    """How many positions, token ids, layers and heads the text and the model have."""

    n_pos: int
    d_vocab: int
    n_layers: int
    n_heads: int


@dataclass(frozen=True)
class Setting:
    """One choice. `write` and `read` give None for what cannot be chosen.

    `notice` is the message that the link's value cannot be chosen, with its `places`. A setting `of_text` starts from
    its default again with every text.
    """

    key: str
    param: str
    default: Any
    write: Callable[[Any], str | None]
    read: Callable[[str, Sizes], Any]
    notice: str
    places: Mapping[str, str] = field(default_factory=dict)
    of_text: bool = False

    def to_params(self, value: Any) -> dict[str, str]:
        """The query parameter that says `value`; none for the default."""
        raw = None if value == self.default else self.write(value)
        return {} if raw is None else {self.param: raw}

    def from_params(self, params: Mapping[str, str], sizes: Sizes) -> tuple[Any, list[str]]:
        """Read a URL. What is damaged in it is left out and named in the list of notices."""
        if self.param not in params:
            return self.default, []
        value = self.read(params[self.param], sizes)
        return (value, []) if value is not None else (self.default, [_(self.notice, name=self.param, **self.places)])


def choice(key: str, param: str, values: Sequence[Any]) -> Setting:
    """One of several ids, which the link holds as they are; the first is the default."""
    ids = {str(value): value for value in values}
    return Setting(
        key,
        param,
        values[0],
        lambda value: str(value) if value in values else None,
        lambda raw, _sizes: ids.get(raw),
        N_("The link's {name} is not one of {values}; it is left out."),
        {"values": ", ".join(ids)},
    )


def switch(key: str, param: str, *, default: bool = False) -> Setting:
    """On or off: 1 or 0 in the link."""
    setting = choice(key, param, [int(on) for on in (default, not default)])
    return replace(
        setting,
        default=default,
        write=lambda on: str(int(on)),
        read=lambda raw, _sizes: {"0": False, "1": True}.get(raw),
    )


def number(key: str, param: str, default: float, least: float, most: float) -> Setting:
    """A number in a range, whole if `default` is an int."""
    kind = type(default)
    form = re.compile(r"[0-9]{1,9}" if kind is int else r"[0-9]{1,9}(\.[0-9]{1,9})?")

    def read(raw: str, _sizes: Sizes) -> float | None:
        value = kind(raw) if form.fullmatch(raw) else None
        return value if value is not None and least <= value <= most else None

    notice = (
        N_("The link's {name} is not a whole number from {least} to {most}; it is left out.")
        if kind is int
        else N_("The link's {name} is not a number from {least} to {most}; it is left out.")
    )
    places = {"least": f"{least:g}", "most": f"{most:g}"}
    return Setting(key, param, default, lambda value: f"{value:g}", read, notice, places)


def position(key: str, param: str) -> Setting:
    """A token of the text by its position, from 1 in the link; None as long as nobody has chosen one."""

    def read(raw: str, sizes: Sizes) -> int | None:
        place = _whole(raw, 1, sizes.n_pos)
        return None if place is None else place - 1

    notice = N_("The link's {name} is not a token of this text; it is left out.")
    return Setting(key, param, None, lambda at: str(at + 1), read, notice, of_text=True)


def token_id(key: str, param: str, default: int) -> Setting:
    """An id of the model's vocabulary."""

    def read(raw: str, sizes: Sizes) -> int | None:
        return _whole(raw, 0, sizes.d_vocab - 1)

    notice = N_("The link's {name} is not a token's id; it is left out.")
    return Setting(key, param, default, str, read, notice)


def head(key: str, param: str, default: Head) -> Setting:
    """A head of the model, such as L3H7."""

    def read(raw: str, sizes: Sizes) -> Head | None:
        found = re.fullmatch(r"L([0-9]{1,4})H([0-9]{1,4})", raw)
        place = (int(found[1]), int(found[2])) if found else None
        return place if place is not None and place[0] < sizes.n_layers and place[1] < sizes.n_heads else None

    notice = N_("The link's {name} is not a head of this model; it is left out.")
    return Setting(key, param, default, head_name, read, notice)


def _whole(raw: str, least: int, most: int) -> int | None:
    """The whole number from `least` to `most` that `raw` is; None for anything else."""
    value = int(raw) if re.fullmatch(r"[0-9]{1,9}", raw) else None
    return value if value is not None and least <= value <= most else None


# --- the session -----------------------------------------------------------------------------------------------------


def open_settings(settings: Sequence[Setting], sizes: Sizes, text: str) -> None:
    """Give the session a value for each setting of the page on show; notices tell what is damaged in the link.

    `text` changes whenever the tokens do. Where Back or Forward has led here, the link's values count.
    """
    session, led = st.session_state, was_led()
    for setting in settings:
        known = setting.key in session and not led
        if not known:
            session[setting.key], notices = setting.from_params(get_link(), sizes)
            notify(*notices)
        if setting.of_text:
            if known and session.get(f"{setting.key}_of") != text:
                session[setting.key] = setting.default
            session[f"{setting.key}_of"] = text
    session.settings = tuple(settings)


def close_settings() -> None:
    """Keep the settings of the page before out of the URL: another page is on show."""
    st.session_state.settings = ()


def settings_params() -> dict[str, str]:
    """Query parameters for the settings of the page on show."""
    params: dict[str, str] = {}
    for setting in st.session_state.get("settings", ()):
        params |= setting.to_params(st.session_state.get(setting.key, setting.default))
    return params
