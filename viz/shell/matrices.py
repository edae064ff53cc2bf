"""Matrices of query x key on a page: a click on a cell chooses its query and says the pair in words.

Where a text is too long to draw every cell, a click shows the cells around it one by one, in place of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import streamlit as st

from viz.figures.chart import Cell, Chart
from viz.figures.panels import Rows
from viz.figures.zoom import Part, zoomed
from viz.shell.charts import chart
from viz.shell.say import say
from viz.state.focus import Head
from viz.state.kept import Kept
from viz.state.session import get_focus, set_focus
from viz.state.view import View
from viz.text.catalogue import N_, _
from viz.text.markdown import as_text
from viz.text.numbers import short_number
from viz.theme import Theme

NOT_READ = N_("**query {query}** does not read **key {key}**: it comes later, so it is masked.")
_CLICK = {"token": N_("Click a cell to choose its query token."), "word": N_("Click a cell to choose its query word.")}
_CLICK_REDUCED = {
    "token": N_("Click a cell to choose its query token, and to see the cells around it one by one."),
    "word": N_("Click a cell to choose its query word, and to see the cells around it one by one."),
}


@dataclass(frozen=True)
class _Named:
    """The cell that is told in words, and what it is a cell of; forgotten when that, or the query, changes."""

    of: Hashable
    cell: Cell
    query: int


def matrices(
    whole: Chart,
    *,
    key: str,
    alt: str,
    heads: Sequence[Head],
    text: Hashable,
    labels: Sequence[str],
    shares: Callable[[Cell], str],
    positions: Sequence[int] | None = None,
    token_at: Callable[[int], int] | None = None,
    unit: str = "token",
    not_read: str = NOT_READ,
    words_in: AbstractContextManager[object] | None = None,
) -> Part:
    """Draw a figure of matrices whose rows and columns are `labels`; returns the drawn part: all, or around one cell.

    `shares` says in Markdown how much the clicked cell's query gives its key, `not_read` that the cell is masked.
    `text` names the text on show. `positions` (from 0) are those of the labels in the text, where these are not all of
    its tokens; `token_at` gives the token that a click on a row chooses, where that is another than the row's position.
    `unit` is what a label stands for, a token or a word. The words stand in `words_in`, by default below the figure.
    """
    of, around = (key, text, *heads), Kept[Cell](f"{key}_around")
    named: _Named | None = st.session_state.get("named_cell")
    near = around.get(text) if whole.is_reduced else None
    part = Part(whole) if near is None else zoomed(whole, near)

    def position(index: int) -> int:
        return index if positions is None else int(positions[index])

    def clicked(curve: int, point: int) -> None:
        found = part.chart.cell_at(curve, point)
        if found is not None:
            cell = part.whole(found)
            query = (token_at or position)(cell.row)
            st.session_state.named_cell = _Named(of, cell, query)
            around.put(text, cell)
            set_focus(get_focus().with_query(query))

    above = st.container()  # always there, so that part and whole stand in the same place on the page
    if near is not None:
        above.button(
            _("Back to the whole matrices"), key=f"{key}_whole", icon=":material/zoom_out_map:", on_click=around.drop
        )
    chart(
        part.chart,
        key=key if near is None else f"{key}_part",
        alt=alt if near is None else _("{chart}: a part", chart=alt),
        heads=heads,
        on_click=clicked,
    )
    with words_in or nullcontext():
        if named is not None and named.of == of:
            query, read = (f"{position(at) + 1} “{as_text(labels[at])}”" for at in (named.cell.row, named.cell.column))
            if named.cell.masked:
                say(not_read, query=query, key=read)
            else:
                say("**query {query}** reads **key {key}**: {shares}", query=query, key=read, shares=shares(named.cell))
        else:
            st.caption(_((_CLICK_REDUCED if part.chart.is_reduced else _CLICK)[unit]))
    return part


def weight_and_score(view: View, head: Head) -> Callable[[Cell], str]:
    """Says the softmax weight of a cell in `head`, and the scaled score that it comes from."""

    def shares(cell: Cell) -> str:
        at = cell.row, cell.column
        weight, score = (float(values[at]) for values in (view.trace.pattern(*head), view.trace.attn_scores(*head)))
        return _("{weight} (score {score})", weight=short_number(weight), score=short_number(score))

    return shares


def cell_left(query: int) -> bool:
    """Forget the cell told in words if its query is no longer chosen; whether it was forgotten."""
    named: _Named | None = st.session_state.get("named_cell")
    if named is None or named.query == query:
        return False
    del st.session_state.named_cell
    return True


def frame_row(key: str, rows: Rows | None, query: int | None, theme: Theme) -> None:
    """Frame a query's row in the matrices of `key`, or remove the frame where the row is not among those drawn.

    The frame is a style of the page, so the matrices, which do not depend on the query, are not drawn again.
    """
    edge = None if rows is None or query is None else rows.edge(query)
    style = "display: none"
    if rows is not None and edge is not None:
        style = (
            f"content: ''; position: absolute; inset: {edge - 2:.1f}px 0 auto 0; "
            f"height: {rows.height + 4:.1f}px; border: 2px solid {theme.roles['query']}; border-radius: 4px; "
            "pointer-events: none"
        )
    charts = f":is(.st-key-{key}, .st-key-{key}_part)"
    st.html(f"<style>{charts} {{ position: relative }} {charts}::after {{ {style} }}</style>")
