"""Writing token by token: what an iteration computes in every layer and what it reads from the cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from viz.figures.blocks import starts_of, strongest
from viz.figures.chart import Chart
from viz.figures.data import Table, numbers
from viz.figures.frames import Span, frame, many_frames, veil
from viz.figures.labels import hover_name, position_label, shorten, text_width
from viz.figures.look import base_layout
from viz.figures.scales import composite_scale, to_segment, value_range
from viz.text.catalogue import _
from viz.text.plotly import plain
from viz.theme import Theme

MOST_TOKENS = 14
"""So many tokens fit side by side; of a longer text those around the iteration are drawn."""
CELLS_BY_LAYERS = ((4, 8), (8, 6), (12, 4), (24, 2))
"""Up to so many layers, a vector is drawn with so many cells (one beyond)."""
KINDS = ("query", "key", "value")
_SLOT = 4  # columns a token: q, k, v and a gap
_LEAST_TOKENS = 6  # room for so many, so that the cells of a single one are no wall
_LAYERS_HEIGHT = 350
_WIDTH, _LEAST_WIDTH = 640, 350


def shown_tokens(n_pos: int, position: int) -> range:
    """The positions that `cache_stack` draws: all of a short text, else the iteration's token and those before it."""
    first = max(0, min(n_pos, max(MOST_TOKENS, position + 1)) - MOST_TOKENS)
    return range(first, min(n_pos, first + MOST_TOKENS))


def cell_starts(n_layers: int, d_head: int) -> Int[np.ndarray, " cell"]:
    """The dimensions that a vector's cells start with: the more layers, the fewer cells there is room for."""
    return starts_of(d_head, next((cells for layers, cells in CELLS_BY_LAYERS if n_layers <= layers), 1))


