"""Buttons for a setting of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import streamlit as st

from viz.state.settings import Setting

Value = TypeVar("Value")


def choose(setting: Setting, label: str, words: Mapping[Value, str], *, help: str | None = None) -> Value:
    """A button for each value in `words`, in their order; the value chosen."""
    chosen: Any = st.segmented_control(
        label,
        list(words),
        format_func=words.__getitem__,
        required=True,
        key=setting.key,
        persist_state="session",
        help=help,
    )
    return chosen
