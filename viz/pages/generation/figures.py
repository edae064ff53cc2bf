"""Writing token by token: what an iteration computes in every layer and what it reads from the cache."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from viz.figures.blocks import starts_of, strongest
from viz.figures.frames import Span, frame, many_frames, veil
from viz.figures.labels import hover_name, position_label, text_width
from viz.figures.look import base_layout
from viz.figures.scales import composite_scale, to_segment, value_range
from viz.theme import Theme

MOST_TOKENS = 14
"""So many tokens fit side by side; of a longer text those around the iteration are drawn."""
CELLS_BY_LAYERS = ((4, 8), (8, 6), (12, 4), (24, 2))
"""Up to so many layers, a vector is drawn with so many cells (one beyond)."""
KINDS = ("query", "key", "value")
_SLOT = 4  # columns a token: q, k, v and a gap
_LEAST_TOKENS = 6  # room for so many, so that the cells of a single one are no wall
_LAYERS_HEIGHT = 350
_LEAST_WIDTH = 350


def shown_tokens(n_pos: int, position: int) -> range:
    """The positions that `cache_stack` draws: all of a short text, else the iteration's token and those before it."""
    first = max(0, min(n_pos, max(MOST_TOKENS, position + 1)) - MOST_TOKENS)
    return range(first, min(n_pos, first + MOST_TOKENS))


def cell_starts(n_layers: int, d_head: int) -> Int[np.ndarray, " cell"]:
    """The dimensions that a vector's cells start with: the more layers, the fewer cells there is room for."""
    return starts_of(d_head, next((cells for layers, cells in CELLS_BY_LAYERS if n_layers <= layers), 1))


def cache_stack(
    q: Float[np.ndarray, "layer d_head"],
    k: Float[np.ndarray, "layer pos d_head"],
    v: Float[np.ndarray, "layer pos d_head"],
    *,
    labels: Sequence[str],
    position: int,
    head: int,
    predicted: str,
    theme: Theme,
    width: int = 640,
) -> go.Figure:
    """One head's vectors in every layer, layer 0 at the bottom: those computed now, and those read from the cache.

    `k` and `v` hold the shown tokens (`shown_tokens`) up to `position`, whose `q` it is. What is computed now has a
    solid frame, what comes from the cache is pale in a dotted one. `predicted` stands over the token that is read.
    Each layer and kind has its own range symmetric about 0.
    """
    shown = shown_tokens(len(labels), position)
    n_layers, n_read = k.shape[:2]
    if q.shape[0] != n_layers or v.shape != k.shape or n_read != position - shown.start + 1:
        raise ValueError(f"q {q.shape}, k {k.shape}, v {v.shape}, position {position}: no match")
    starts, d_head = cell_starts(n_layers, k.shape[-1]), k.shape[-1]
    n_cells = len(starts)
    cells = np.full((n_layers, n_read, 3, n_cells), np.nan)  # (layer, token, kind, cell)
    cells[:, -1, 0], cells[:, :, 1], cells[:, :, 2] = (strongest(vectors, starts) for vectors in (q, k, v))
    spans = pairwise([*starts.tolist(), d_head])
    names = [f"strongest of dimensions {a}–{b - 1}" if b > a + 1 else f"dimension {a}" for a, b in spans]
    pitch = n_cells + 2  # rows a layer: its cells and a gap
    unit = min(14.0, max(4.0, _LAYERS_HEIGHT / (n_layers * pitch)))  # pixels a row
    z, values = _stacked(cells, pitch)
    stops, top = composite_scale(KINDS, theme)
    read = [position_label(t, labels[t]) for t in shown]
    columns = [
        f"{kind} of {hover_name(t, labels[t])}, {'computed now' if t == position else 'from the cache'}"
        for t in shown
        for kind in (*KINDS, "")
    ]
    rows = [
        f"layer {layer}, head {head}, {name}" if name else "" for layer in range(n_layers) for name in (*names, "", "")
    ]
    here = position - shown.start
    heat = go.Heatmap(
        z=z,
        customdata=values,
        colorscale=stops,
        zmin=0.0,
        zmax=top,
        showscale=False,
        hoverongaps=False,
        hovertemplate="%{x}<br>%{y}: %{customdata:.4~g}<extra></extra>",
        xaxis="x2",
        yaxis="y2",
        meta={"cells": True},
    )
    cached = _vectors([(t, kind) for t in range(here) for kind in (1, 2)], n_layers, n_cells, pitch)
    new = _vectors([(here, kind) for kind in range(3)], n_layers, n_cells, pitch)
    dotted, over = {"color": theme.masked_ink, "width": 1, "dash": "dot"}, {"xaxis": "x2", "yaxis": "y2"}
    lines = [
        many_frames(new, name="ground", line={"width": 0}, fill="toself", fillcolor=theme.paper),
        many_frames(cached, name="cached", line=dotted, **over),
        many_frames(new, name="new", line={"color": theme.text, "width": 1.5}, **over),
    ]
    return go.Figure(
        [heat, *lines],
        _stack_layout(n_layers, n_cells, pitch, unit, columns, rows, read, here, predicted, theme, width),
    )


def _stacked(cells: Float[np.ndarray, "layer token kind cell"], pitch: int) -> tuple[np.ndarray, np.ndarray]:
    """The heights on the composite scale and the exact values, layers from the bottom up with gaps between them."""
    n_layers, n_tokens, _, n_cells = cells.shape
    z = np.full((n_layers * pitch, n_tokens * _SLOT), np.nan, np.float32)
    values = z.copy()
    for layer in range(n_layers):
        rows = slice(layer * pitch, layer * pitch + n_cells)
        for kind, role in enumerate(KINDS):
            part = cells[layer, :, kind]  # (token, cell)
            low, high = value_range(part, role, None, None)
            z[rows, kind::_SLOT] = to_segment(part, low, high, kind).T
            values[rows, kind::_SLOT] = part.T
    return z, values


