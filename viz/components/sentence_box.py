"""The text box: the page updates while somebody types and never overwrites what they are typing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from viz.components.build import build
from viz.text.catalogue import _

_component = build("sentence_box", "box.js")


def sentence_box(
    text: str, *, revision: int, max_characters: int, key: str, on_change: Callable[[], Any], label: str
) -> None:
    """Show `text` for editing. After a short pause in typing `on_change` is called; it reads `typed_text(key)`.

    The box shows `text` when it first appears and when `revision` changes, which means that the text was set elsewhere,
    such as by an example or a link. At all other times it keeps what was typed.
    """
    _component(
        data={
            "text": text,
            "revision": revision,
            "max": max_characters,
            "label": label,
            "words": _words(max_characters),
        },
        key=key,
        default={"typed": None},
        on_typed_change=on_change,
    )


def _words(most: int) -> dict[str, str]:
    return {
        "placeholder": _("Type a sentence"),
        "hint": _("Shift + Enter starts a new line"),
        "full": _("{most:,} characters: no more fit in here", most=most),
    }


def typed_text(key: str) -> str | None:
    """The text last typed into the box; None if there is none."""
    typed: Any = st.session_state[key].typed
    text = typed.get("text") if isinstance(typed, dict) else None
    return text if isinstance(text, str) else None