@dataclass(frozen=True)
class _Stack:
    """Where the cells lie: columns are the unit across, rows up, layer 0 at the bottom."""

    starts: Int[np.ndarray, " cell"]
    d_head: int
    n_layers: int
    shown: range
    position: int

    @property
    def n_cells(self) -> int:
        """The cells of a vector."""
        return len(self.starts)

    @property
    def pitch(self) -> int:
        """The rows that a layer takes: its cells and a gap."""
        return self.n_cells + 2

    @property
    def unit(self) -> float:
        """The height of a row in pixels."""
        return min(14.0, max(4.0, _LAYERS_HEIGHT / (self.n_layers * self.pitch)))

    @property
    def here(self) -> int:
        """The place of the token read, among the shown ones."""
        return self.position - self.shown.start

    def boxes(self, places: Iterable[tuple[int, int]]) -> list[tuple[Span, Span]]:
        """Where the cells of each (token, kind) are, in every layer."""
        columns = [token * _SLOT + kind for token, kind in places]
        return [
            ((column - 0.5, column + 0.5), (layer * self.pitch - 0.5, layer * self.pitch + self.n_cells - 0.5))
            for layer in range(self.n_layers)
            for column in columns
        ]

    def row_names(self, head: int) -> list[str]:
        """What each row is called in a hover text; gaps have no name."""
        spans = pairwise([*self.starts.tolist(), self.d_head])
        several = _("layer {layer}, head {head}, strongest of dimensions {first}–{last}")
        one = _("layer {layer}, head {head}, dimension {first}")
        named = [(several if b > a + 1 else one, a, b - 1) for a, b in spans]
        return [
            name
            for layer in range(self.n_layers)
            for name in (*(text.format(layer=layer, head=head, first=a, last=b) for text, a, b in named), "", "")
        ]

    def column_names(self, labels: Sequence[str]) -> list[str]:
        """What each column is called in a hover text; gaps have no name."""
        now, before = _("{vector} of {token}, computed now"), _("{vector} of {token}, from the cache")
        return [
            (now if at == self.position else before).format(vector=kind, token=hover_name(at, labels[at]))
            if kind
            else ""
            for at in self.shown
            for kind in (*KINDS, "")
        ]


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
) -> Chart:
    """One head's vectors in every layer, layer 0 at the bottom: those computed now, and those read from the cache.

    `k` and `v` hold the shown tokens (`shown_tokens`) up to `position`, whose query `q` is. What is computed now has a
    solid frame, what comes from the cache is pale in a dotted one. `predicted`, a label, stands over the token read.
    Each layer and kind has its own range symmetric about 0. Arrays that do not match are a ValueError.
    """
    shown = shown_tokens(len(labels), position)
    n_layers, n_read, d_head = k.shape
    if q.shape[0] != n_layers or v.shape != k.shape or n_read != position - shown.start + 1:
        raise ValueError(f"q {q.shape}, k {k.shape}, v {v.shape}, position {position}: no match")
    stack = _Stack(cell_starts(n_layers, d_head), d_head, n_layers, shown, position)
    cells = np.full((n_layers, n_read, 3, stack.n_cells), np.nan)  # (layer, token, kind, cell)
    cells[:, -1, 0], cells[:, :, 1], cells[:, :, 2] = (strongest(vectors, stack.starts) for vectors in (q, k, v))
    z, values = _stacked(cells, stack.pitch)
    stops, top = composite_scale(KINDS, theme)
    over = {"xaxis": "x2", "yaxis": "y2"}
    heat = go.Heatmap(
        z=z,
        customdata=values,
        colorscale=stops,
        zmin=0.0,
        zmax=top,
        showscale=False,
        hoverongaps=False,
        hovertemplate="%{x}<br>%{y}: %{customdata:.4~g}<extra></extra>",
        meta={"cells": True},
        **over,
    )
    cached = stack.boxes([(token, kind) for token in range(stack.here) for kind in (1, 2)])
    new = stack.boxes([(stack.here, kind) for kind in range(3)])
    dotted = {"color": theme.masked_ink, "width": 1, "dash": "dot"}
    lines = [
        many_frames(new, name="ground", line={"width": 0}, fill="toself", fillcolor=theme.paper),
        many_frames(cached, name="cached", line=dotted, **over),
        many_frames(new, name="new", line={"color": theme.text, "width": 1.5}, **over),
    ]
    layout, min_width = _stack_layout(stack, labels, plain(shorten(predicted)), theme)
    layout |= _hidden_axes(stack, layout, labels, head)
    return Chart(go.Figure([heat, *lines], layout), lambda: _table(q, k, v, labels, shown), min_width)


def _table(
    q: Float[np.ndarray, "layer d_head"],
    k: Float[np.ndarray, "layer pos d_head"],
    v: Float[np.ndarray, "layer pos d_head"],
    labels: Sequence[str],
    shown: range,
) -> Table:
    """Every number of the drawn vectors, also those of which a cell shows only the strongest."""
    vectors = (
        (layer, shown[at], kind, values[layer, at])
        for layer in range(len(k))
        for at in range(k.shape[1])
        for kind, values in (("key", k), ("value", v))
    )
    queries = ((layer, shown[k.shape[1] - 1], "query", values) for layer, values in enumerate(q))
    rows = (
        (layer, at + 1, labels[at], kind, dimension, value)
        for layer, at, kind, vector in chain(queries, vectors)
        for dimension, value in enumerate(numbers(vector))
    )
    return Table(("layer", "token", "token label", "vector", "dimension", "value"), rows)


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


