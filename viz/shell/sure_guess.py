"""A way on from a token after which the model is sure what comes: to one where the next token is open."""

from __future__ import annotations

import streamlit as st

from model.logits.open_guess import SURE, open_position
from viz.state.session import get_focus, set_focus
from viz.state.view import View
from viz.text.markdown import as_text


def sure_guess(view: View, query: int, best: float) -> None:
    """Where one token has nearly all the probability, `best` or more: say so, and offer the nearest where none has."""
    if best < SURE or (there := open_position(view.trace, query)) is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="sure_guess"):
        st.caption("The model is sure what comes here.", width="content")
        st.button(
            f"Go to {there + 1} “{as_text(view.labels[there])}”, where it is not",
            key="open_guess",
            type="tertiary",
            on_click=lambda: set_focus(get_focus().with_query(there)),
            help="Goes to the nearest token after which no next one has more than half of the probability.",
        )
