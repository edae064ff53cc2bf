"""Charts on a page: one way to draw them, one way to hear of a click."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import streamlit as st

from viz.figures.clicks import Cell, clicked_cell
from viz.figures.tiles import min_width
from viz.plain import as_text
from viz.session import View, get_focus, set_focus

_CONFIG = {"displaylogo": False, "toImageButtonOptions": {"format": "svg"}}


def chart(figure: go.Figure, *, key: str, alt: str, **options: Any) -> None:
    """Draw a figure; on a screen too narrow for it, it scrolls sideways inside its frame."""
    with st.container(key=f"wide_{key}"):
        st.html(f"<style>.st-key-wide_{key} > .st-key-{key} {{ min-width: {min_width(figure)}px }}</style>")
        st.plotly_chart(figure, theme=None, key=key, config=_CONFIG, alt=alt, **options)


def matrix_chart(figure: go.Figure, view: View, *, key: str, alt: str) -> None:
    """Draw a figure of query x key panels; a click chooses the cell's query token and names the pair in words."""

    def clicked() -> None:
        event: Any = st.session_state[key]
        cell = clicked_cell(figure, event)
        if cell is not None:
            st.session_state.named_cell = (key, view.revision, view.focus.head, cell)
            set_focus(get_focus().with_query(cell.row))

    chart(figure, key=key, alt=alt, on_select=clicked, selection_mode="points")
    chosen = st.session_state.get("named_cell")
    if chosen and chosen[:3] == (key, view.revision, view.focus.head):
        st.markdown(_in_words(chosen[3], view))
    else:
        st.caption("Click a cell to choose its query token.")


def _in_words(cell: Cell, view: View) -> str:
    query, key = (f"{pos + 1} “{as_text(view.labels[pos])}”" for pos in (cell.row, cell.column))
    if cell.masked:
        return f"**query {query}** does not see **key {key}**: it comes later, so it is masked."
    return f"**query {query}** reads **key {key}**: {cell.value:.4g} ({as_text(cell.title)})"
