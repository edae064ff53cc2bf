"""Charts on a page: one way to draw them, one way to hear of a click, one way to take them away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from viz.components.picture_buttons import picture_buttons
from viz.components.plot import OnClick, plot
from viz.figures.clicks import Cell, cell_at
from viz.figures.export import file_name, to_csv, to_html
from viz.figures.look import CONFIG
from viz.figures.tiles import min_width
from viz.figures.zoom import is_reduced, zoomed
from viz.focus import Head, head_name
from viz.plain import as_text
from viz.session import View, get_focus, set_focus

_CONFIG = CONFIG | {"modeBarButtonsToRemove": ["toImage"]}  # the menu below saves pictures


def chart(
    figure: go.Figure, *, key: str, alt: str, heads: Sequence[Head] | None = None, on_click: OnClick | None = None
) -> None:
    """Draw a figure, and a small menu to save it; on a screen too narrow for it, it scrolls inside its frame.

    `heads`, by default the chosen one, are those that the figure is about: its files are named after them.
    """
    name = file_name(key, [head_name(head) for head in ([get_focus().head] if heads is None else heads)])
    plot(
        figure.to_json(validate=False),
        key=key,
        alt=alt,
        config=_CONFIG,
        min_width=min_width(figure),
        on_click=on_click,
    )
    _save_menu(figure, key, alt, name)


def matrix_chart(
    figure: go.Figure,
    view: View,
    heads: Sequence[Head],
    *,
    key: str,
    alt: str,
    shares: Callable[[Cell], str] | None = None,
) -> None:
    """Draw a figure of query x key panels; a click chooses the cell's query token and names the pair in words.

    The words give the pair's weight in each of `heads`, whichever panel was clicked, or what `shares` says of
    it. They go when another query is chosen (`cell_left`).
    """

    here = (view.revision, *heads)
    chosen: tuple[Any, Cell] | None = st.session_state.get("named_cell")
    named = chosen[1] if chosen and chosen[0] == here else None

    def choose(cell: Cell | None) -> None:
        if cell is not None:
            st.session_state.named_cell = (here, cell)
            set_focus(get_focus().with_query(cell.row))

    def clicked(curve: int, point: int) -> None:
        choose(cell_at(figure, curve, point))

    chart(figure, key=key, alt=alt, heads=heads, on_click=clicked)
    if named is not None:
        st.markdown(_in_words(named, view, heads, shares))
        if is_reduced(figure):
            _cells_around(figure, named, choose, heads, key=f"{key}_cells", alt=alt)
    else:
        around = ", and to see the cells around it one by one" if is_reduced(figure) else ""
        st.caption(f"Click a cell to choose its query token{around}.")


def _cells_around(
    figure: go.Figure, cell: Cell, choose: Callable[[Cell | None], None], heads: Sequence[Head], *, key: str, alt: str
) -> None:
    """What a figure too large for it does not show: each cell around `cell`."""
    part = zoomed(figure, cell)

    def clicked(curve: int, point: int) -> None:
        found = cell_at(part.figure, curve, point)
        choose(part.whole(found) if found else None)

    st.caption("The cells around it, one by one:")
    chart(part.figure, key=key, alt=f"{alt}: a part", heads=heads, on_click=clicked)


def cell_left(query: int) -> bool:
    """Whether the words about a clicked cell are to go, as another query than the cell's is chosen by now."""
    chosen: tuple[Any, Cell] | None = st.session_state.get("named_cell")
    if chosen is None or chosen[1].row == query:
        return False
    del st.session_state.named_cell
    return True


def _save_menu(figure: go.Figure, key: str, alt: str, name: str) -> None:
    """The chart as a picture, as its numbers, as a page. Nothing is made, sent or kept before it is asked for.

    Opening it draws again what is around the chart: a fragment of its own would be quicker, but Streamlit would then
    keep every figure for as long as its tab is open.
    """
    menu = st.popover(
        f"Save: {as_text(alt)}",  # the icon is seen, these words are read out
        icon=":material/download:",
        type="tertiary",
        key=f"save_{key}",
        on_change="rerun",
    )
    if not menu.open:
        return
    focus = get_focus()
    page = partial(to_html, figure, title=alt, note=f"Headlight, {focus.model}, “{focus.text}”", name=name)
    with menu:
        with st.container(horizontal=True, gap="small", key=f"save_row_{key}"):
            picture_buttons(key, name=name, key=f"picture_{key}")
            for label, data, mime in (("CSV", partial(to_csv, figure), "text/csv"), ("HTML", page, "text/html")):
                st.download_button(
                    label,
                    data=data,
                    file_name=f"{name}.{label.lower()}",
                    mime=mime,
                    key=f"{label}_{key}",
                    on_click="ignore",
                )
        st.caption("The picture, its numbers, or a page of its own that needs no network (about 5 MB).")


def _in_words(cell: Cell, view: View, heads: Sequence[Head], shares: Callable[[Cell], str] | None) -> str:
    query, key = (f"{pos + 1} “{as_text(view.labels[pos])}”" for pos in (cell.row, cell.column))
    if cell.masked:
        return f"**query {query}** does not read **key {key}**: it comes later, so it is masked."
    if shares is not None:
        return f"**query {query}** reads **key {key}**: {shares(cell)}"
    weights = [float(view.trace.pattern(*head)[cell.row, cell.column]) for head in heads]
    if len(heads) == 1:
        score = float(view.trace.attn_scores(*heads[0])[cell.row, cell.column])
        return f"**query {query}** reads **key {key}**: {weights[0]:.3g} (score {score:.3g})"
    listed = ", ".join(f"{weight:.3g} in {head_name(head)}" for head, weight in zip(heads, weights, strict=True))
    return f"**query {query}** reads **key {key}**: {listed}"
