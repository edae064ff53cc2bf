"""Charts on a page: one way to draw them, one way to take them away."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from viz.components.picture_buttons import picture_buttons
from viz.components.plot import OnClick, plot
from viz.figures.export import file_name, to_csv, to_html
from viz.figures.look import CONFIG
from viz.figures.tiles import min_width
from viz.state.focus import Head, head_name
from viz.state.session import get_focus
from viz.text.markdown import as_text

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
        with st.container(horizontal=True, gap="xsmall", key=f"save_row_{key}"):
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
