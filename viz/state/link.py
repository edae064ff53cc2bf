"""The link that a session came by, or was led back to by the browser's Back and Forward."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

OF_THE_VIEW = ("focus", "changes", "writing", "counted_in")
"""What the session forgets when it is led to another view: what it has none of, it reads from the link."""


def was_led() -> bool:
    """Whether Back or Forward has led to the page that is being drawn."""
    run = get_script_run_ctx()
    return run is not None and run.is_history_navigation and bool(st.query_params.to_dict())


def follow_address() -> None:
    """Keep the link at the session's start, before anything else can change the address; follow Back and Forward."""
    if "link" not in st.session_state:
        st.session_state.link = st.query_params.to_dict()
    elif was_led():
        st.session_state.link = st.query_params.to_dict()
        for name in OF_THE_VIEW:
            st.session_state.pop(name, None)
        # The box is to show the link's text, too.
        st.session_state.text_revision = st.session_state.get("text_revision", 0) + 1
