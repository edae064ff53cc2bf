"""What every page says about the changes made on Change heads."""

from __future__ import annotations

import streamlit as st

from viz.registry import PAGES, page_on_show
from viz.state.changes import get_changes, in_words, restore_all
from viz.text.catalogue import _

CHANGE_PAGE = PAGES["change"]


def change_marks() -> None:
    """One quiet line: what is switched off or cut, that this page does not show it, and the way back."""
    words = in_words(get_changes())
    if not words:
        return
    here = page_on_show() == CHANGE_PAGE
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="change_marks"):
        line = (
            _("**Changed here:** {changes}.", changes=words)
            if here
            else _("**Switched off on Change heads:** {changes}. This page shows the unchanged model.", changes=words)
        )
        st.caption(line, width="content")
        if not here:
            st.page_link(CHANGE_PAGE.entry, width="content")
        st.button(_("Switch everything back on"), key="restore_all", on_click=restore_all, type="tertiary")
