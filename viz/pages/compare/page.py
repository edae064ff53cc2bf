"""Compare heads: two to four heads on the same sentence, the same token, the same scale; and how far they are apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import streamlit as st

from model.heads.comparison import pair_divergence
from viz.figures.bars import token_bars
from viz.figures.chart import Cell
from viz.figures.difference import output_strips, pattern_difference, patterns_side_by_side
from viz.figures.panels import Rows
from viz.pages.compare.choosers import heads_beside
from viz.pages.compare.words import HeadPair, divergence_note, output_table, pair_sentence, pair_table
from viz.shell.charts import chart
from viz.shell.choose import choose
from viz.shell.looks import look_name, look_output, look_pattern, look_short
from viz.shell.matrices import frame_row, matrices
from viz.shell.shell import open_view, strip, theme
from viz.state.focus import MOST_BESIDE, Head
from viz.state.session import get_focus
from viz.state.settings import choice
from viz.state.view import View
from viz.text.catalogue import _

ALL = "all"
MATRICES = "pair"
SHOWN = choice("pair_shown", "pair", (ALL, *(f"{i}-{j}" for i, j in combinations(range(1, MOST_BESIDE + 2), 2))))
SETTINGS = (SHOWN,)
BARS_WIDTH = 640


@st.fragment
def compare_section(view: View) -> None:
    """All below the first head's choosers. Another head beside it reruns this, and nothing else of the page."""
    heads_beside(view)
    heads = [get_focus().head, *get_focus().compare]
    names = [look_name(view.trace, head) for head in heads]
    patterns = [look_pattern(view.trace, head) for head in heads]
    pairs = [
        HeadPair(i, j, (look_short(heads[i]), look_short(heads[j])), *pair_divergence(patterns[i], patterns[j]))
        for i, j in combinations(range(len(heads)), 2)
    ]
    token_place = st.container()
    rows = pair_section(view, heads, names, patterns, pairs)
    with token_place:
        token_section(view, heads, pairs, rows)


@st.fragment
def token_section(view: View, heads: Sequence[Head], pairs: Sequence[HeadPair], rows: Rows | None) -> None:
    """The heads' strips, weights and outputs for the chosen token. Stepping reruns this and nothing else."""
    focus = strip(view, heads, hover=True)
    query, trace = focus.query, view.trace
    names = [look_name(trace, head) for head in heads]
    frame_row(MATRICES, rows, query, theme())
    outputs = [look_output(trace, head, query) for head in heads]
    left, right = st.columns([3, 2], gap="large")
    with left:
        bars = token_bars(
            None,
            np.stack([look_pattern(trace, head)[query] for head in heads]),
            labels=view.labels,
            query=query,
            names=names,
            theme=theme(),
            width=BARS_WIDTH,
        )
        chart(
            bars, key="pair_bars", alt=_("Weights of the chosen token in {heads}", heads=", ".join(names)), heads=heads
        )
    with right:
        st.markdown(pair_table(pairs, outputs, query))
    with right if len(pairs) == 1 else left:  # where there is room
        st.markdown(output_table(names, [head[0] for head in heads], outputs))
    strips = output_strips(
        [(look_short(head), output.z, output.result) for head, output in zip(heads, outputs, strict=True)],
        theme=theme(),
    )
    chart(
        strips, key="outputs", alt=_("z and result of the chosen token in {heads}", heads=", ".join(names)), heads=heads
    )


def pair_section(
    view: View, heads: Sequence[Head], names: Sequence[str], patterns: Sequence[np.ndarray], pairs: Sequence[HeadPair]
) -> Rows | None:
    """The heads' matrices and the difference of a pair; where their rows lie. Nothing here depends on the token."""
    shown = _shown(pairs) if len(heads) > 2 else pairs[0]
    if shown is None:
        figure = patterns_side_by_side(patterns, names=names, labels=view.labels, theme=theme())
        alt = _("Weights of {heads}", heads=", ".join(names))
    else:
        figure = pattern_difference(
            patterns[shown.first],
            patterns[shown.second],
            shown.rows,
            names=shown.names,
            labels=view.labels,
            theme=theme(),
        )
        alt = _(
            "Weights of {first} and {second}, their difference, and each row's distance",
            first=shown.names[0],
            second=shown.names[1],
        )
        st.markdown(pair_sentence(shown, same=heads[shown.first] == heads[shown.second]))

    def shares(cell: Cell) -> str:
        weights = zip(patterns, names, strict=True)
        return ", ".join(f"{float(pattern[cell.row, cell.column]):.3g} in {name}" for pattern, name in weights)

    drawn = matrices(figure, key=MATRICES, alt=alt, heads=heads, text=view.revision, labels=view.labels, shares=shares)
    st.caption(divergence_note())
    return drawn.rows


def _shown(pairs: Sequence[HeadPair]) -> HeadPair | None:
    """The pair whose difference is shown, or None for all heads side by side."""
    known = {ALL: None} | {f"{pair.first + 1}-{pair.second + 1}": pair for pair in pairs}
    names = {name: _("All heads") if pair is None else " − ".join(pair.names) for name, pair in known.items()}
    if st.session_state[SHOWN.key] not in known:
        st.session_state[SHOWN.key] = ALL
    return known[choose(SHOWN, _("Matrices of"), names)]


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is not None:
        compare_section(view)
