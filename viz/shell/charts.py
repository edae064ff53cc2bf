"""Charts on a page: one way to draw them, one way to take them away."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from viz.components.picture_buttons import picture_buttons
from viz.components.plot import OnClick, plot
from viz.figures.chart import Chart
from viz.figures.export import file_name, to_csv, to_html
from viz.figures.look import CONFIG
from viz.state.focus import Head, head_name
from viz.state.session import get_focus
from viz.text.catalogue import _
from viz.text.markdown import as_text

_CONFIG = CONFIG | {"modeBarButtonsToRemove": ["toImage"]}  # the menu below saves pictures


def chart(
    drawn: Chart, *, key: str, alt: str, heads: Sequence[Head] | None = None, on_click: OnClick | None = None
) -> None:
    """Draw a figure and a small menu to save it. On a screen that is too narrow the figure scrolls inside its frame.

    Its files are named after `heads`, the heads that it is about; by default the chosen one.
    """
    name = file_name(key, [head_name(head) for head in ([get_focus().head] if heads is None else heads)])
    plot(
        drawn.figure.to_json(validate=False),
        key=key,
        alt=alt,
        config=_CONFIG,
        min_width=drawn.min_width,
        on_click=on_click,
    )
    _save_menu(drawn, key, alt, name)


def _save_menu(drawn: Chart, key: str, alt: str, name: str) -> None:
    """Offer the chart as a picture, as its numbers and as a page, each made only when it is asked for.

    Opening the menu draws the chart's surroundings again. A fragment of its own would be quicker, but Streamlit would
    then keep every figure as long as its tab is open.
    """
    menu = st.popover(
        _("Save: {chart}", chart=as_text(alt)),  # for screen readers; only the icon is visible
        icon=":material/download:",
        type="tertiary",
        key=f"save_{key}",
        on_change="rerun",
    )
    if not menu.open:
        return
    focus = get_focus()
    note = _("Headlight, {model}, “{text}”", model=focus.model, text=focus.text)
    page = partial(to_html, drawn, title=alt, note=note, name=name)
    with menu:
        with st.container(horizontal=True, gap="xsmall", key=f"save_row_{key}"):
            picture_buttons(key, name=name, key=f"picture_{key}")
            for label, data, mime in (("CSV", partial(to_csv, drawn.table), "text/csv"), ("HTML", page, "text/html")):
                st.download_button(
                    label,
                    data=data,
                    file_name=f"{name}.{label.lower()}",
                    mime=mime,
                    key=f"{label}_{key}",
                    on_click="ignore",
                )
        st.caption(_("The picture, its numbers, or a page of its own that needs no network (about 5 MB)."))