def _vectors(places: Sequence[tuple[int, int]], n_layers: int, n_cells: int, pitch: int) -> list[tuple[Span, Span]]:
    """Where the cells of each (token, kind) are, in every layer."""
    return [
        ((token * _SLOT + kind - 0.5, token * _SLOT + kind + 0.5), (layer * pitch - 0.5, layer * pitch + n_cells - 0.5))
        for layer in range(n_layers)
        for token, kind in places
    ]


def _stack_layout(
    n_layers: int,
    n_cells: int,
    pitch: int,
    unit: float,
    columns: Sequence[str],
    rows: Sequence[str],
    read: Sequence[str],
    here: int,
    predicted: str,
    theme: Theme,
    width: int,
) -> dict[str, Any]:
    """A frame a layer, the wash that makes cached cells pale, the arrow from the token read to the one predicted."""
    n_columns, n_rows = max(len(read), _LEAST_TOKENS) * _SLOT, n_layers * pitch
    x_range, y_range = (-1.0, n_columns - 0.2), (-1.5, n_rows + 44 / unit)
    roof, centre = n_rows - 1.5, here * _SLOT + 1
    edges = [(layer * pitch - 1.1, layer * pitch + n_cells + 0.1) for layer in range(n_layers)]
    frames = [frame(x_range, edge, line=theme.frame) for edge in edges]
    path = {"color": theme.muted, "width": 3}
    line = {"type": "line", "layer": "below", "x0": centre, "x1": centre, "y0": y_range[0], "y1": roof, "line": path}
    wash = [
        veil((-0.5, here * _SLOT - 1), (low + 0.6, high - 0.6), paper=theme.paper, opacity=0.5)
        for low, high in edges
        if here
    ]
    least = max(_LEAST_WIDTH, 66 + 26 * len(read))
    half = text_width(predicted, 17) / 2 * (x_range[1] - x_range[0]) / (least - 66)
    side = "left" if centre - half < x_range[0] else "right" if centre + half > x_range[1] else "center"
    where = {"left": centre - 1.5, "right": centre + 1.5, "center": centre}[side]
    legend = "   ".join(f'<span style="color:{theme.roles[kind]};font-size:17px">■</span> {kind}' for kind in KINDS)
    rotated = max(text_width(tick) for tick in read) + 6 > (width - 60) / (n_columns / _SLOT)
    bottom = 8 + (1.15 * max(text_width(tick) for tick in read) + 10 if rotated else 20)
    colours = [theme.text if i <= here else theme.masked_ink for i in range(len(read))]
    ticks = [f'<span style="color:{colour}">{tick}</span>' for tick, colour in zip(read, colours, strict=True)]
    ticks[here] = f"<b>{read[here]}</b>"
    note = f"{legend}   <b>solid</b> now   <b>dotted</b> cached"
    named = range(0, n_layers, 1 if pitch * unit >= 14 else 2)
    bare = {"showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True}
    hidden = {"showticklabels": False, "showgrid": False, "zeroline": False, "ticks": ""}
    return base_layout(theme) | {
        "height": round((y_range[1] - y_range[0]) * unit + 30 + bottom),
        "margin": {"l": 58, "r": 8, "t": 30, "b": bottom, "pad": 0},
        "xaxis": {
            "range": x_range,
            "tickvals": [i * _SLOT + 1 for i in range(len(read))],
            "ticktext": ticks,
            "tickangle": -90 if rotated else 0,
            "tickfont": {"size": 12},
            **bare,
        },
        "yaxis": {
            "range": y_range,
            "tickvals": [layer * pitch + (n_cells - 1) / 2 for layer in named],
            "ticktext": [f"layer {layer}" for layer in named],
            "tickfont": {"size": 12, "color": theme.muted},
            **bare,
        },
        "xaxis2": {"overlaying": "x", "matches": "x", "tickvals": list(range(len(columns))), "ticktext": columns}
        | {"range": x_range, **hidden},
        "yaxis2": {"overlaying": "y", "matches": "y", "tickvals": list(range(n_rows)), "ticktext": rows}
        | {"range": y_range, **hidden},
        "shapes": [*frames, line, *wash],
        "annotations": [
            {
                "x": centre,
                "y": n_rows + 22 / unit,
                "ax": centre,
                "ay": roof,
                "axref": "x",
                "ayref": "y",
                "text": "",
                "showarrow": True,
                "arrowhead": 2,
                "arrowwidth": path["width"],
                "arrowcolor": path["color"],
                "arrowsize": 0.8,
            },
            {
                "x": where,
                "y": n_rows + 22 / unit,
                "xanchor": side,
                "yanchor": "bottom",
                "text": f"<b>{predicted}</b>",
                "showarrow": False,
                "font": {"size": 16, "color": theme.ink("score")},
            },
            {
                "xref": "paper",
                "x": 0,
                "xanchor": "left",
                "xshift": -50,
                "yref": "paper",
                "y": 1,
                "yanchor": "bottom",
                "yshift": 8,
                "text": note,
                "showarrow": False,
                "font": {"size": 12, "color": theme.muted},
            },
        ],
        "meta": {"min_width": least, "in_view": centre},
    }
