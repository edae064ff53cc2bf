"""The browser's history: pages, each as it was left, instead of every single choice; see `address/address.js`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "headlight_address", js=(Path(__file__).with_suffix("") / "address.js").read_text("utf-8")
)


def keep_history(*, key: str) -> None:
    """Make one entry in the browser's history for each page visited."""
    _component(key=key)
