"""Compare heads: two heads on the same sentence, the same token, the same scale."""

from __future__ import annotations

import numpy as np
import streamlit as st

from viz.figures.bars import token_bars
from viz.figures.matrices import pattern_pair
from viz.focus import head_name
from viz.pages.charts import chart, matrix_chart
from viz.pages.shell import head_buttons, open_view, strip, theme
from viz.session import View, get_focus, set_focus


def second_head(view: View) -> None:
    """Choosers for the head beside the first."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        head_buttons(
            " beside it",
            view.focus.compare,
            view,
            key="second",
            on_layer=lambda: set_focus(get_focus().with_compare(layer=st.session_state.second_layer)),
            on_head=lambda: set_focus(get_focus().with_compare(head=st.session_state.second_head)),
        )


@st.fragment
def token_section(view: View) -> None:
    """Both heads' strips and bars for the chosen token."""
    heads = [view.focus.head, view.focus.compare]
    focus = strip(view, heads)
    bars = token_bars(
        np.stack([view.trace.attn_scores(*head)[focus.query] for head in heads]),
        np.stack([view.trace.pattern(*head)[focus.query] for head in heads]),
        labels=view.labels,
        query=focus.query,
        names=[head_name(head) for head in heads],
        theme=theme(),
    )
    chart(bars, key="pair_bars", alt="Scores and softmax weights of the chosen token in both heads")


def head_section(view: View) -> None:
    """Both heads' weights on one scale."""
    figure = pattern_pair(
        view.trace.pattern(*view.focus.head),
        view.trace.pattern(*view.focus.compare),
        names=(head_name(view.focus.head), head_name(view.focus.compare)),
        labels=view.labels,
        theme=theme(),
    )
    names = f"{head_name(view.focus.head)} and {head_name(view.focus.compare)}"
    matrix_chart(figure, view, [view.focus.head, view.focus.compare], key="pair", alt=f"Softmax weights of {names}")


def page() -> None:
    """Draw the page."""
    view = open_view(second=second_head)
    if view is not None:
        token_section(view)
        head_section(view)


if __name__ == "__main__":
    page()
