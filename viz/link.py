"""The link that a session came by, or was led back to by the browser's Back and Forward."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

OF_THE_VIEW = ("focus", "changes", "writing", "counted_in")
"""What the session forgets when it is led to another view: what it has none of, it reads from the link."""


def follow_address() -> None:
    """Keep the link at the session's start, before anything else can change the address; follow Back and Forward."""
    run = get_script_run_ctx()
    if "link" not in st.session_state:
        st.session_state.link = st.query_params.to_dict()
    elif run is not None and run.is_history_navigation and st.query_params.to_dict():
        st.session_state.link = st.query_params.to_dict()
        for name in OF_THE_VIEW:
            st.session_state.pop(name, None)
        # The box is to show the link's text, too.
        st.session_state.text_revision = st.session_state.get("text_revision", 0) + 1
