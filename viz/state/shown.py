"""What the last run of a page showed, as far as the next one needs to know."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st


@dataclass(frozen=True)
class Shown:
    """The tokens that were on show.

    `tokens` are all tokens of the text, as bytes: the focus's query is counted in them. They are empty where the text
    was set together with a query of its own, which no edit moves.
    """

    revision: str
    n_pos: int
    tokens: tuple[bytes, ...]
    start_token: bool


def last_shown() -> Shown | None:
    """What the last run showed; None at the session's start and where Back or Forward has led to another view."""
    return st.session_state.get("shown")


def show(shown: Shown) -> None:
    """Keep what this run shows."""
    st.session_state.shown = shown


def put_in_box() -> None:
    """Have the sentence box show the focus's text, which was set elsewhere, together with its query."""
    st.session_state.text_revision = text_revision() + 1
    if (shown := last_shown()) is not None:
        show(replace(shown, tokens=()))


def text_revision() -> int:
    """Counts the times the text was set elsewhere than in the sentence box."""
    revision: int = st.session_state.get("text_revision", 0)
    return revision
