"""The address bar: a link that reopens what is on show."""

from __future__ import annotations

import streamlit as st

from viz.state.changes import changes_params, get_changes
from viz.state.session import get_focus
from viz.state.settings import settings_params
from viz.state.shown import last_shown
from viz.state.writing import get_kept


def write_url() -> None:
    """Make the address say the focus, what is changed and written, and the page's settings."""
    params = get_focus().to_params() | changes_params(get_changes()) | settings_params()
    written, shown = get_kept(), last_shown()
    if written is not None and shown is not None and written.sentence == shown.revision:
        params |= written.to_params()
    if st.query_params.to_dict() != params:
        st.query_params.from_dict(params)
