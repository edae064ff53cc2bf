"""Charts on a page: one way to draw them, one way to hear of a click."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from viz.figures.clicks import Cell, clicked_cell
from viz.figures.look import CONFIG
from viz.figures.tiles import min_width
from viz.focus import Head, head_name
from viz.plain import as_text
from viz.session import View, get_focus, set_focus


def chart(figure: go.Figure, *, key: str, alt: str, **options: Any) -> None:
    """Draw a figure; on a screen too narrow for it, it scrolls sideways inside its frame."""
    with st.container(key=f"wide_{key}"):
        st.html(f"<style>.st-key-wide_{key} > .st-key-{key} {{ min-width: {min_width(figure)}px }}</style>")
        st.plotly_chart(figure, theme=None, key=key, config=CONFIG, alt=alt, **options)


def matrix_chart(figure: go.Figure, view: View, heads: Sequence[Head], *, key: str, alt: str) -> None:
    """Draw a figure of query x key panels; a click chooses the cell's query token and names the pair in words.

    The words give the pair's weight in each of `heads`, whichever panel was clicked.
    """

    here = (view.revision, *heads)
    chosen: tuple[Any, Cell] | None = st.session_state.get("named_cell")
    named = chosen[1] if chosen and chosen[0] == here else None

    def clicked() -> None:
        event: Any = st.session_state[key]
        # plotly takes a second click on the same cell as a wish to unselect it; it is the same choice again.
        cell = clicked_cell(figure, event) or named
        if cell is not None:
            st.session_state.named_cell = (here, cell)
            set_focus(get_focus().with_query(cell.row))

    chart(figure, key=key, alt=alt, on_select=clicked, selection_mode="points")
    if named is not None:
        st.markdown(_in_words(named, view, heads))
    else:
        st.caption("Click a cell to choose its query token.")


def _in_words(cell: Cell, view: View, heads: Sequence[Head]) -> str:
    query, key = (f"{pos + 1} “{as_text(view.labels[pos])}”" for pos in (cell.row, cell.column))
    if cell.masked:
        return f"**query {query}** does not read **key {key}**: it comes later, so it is masked."
    weights = [float(view.trace.pattern(*head)[cell.row, cell.column]) for head in heads]
    if len(heads) == 1:
        score = float(view.trace.attn_scores(*heads[0])[cell.row, cell.column])
        return f"**query {query}** reads **key {key}**: {weights[0]:.3g} (score {score:.3g})"
    shares = ", ".join(f"{weight:.3g} in {head_name(head)}" for head, weight in zip(heads, weights, strict=True))
    return f"**query {query}** reads **key {key}**: {shares}"
