"""A head's weights alone, as bars of one query and as a matrix: for what has weights but no scores, such as words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from viz.figures.bars import BAR_WIDTH, MIN_SLOTS, NUMBERED_KEYS, least_width
from viz.figures.labels import Axis, shorten, text_width, tick_indices, token_axis
from viz.figures.look import base_layout
from viz.figures.panels import Panel
from viz.figures.tiles import tile_figure
from viz.text.plotly import plain
from viz.theme import Theme

HEIGHT = 190
_TITLE_SPACE = 46
_TOPS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
_NOT_COUNTED = "query %{y} does not count key %{x}: it comes later, or is hidden"


def share_bars(
    weights: Float[np.ndarray, " key"],
    *,
    labels: Sequence[str],
    query: int,
    note: str,
    theme: Theme,
    unit: str = "token",
    hidden: Bool[np.ndarray, " key"] | None = None,
    width: int = 640,
) -> go.Figure:
    """The weights (0 to 1) that the token or word (`unit`) at `query` gives to every key, without scores.

    `hidden` keys (by default those after the query) get no bar. `note` says below the title how the weights were made.
    """
    n_keys = len(weights)
    if len(labels) != n_keys or not 0 <= query < n_keys:
        raise ValueError(f"{n_keys} weights, {len(labels)} labels, query {query}: no match")
    keys = np.flatnonzero(~(np.arange(n_keys) > query if hidden is None else hidden))
    axis, slot = token_axis("key", labels), (width - 60) / max(n_keys, MIN_SLOTS)
    asker = token_axis("query", labels).names[query]
    numbers: dict[str, Any] = {}
    if n_keys <= NUMBERED_KEYS:
        numbers = {
            "texttemplate": "%{y:.0%}",
            "textposition": "outside",
            "textangle": 0 if slot >= 42 else -90,
            "textfont": {"size": 11 if slot >= 42 else 10, "color": theme.text},
            "cliponaxis": False,
            "constraintext": "none",
        }
    bars = go.Bar(
        x=keys.astype(np.int16),
        y=weights[keys],
        width=BAR_WIDTH,
        marker={
            "color": theme.roles["score"],
            "line": {"color": theme.text, "width": np.where(keys == query, 2, 0)},
        },
        hovertemplate=f"query {asker} reads key %{{x}}: %{{y:.4~g}}<extra></extra>",
        meta={"kind": "weight"},
        **numbers,
    )
    return go.Figure(
        [bars], _layout(weights, axis, query, f"{unit} {query + 1} {plain(shorten(labels[query]))}", note, theme, width)
    )


def share_matrix(
    pattern: Float[np.ndarray, "query key"],
    *,
    labels: Sequence[str],
    head: str,
    note: str,
    theme: Theme,
    hidden: Bool[np.ndarray, "query key"] | None = None,
    width: int = 560,
) -> go.Figure:
    """One head's weights (0 to 1), query rows, key columns; `hidden` cells (by default the later keys) are masked."""
    panel = Panel(
        pattern,
        f"Weights of {head}",
        "weights",
        token_axis("query", labels),
        token_axis("key", labels),
        note=note,
        masked=np.triu(np.ones(pattern.shape, dtype=bool), 1) if hidden is None else hidden,
        masked_text="0",
        hover="query %{y} reads key %{x}: %{value}",
        masked_hover=_NOT_COUNTED,
    )
    return tile_figure([panel], theme=theme, columns=1, width=width)


def _layout(
    weights: np.ndarray, axis: Axis, query: int, who: str, note: str, theme: Theme, width: int
) -> dict[str, Any]:
    """One panel with its title above, ticks below and room for the longest label."""
    n_keys = len(axis)
    shown = tick_indices(n_keys, 0.62 * (width - 60) / 14 if n_keys > 24 else n_keys)
    longest = max(text_width(axis.ticks[i]) for i in shown)
    rotated = longest + 6 > (width - 60) / max(n_keys, MIN_SLOTS)
    bottom = 26 + (longest + 6 if rotated else 16)
    top = next(t for t in _TOPS if weights.max() <= t or t == 1.0)
    below = f'<span style="font-size:12px;color:{theme.muted}">{plain(note)}</span>'
    return base_layout(theme, zooms=True) | {
        "height": round(HEIGHT + _TITLE_SPACE + bottom + 4),
        "margin": {"l": 48, "r": 12, "t": 4, "b": bottom, "pad": 0},
        "annotations": [
            {
                "text": f"<b>Weights of {who}</b><br>{below}",
                "font": {"size": 13, "color": theme.text},
                "x": 0,
                "xref": "paper",
                "xanchor": "left",
                "y": 1,
                "yref": "paper",
                "yanchor": "top",
                "align": "left",
                "showarrow": False,
            }
        ],
        "xaxis": {
            "range": [-0.6, max(n_keys, MIN_SLOTS) - 0.4],
            "tickvals": shown,
            "ticktext": [axis.ticks[i] for i in shown],
            "tickangle": -90 if rotated else 0,
            "showgrid": False,
            "zeroline": False,
            "title": {"text": "key", "font": {"size": 11, "color": theme.muted}, "standoff": 6},
        },
        "yaxis": {
            "domain": [0, HEIGHT / (HEIGHT + _TITLE_SPACE)],
            "range": [0, top * 1.14],
            "tickformat": ".0%",
            "gridcolor": theme.grid,
            "zeroline": True,
            "zerolinecolor": theme.frame,
            "zerolinewidth": 1,
            "nticks": 5,
            "tickfont": {"size": 11, "color": theme.muted},
        },
        "meta": {"min_width": least_width(len(shown)), "in_view": query},
    }
