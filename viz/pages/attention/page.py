"""Attention: one head at work on the sentence, token by token."""

from __future__ import annotations

import streamlit as st

from viz.figures.bars import token_bars
from viz.figures.matrices import head_matrices, qkv_matrices
from viz.figures.strips import token_strips
from viz.pages.attention.measures import measures_section
from viz.pages.attention.reading import Reading, choose_reading, reading_bars, reading_matrix, reading_strip
from viz.shell.charts import chart
from viz.shell.choose import choose
from viz.shell.matrices import matrices, weight_and_score
from viz.shell.say import remark
from viz.shell.shell import open_view, strip, theme
from viz.state.focus import Focus, head_name
from viz.state.session import get_focus
from viz.state.settings import choice
from viz.state.view import View
from viz.text.catalogue import _

MATRICES = choice("matrices_of", "matrices", ("weights", "qkv"))
SETTINGS = (MATRICES,)


@st.fragment
def token_section(view: View, reading: Reading) -> None:
    """Strip, bars and vectors: what depends on the chosen token. Stepping reruns this and nothing else."""
    if not reading.is_plain:
        pattern = reading.pattern()
        focus = reading_strip(reading, pattern)
        left, right = st.columns([3, 2], gap="large")
        with left:
            reading_bars(reading, pattern, focus.query, width=640)
    else:
        focus = strip(view, [get_focus().head])
        left, right = st.columns([3, 2], gap="large")
        with left:
            _bars(view, focus)
    with right:
        _vectors(view, focus, by_word=reading.words is not None)


def _bars(view: View, focus: Focus) -> None:
    layer, head = focus.head
    bars = token_bars(
        view.trace.attn_scores(layer, head)[focus.query],
        view.trace.pattern(layer, head)[focus.query],
        labels=view.labels,
        query=focus.query,
        names=[head_name(focus.head)],
        theme=theme(),
    )
    chart(bars, key="bars", alt=_("Scores and softmax weights of the chosen token for every key"))


def _vectors(view: View, focus: Focus, *, by_word: bool) -> None:
    layer, head = focus.head
    trace, query = view.trace, focus.query
    token = f"{query + 1} {view.labels[query]}"
    vectors = token_strips(
        trace.queries(layer, head)[query],
        trace.keys(layer, head)[query],
        trace.values(layer, head)[query],
        trace.z[layer, head, query],
        token=_("token {token}", token=token) if by_word else token,
        theme=theme(),
        width=430,
    )
    alt = _("Query, key and value vectors of the chosen token, and the head's output z")
    chart(vectors, key="vectors", alt=alt)


def head_section(view: View, reading: Reading) -> None:
    """The head's measures and matrices: what does not depend on the chosen token."""
    layer, head = view.focus.head
    measures_section(view, changed=not reading.is_plain)
    words = {"weights": _("Scores, mask, weights"), "qkv": _("Queries, keys, values")}
    shown = choose(MATRICES, _("Matrices of this head"), words)
    trace, labels, name = view.trace, view.labels, head_name(view.focus.head)
    if shown == "qkv":
        parts = (trace.queries(layer, head), trace.keys(layer, head), trace.values(layer, head))
        chart(
            qkv_matrices(*parts, labels=labels, theme=theme()),
            key="qkv",
            alt=_("Queries, keys and values of {head}", head=name),
        )
        turned_words(view)
    elif reading.is_plain:
        figure = head_matrices(
            trace.attn_scores(layer, head),
            trace.masked_scores(layer, head),
            trace.pattern(layer, head),
            labels=labels,
            head=name,
            theme=theme(),
        )
        matrices(
            figure,
            key="matrices",
            alt=_("Scores, masked scores and weights of {head}", head=name),
            heads=[view.focus.head],
            text=view.revision,
            labels=labels,
            shares=weight_and_score(view, view.focus.head),
        )
    else:
        reading_matrix(reading)


def turned_words(view: View) -> None:
    """What queries and keys are, where positions turn them and heads share them."""
    config = view.model.config
    if config.rotary:
        remark("Queries and keys are drawn as they meet: turned by their positions.")
    if config.group > 1:
        head = view.focus.head[1]
        first = config.kv_of(head) * config.group
        remark(
            "Heads {first} to {last} of this layer share these keys and values; only the queries are the head's own.",
            first=first,
            last=first + config.group - 1,
        )


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is not None:
        reading = choose_reading(view)
        token_section(view, reading)
        head_section(view, reading)