def _stack_layout(stack: _Stack, labels: Sequence[str], predicted: str, theme: Theme) -> tuple[dict[str, Any], int]:
    """A frame a layer, the wash that makes cached cells pale, the arrow from the token read to the one predicted, which
    is plotly markup; and the least width in pixels."""
    read, here, pitch, unit = [position_label(t, labels[t]) for t in stack.shown], stack.here, stack.pitch, stack.unit
    n_columns, n_rows = max(len(read), _LEAST_TOKENS) * _SLOT, stack.n_layers * pitch
    x_range, y_range = (-1.0, n_columns - 0.2), (-1.5, n_rows + 44 / unit)
    centre = here * _SLOT + 1
    edges = [(layer * pitch - 1.1, layer * pitch + stack.n_cells + 0.1) for layer in range(stack.n_layers)]
    path = {"color": theme.muted, "width": 3}
    line = {"type": "line", "layer": "below", "x0": centre, "x1": centre, "y0": y_range[0], "y1": n_rows - 1.5}
    wash = [
        veil((-0.5, here * _SLOT - 1), (low + 0.6, high - 0.6), paper=theme.paper, opacity=0.5)
        for low, high in edges
        if here
    ]
    least = max(_LEAST_WIDTH, 66 + 26 * len(read))
    rotated = max(text_width(tick) for tick in read) + 6 > (_WIDTH - 60) / (n_columns / _SLOT)
    bottom = 8 + (1.15 * max(text_width(tick) for tick in read) + 10 if rotated else 20)
    colours = [theme.text if i <= here else theme.masked_ink for i in range(len(read))]
    ticks = [f'<span style="color:{colour}">{tick}</span>' for tick, colour in zip(read, colours, strict=True)]
    ticks[here] = f"<b>{read[here]}</b>"
    named = range(0, stack.n_layers, 1 if pitch * unit >= 14 else 2)
    bare = {"showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True}
    layout = base_layout(theme) | {
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
            "tickvals": [layer * pitch + (stack.n_cells - 1) / 2 for layer in named],
            "ticktext": [_("layer {layer}", layer=layer) for layer in named],
            "tickfont": {"size": 12, "color": theme.muted},
            **bare,
        },
        "shapes": [*(frame(x_range, edge, line=theme.frame) for edge in edges), line | {"line": path}, *wash],
        "annotations": [
            _arrow(centre, n_rows - 1.5, n_rows + 22 / unit, path),
            _predicted(predicted, centre, n_rows + 22 / unit, x_range, least, theme),
            _legend(theme),
        ],
        "meta": {"in_view": centre},
    }
    return layout, least


def _hidden_axes(stack: _Stack, layout: dict[str, Any], labels: Sequence[str], head: int) -> dict[str, Any]:
    """The two axes that name every column and row for the hover texts."""
    hidden = {"showticklabels": False, "showgrid": False, "zeroline": False, "ticks": ""}
    return {
        f"{letter}axis2": {
            "overlaying": letter,
            "matches": letter,
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "range": layout[f"{letter}axis"]["range"],
            **hidden,
        }
        for letter, names in (("x", stack.column_names(labels)), ("y", stack.row_names(head)))
    }


def _arrow(x: float, start: float, end: float, path: dict[str, Any]) -> dict[str, Any]:
    place = {"x": x, "y": end, "ax": x, "ay": start, "axref": "x", "ayref": "y", "text": "", "showarrow": True}
    return place | {"arrowhead": 2, "arrowwidth": path["width"], "arrowcolor": path["color"], "arrowsize": 0.8}


def _predicted(words: str, x: float, y: float, x_range: Span, least: int, theme: Theme) -> dict[str, Any]:
    """The predicted token over its arrow; beside it where it would reach beyond the figure."""
    half = text_width(words, 17) / 2 * (x_range[1] - x_range[0]) / (least - 66)
    side = "left" if x - half < x_range[0] else "right" if x + half > x_range[1] else "center"
    return {
        "x": {"left": x - 1.5, "right": x + 1.5, "center": x}[side],
        "y": y,
        "xanchor": side,
        "yanchor": "bottom",
        "text": f"<b>{words}</b>",
        "showarrow": False,
        "font": {"size": 16, "color": theme.ink("score")},
    }


def _legend(theme: Theme) -> dict[str, Any]:
    """The colours of the three vectors, and what the two frames mean."""
    kinds = "   ".join(f'<span style="color:{theme.roles[kind]};font-size:17px">■</span> {kind}' for kind in KINDS)
    return {
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "xshift": -50,
        "yref": "paper",
        "y": 1,
        "yanchor": "bottom",
        "yshift": 8,
        "text": f"{kinds}   {_('<b>solid</b> now   <b>dotted</b> cached')}",
        "showarrow": False,
        "font": {"size": 12, "color": theme.muted},
    }
