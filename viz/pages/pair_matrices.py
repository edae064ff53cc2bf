"""Matrices side by side on a page: a click chooses a query and names its pair, the chosen query's row is framed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import plotly.graph_objects as go
import streamlit as st

from viz.figures.clicks import Cell, cell_at
from viz.figures.difference import Rows, distance_cell
from viz.figures.zoom import is_reduced, zoomed
from viz.focus import Head
from viz.pages.charts import chart
from viz.pages.shell import theme


def pair_matrices(
    figure: go.Figure,
    *,
    key: str,
    alt: str,
    heads: Sequence[Head],
    here: Hashable,
    choose: Callable[[Cell], None],
    words: Callable[[Cell], str],
) -> None:
    """Draw matrices of query x key; a click calls `choose`, and `words` tell of the clicked cell.

    `here` names what is on show: the words about a cell stay only as long as it is the same. `words` gives Markdown.
    """
    memory = f"{key}_cell"
    kept: tuple[Hashable, Cell] | None = st.session_state.get(memory)
    named = kept[1] if kept and kept[0] == here else None

    def take(cell: Cell | None) -> None:
        if cell is not None:
            st.session_state[memory] = (here, cell)
            choose(cell)

    def clicked(curve: int, point: int) -> None:
        take(cell_at(figure, curve, point) or distance_cell(figure, curve, point))

    chart(figure, key=key, alt=alt, heads=heads, on_click=clicked)
    if named is None:
        around = ", and to see the cells around it one by one" if is_reduced(figure) else ""
        st.caption(f"Click a cell to choose its query token{around}.")
        return
    st.markdown(words(named))
    if is_reduced(figure):
        part, around_key = zoomed(figure, named), f"{key}_cells"

        def clicked_around(curve: int, point: int) -> None:
            cell = cell_at(part.figure, curve, point)
            take(part.whole(cell) if cell else None)

        st.caption("The cells around it, one by one:")
        chart(part.figure, key=around_key, alt=f"{alt}: a part", heads=heads, on_click=clicked_around)


def frame_row(key: str, rows: Rows | None, query: int | None) -> None:
    """Frame a query's row in all matrices of the chart `key`; None takes the frame away.

    It is a style of the page: the matrices themselves do not depend on the token and stay as they are.
    """
    style = "display: none"
    if rows is not None and query is not None:
        style = (
            f"content: ''; position: absolute; inset: {rows.edge(query) - 2:.1f}px 0 auto 0; "
            f"height: {rows.height + 4:.1f}px; border: 2px solid {theme().roles['query']}; border-radius: 4px; "
            "pointer-events: none"
        )
    st.html(f"<style>.st-key-{key} {{ position: relative }} .st-key-{key}::after {{ {style} }}</style>")
