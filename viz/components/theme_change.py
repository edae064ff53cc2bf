"""Another theme in the browser: the page is drawn again in its colours; see `theme_change/theme_change.js`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "headlight_theme_change", js=(Path(__file__).with_suffix("") / "theme_change.js").read_text("utf-8")
)


def follow_theme(*, key: str) -> None:
    """Run the page again whenever the browser shows another theme."""
    _component(key=key, on_ground_change=lambda: None)
