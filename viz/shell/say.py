"""Messages as running text and as small print: looked up in the catalogue, with their places filled in."""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz.text.catalogue import _


def say(message: str, **places: Any) -> None:
    """Write a message in Markdown."""
    st.markdown(_(message, **places))


def remark(message: str, **places: Any) -> None:
    """Write a message in small print."""
    st.caption(_(message, **places))


def heading(message: str, **places: Any) -> None:
    """Write a message as the heading of a part of the page."""
    st.subheader(_(message, **places), anchor=False)
