"""The measures of all heads: one as a layer x head heatmap, all as a table, and the largest in words for the grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import streamlit as st

from model.heads.all_heads import MEASURES, ROLES, Measure, roles, scores_of
from model.heads.search import largest_of
from viz.figures.clicks import cell_at
from viz.pages.heads.figures import measure_heatmap
from viz.shell.charts import chart
from viz.shell.shell import theme
from viz.state.focus import head_name
from viz.state.settings import choice
from viz.state.view import View

SHARES = tuple(entry for entry in MEASURES if entry.unit == "share of weight")
_CHOSEN, _TABLE, _CHART = "heads_measure", "heads_table", "measure_map"
SETTINGS = (choice(_CHOSEN, "measure", {entry: entry.name for entry in MEASURES}),)

Show = Callable[[int, int], None]
Scores = Mapping[str, np.ndarray]


def measures_section(view: View, scores: Scores, show: Show) -> list[str]:
    """Draw the measures; for every head what the grid says of it. `show` is called with a head that is chosen here."""
    st.markdown("#### Measures of all heads")
    left, right = st.columns([5, 6], gap="large")
    with left:
        _heatmap(scores, show)
    with right:
        _table(view, scores, show)
    return _words(view, scores)


def _heatmap(scores: Scores, show: Show) -> None:
    measure = st.selectbox(
        "Measure", MEASURES, format_func=lambda entry: entry.title, key=_CHOSEN, persist_state="session"
    )
    values = scores[measure.name]
    defined = values[np.isfinite(values)]
    high = measure.high if measure.high is not None else float(defined.max(initial=measure.low))
    note = measure.unit if measure.high is not None else f"{measure.unit}, up to the largest head's"
    figure = measure_heatmap(values, title=measure.title, note=note, low=measure.low, high=high, theme=theme())

    def clicked(curve: int, point: int) -> None:
        if (cell := cell_at(figure, curve, point)) is not None:
            show(cell.row, cell.column)

    alt = f"{measure.title} of every head, layers down and heads across"
    chart(figure, key=_CHART, alt=alt, on_click=clicked)
    st.caption(
        f"{measure.definition} Measured on {_basis(measure)}. Source: {measure.source}. "
        "Click a cell to choose its head."
    )


def _table(view: View, scores: Scores, show: Show) -> None:
    n_heads = view.model.config.n_heads
    places = [divmod(i, n_heads) for i in range(view.model.config.n_layers * n_heads)]
    columns: dict[str, Any] = {
        "head": [head_name(place) for place in places],
        "roles": [", ".join(roles(scores_of(scores, *place))) for place in places],
    }
    columns |= {  # what is undefined is no number
        entry.name: pa.array(scores[entry.name].ravel().astype(np.float32), from_pandas=True) for entry in MEASURES
    }

    def selected() -> None:
        event: Any = st.session_state[_TABLE]
        if rows := event["selection"]["rows"]:
            show(*places[rows[0]])

    st.dataframe(
        pa.table(columns),
        key=_TABLE,
        hide_index=True,
        on_select=selected,
        selection_mode="single-row",
        height=440,
        placeholder="–",
        column_config={
            "head": st.column_config.TextColumn("Head", pinned=True, width="small"),
            "roles": st.column_config.TextColumn("Role", help=_roles_help(), width=150),
        }
        | {
            entry.name: st.column_config.NumberColumn(entry.title, help=entry.definition, format="%.3f")
            for entry in MEASURES
        },
    )
    st.caption("Click a column's title to sort by it, and the box before a head to choose it.")


def _words(view: View, scores: Scores) -> list[str]:
    """For each head its roles, and the measure on this text that is largest."""
    shares = [entry for entry in SHARES if entry.needs == "text"]
    best = largest_of([scores[entry.name] for entry in shares])
    words = []
    for layer, head in np.ndindex(best.shape):
        own = scores_of(scores, layer, head)
        lines = [*roles(own)]
        top = shares[best[layer, head]]
        if own[top.name] > 0:  # neither undefined, as in a text of one token, nor nothing at all
            lines.append(f"most of all: {top.title.lower()} {own[top.name]:.2f}")
        if np.isfinite(own["effective_tokens"]):
            lines.append(f"spread over {own['effective_tokens']:.1f} tokens")
        words.append("\n".join(lines))
    return words


def _basis(measure: Measure) -> str:
    return "your text" if measure.needs == "text" else "random tokens read twice, not on your text"


def _roles_help() -> str:
    """From which score on a role is named."""
    titles = {entry.name: entry.title for entry in MEASURES}
    return "; ".join(f"{role.name}: {titles[role.measure]} above {role.threshold:g}" for role in ROLES)
