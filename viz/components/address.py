"""The browser's history: pages and sentences, each as it was left, not every choice; see `address/address.js`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "headlight_address", js=(Path(__file__).with_suffix("") / "address.js").read_text("utf-8")
)


def keep_history(pages: Mapping[str, str], *, key: str) -> None:
    """Make one entry in the browser's history for each page and sentence visited.

    `pages` gives for every title that the tab can have the last part of that page's address, empty for the first page.
    """
    _component(data=dict(pages), key=key)
