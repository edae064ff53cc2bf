"""What every page says about the changes made on Change heads."""

from __future__ import annotations

import streamlit as st

from model.changes.interventions import Changes
from viz.registry import PAGES
from viz.state.changes import fit_changes, get_changes, in_words, restore_all
from viz.state.session import View

CHANGE_PAGE = "change"


def fit_to_view(view: View) -> Changes:
    """The changes that the view's model and text allow; a notice names those that are dropped."""
    config = view.model.config
    return fit_changes(
        n_layers=config.n_layers,
        n_heads=config.n_heads,
        n_pos=len(view.tokens),
        start_token=view.focus.start_token and view.model.tokenizer.start_id is not None,
    )


def change_marks() -> None:
    """One quiet line: what is switched off or cut, that this page does not show it, and the way back."""
    words = in_words(get_changes())
    if not words:
        return
    here = st.session_state.page == CHANGE_PAGE
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="change_marks"):
        where = "Changed here" if here else "Switched off on Change heads"
        st.caption(
            f"**{where}:** {words}. {'' if here else 'This page shows the unchanged model.'}",
            width="content",
        )
        if not here:
            st.page_link(PAGES[CHANGE_PAGE].entry, width="content")
        st.button("Switch everything back on", key="restore_all", on_click=restore_all, type="tertiary")
