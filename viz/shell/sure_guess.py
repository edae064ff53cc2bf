"""A button that leads from a token after which the model is sure of the next one to a token where it is not."""

from __future__ import annotations

import streamlit as st

from model.logits.open_guess import SURE, open_position
from viz.state.session import get_focus, set_focus
from viz.state.view import View
from viz.text.catalogue import _
from viz.text.markdown import as_text


def sure_guess(view: View, query: int, best: float) -> None:
    """Where one next token has nearly all the probability (`best`), say so and offer the nearest where none has."""
    if best < SURE or (there := open_position(view.trace, query)) is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="sure_guess"):
        st.caption(_("The model is sure what comes here."), width="content")
        st.button(
            _("Go to {number} “{token}”, where it is not", number=there + 1, token=as_text(view.labels[there])),
            key="open_guess",
            type="tertiary",
            on_click=lambda: set_focus(get_focus().with_query(there)),
            help=_("Goes to the nearest token after which no next one has more than half of the probability."),
        )
