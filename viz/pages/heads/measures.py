"""The measures of all heads: one as a layer x head heatmap, all as a table, and the largest in words for the grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import streamlit as st

from model.heads.all_heads import MEASURES, ROLES, roles, scores_of
from model.heads.search import largest_of
from viz.pages.heads.figures import measure_heatmap
from viz.shell.charts import chart
from viz.shell.say import remark, say
from viz.shell.shell import theme
from viz.state.focus import head_name
from viz.state.settings import choice
from viz.state.view import View
from viz.text.catalogue import _

SHARES = tuple(entry for entry in MEASURES if entry.unit == "share of weight")
_CHOSEN, _TABLE, _CHART = "heads_measure", "heads_table", "measure_map"
_BY_NAME = {entry.name: entry for entry in MEASURES}
SETTINGS = (choice(_CHOSEN, "measure", tuple(_BY_NAME)),)

Show = Callable[[int, int], None]
Scores = Mapping[str, np.ndarray]


def measures_section(view: View, scores: Scores, show: Show) -> list[str]:
    """Draw the measures; for every head what the grid says of it. `show` is called with a head that is chosen here."""
    say("#### Measures of all heads")
    left, right = st.columns([5, 6], gap="large")
    with left:
        _heatmap(scores, show)
    with right:
        _table(view, scores, show)
    return _words(view, scores)


def _heatmap(scores: Scores, show: Show) -> None:
    name = st.selectbox(
        _("Measure"), _BY_NAME, format_func=lambda name: _BY_NAME[name].title, key=_CHOSEN, persist_state="session"
    )
    measure = _BY_NAME[name]
    values = scores[measure.name]
    defined = values[np.isfinite(values)]
    high = measure.high if measure.high is not None else float(defined.max(initial=measure.low))
    note = measure.unit if measure.high is not None else _("{unit}, up to the largest head's", unit=measure.unit)
    figure = measure_heatmap(values, title=measure.title, note=note, low=measure.low, high=high, theme=theme())

    def clicked(curve: int, point: int) -> None:
        if (cell := figure.cell_at(curve, point)) is not None:
            show(cell.row, cell.column)

    alt = _("{title} of every head, layers down and heads across", title=measure.title)
    chart(figure, key=_CHART, alt=alt, on_click=clicked)
    if measure.needs == "text":
        basis = _("Measured on your text.")
    else:
        basis = _("Measured on random tokens read twice, not on your text.")
    source = _("Source: {source}. Click a cell to choose its head.", source=measure.source)
    st.caption(f"{measure.definition} {basis} {source}")


def _table(view: View, scores: Scores, show: Show) -> None:
    n_heads = view.model.config.n_heads
    places = [divmod(i, n_heads) for i in range(view.model.config.n_layers * n_heads)]
    columns: dict[str, Any] = {
        "head": [head_name(place) for place in places],
        "roles": [", ".join(map(_, roles(scores_of(scores, *place)))) for place in places],
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
            "head": st.column_config.TextColumn(_("Head"), pinned=True, width="small"),
            "roles": st.column_config.TextColumn(_("Role"), help=_roles_help(), width=150),
        }
        | {
            entry.name: st.column_config.NumberColumn(entry.title, help=entry.definition, format="%.3f")
            for entry in MEASURES
        },
    )
    remark("Click a column's title to sort by it, and the box before a head to choose it.")


def _words(view: View, scores: Scores) -> list[str]:
    """For each head its roles, and the measure on this text that is largest."""
    shares = [entry for entry in SHARES if entry.needs == "text"]
    best = largest_of([scores[entry.name] for entry in shares])
    words = []
    for layer, head in np.ndindex(best.shape):
        own = scores_of(scores, layer, head)
        lines = [*map(_, roles(own))]
        top = shares[best[layer, head]]
        if own[top.name] > 0:  # neither undefined, as in a text of one token, nor nothing at all
            lines.append(_("most of all: {measure} {score:.2f}", measure=top.title.lower(), score=own[top.name]))
        if np.isfinite(own["effective_tokens"]):
            lines.append(_("spread over {n:.1f} tokens", n=own["effective_tokens"]))
        words.append("\n".join(lines))
    return words


def _roles_help() -> str:
    """From which score on a role is named."""
    titles = {entry.name: entry.title for entry in MEASURES}
    words = [
        _("{role}: {measure} above {least:g}", role=_(role.name), measure=titles[role.measure], least=role.threshold)
        for role in ROLES
    ]
    return "; ".join(words)
