"""The box a person types into: the page follows while they type, and never takes a letter from under their hands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from viz.components.build import build

_component = build("sentence_box", "box.js")


def sentence_box(
    text: str,
    *,
    revision: int,
    max_characters: int,
    key: str,
    on_change: Callable[[], Any],
    label: str,
) -> None:
    """Show `text` for editing; `on_change` is called after a short pause in typing, and finds it by `typed_text(key)`.

    The box shows `text` when it first appears and when `revision` changes (the text was set elsewhere: by an example, a
    link). Between these it belongs to the person typing.
    """
    _component(
        data={"text": text, "revision": revision, "max": max_characters, "label": label},
        key=key,
        default={"typed": None},
        on_typed_change=on_change,
    )


def typed_text(key: str) -> str | None:
    """What was last typed into the box; None where nothing was."""
    typed: Any = st.session_state[key].typed
    text = typed.get("text") if isinstance(typed, dict) else None
    return text if isinstance(text, str) else None
