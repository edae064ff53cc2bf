"""The link that a session started from, or that the browser's Back and Forward have led to."""

from __future__ import annotations

import streamlit as st

from viz.state.shown import put_in_box
from viz.streamlit_internals import led_by_history

OF_THE_VIEW = ("focus", "changes", "writing", "shown")
"""What the session forgets where Back or Forward leads to another view; it is read from the link again."""


def was_led() -> bool:
    """Whether Back or Forward has led to the page that is being drawn."""
    return led_by_history() and bool(st.query_params.to_dict())


def follow_address() -> None:
    """Keep the link at the session's start, before anything changes the address; follow Back and Forward."""
    if "link" in st.session_state and not was_led():
        return
    if "link" in st.session_state:
        for name in OF_THE_VIEW:
            st.session_state.pop(name, None)
        put_in_box()
    st.session_state.link = st.query_params.to_dict()


def get_link() -> dict[str, str]:
    """The link's query parameters."""
    link: dict[str, str] = st.session_state.link
    return link
