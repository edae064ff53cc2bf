"""What the page on show has to tell once: what a link says wrongly, what was dropped or corrected, and why."""

from __future__ import annotations

import streamlit as st


def notify(*notices: str) -> None:
    """Have the page on show, or the next one, tell these."""
    st.session_state.setdefault("notices", []).extend(notices)


def take_notices() -> list[str]:
    """What has not been told yet; it is told once."""
    notices: list[str] = st.session_state.pop("notices", [])
    return notices
