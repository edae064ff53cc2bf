"""Attention: one head at work on the sentence, token by token."""

from __future__ import annotations

import streamlit as st

from viz.figures.bars import token_bars
from viz.figures.matrices import head_matrices, qkv_matrices
from viz.figures.strips import token_strips
from viz.focus import head_name
from viz.pages.charts import chart, matrix_chart
from viz.pages.shell import open_view, strip, theme
from viz.session import View, get_focus

MATRICES, VECTORS = "Scores, mask, weights", "Queries, keys, values"


@st.fragment
def token_section(view: View) -> None:
    """Strip, bars and vectors: what depends on the chosen token. Stepping reruns this and nothing else."""
    focus = strip(view, [get_focus().head])
    layer, head = focus.head
    trace, query = view.trace, focus.query
    left, right = st.columns([3, 2], gap="large")
    with left:
        bars = token_bars(
            trace.attn_scores(layer, head)[query],
            trace.pattern(layer, head)[query],
            labels=view.labels,
            query=query,
            names=[head_name(focus.head)],
            theme=theme(),
        )
        chart(bars, key="bars", alt="Scores and softmax weights of the chosen token for every key")
    with right:
        vectors = token_strips(
            trace.q[layer, head, query],
            trace.k[layer, head, query],
            trace.v[layer, head, query],
            token=f"{query + 1} {view.labels[query]}",
            theme=theme(),
            width=430,
        )
        chart(vectors, key="vectors", alt="Query, key and value vector of the chosen token")


def head_section(view: View) -> None:
    """The head's matrices: what does not depend on the chosen token."""
    layer, head = view.focus.head
    shown = st.segmented_control(
        "Matrices of this head", [MATRICES, VECTORS], default=MATRICES, required=True, key="matrices_of"
    )
    trace, labels = view.trace, view.labels
    if shown == MATRICES:
        figure = head_matrices(
            trace.attn_scores(layer, head),
            trace.masked_scores(layer, head),
            trace.pattern(layer, head),
            labels=labels,
            head=head_name(view.focus.head),
            theme=theme(),
        )
        alt = f"Scores, masked scores and weights of {head_name((layer, head))}"
        matrix_chart(figure, view, [view.focus.head], key="matrices", alt=alt)
    else:
        figure = qkv_matrices(
            trace.q[layer, head], trace.k[layer, head], trace.v[layer, head], labels=labels, theme=theme()
        )
        chart(figure, key="qkv", alt=f"Queries, keys and values of {head_name((layer, head))}")


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is not None:
        token_section(view)
        head_section(view)


if __name__ == "__main__":
    page()
