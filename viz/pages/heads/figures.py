"""All heads in one figure: their patterns as a sheet of thumbnails, and one number a head as a layer x head heatmap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from viz.figures.bar_parts import axis_title
from viz.figures.chart import Chart
from viz.figures.data import Table
from viz.figures.labels import number_axis
from viz.figures.look import CLEAR, base_layout
from viz.figures.panels import Panel
from viz.figures.tiles import tile_figure
from viz.text.catalogue import _
from viz.theme import Theme

SHEET_CELLS = 600_000
"""The most cells a sheet may have: as bytes they are 0.8 MB in a browser's message."""

# Heights of the one trace of bytes: weights from 0 to 1, masked cells, the gaps between thumbnails.
_FULL, _MASKED, _GAP = 250, 252, 255
_LARGEST, _LEAST, _SHEET_WIDTH = 96, 22, 1080
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 30, 34
_NUMBERED_HEADS = 16


def sheet_cells(n_heads: int, *, most: int) -> int:
    """How many rows and columns the thumbnails of `n_heads` heads may have in a sheet, at most `most`."""
    return max(1, min(most, int(np.sqrt(SHEET_CELLS / max(n_heads, 1)) / 1.1)))


def thumbnail_sheet(
    weights: Float[np.ndarray, "layer head row column"], *, queries: Int[np.ndarray, " row"], block: int, theme: Theme
) -> Chart:
    """Every head's thumbnail, layers down and heads across, as tiles of one heatmap trace; made to be saved.

    Row i of a thumbnail is the query at position `queries[i]` (from 0); a cell adds up the weights on `block` keys. The
    figure's data are the exact shown weights; its colours have 250 steps.
    """
    n_layers, n_heads, side, _ = weights.shape
    pitch = side + max(1, round(side * 0.08))
    future = np.triu(np.ones((side, side), bool), 1)
    z = np.full((n_layers, pitch, n_heads, pitch), _GAP, np.uint8)
    shares = np.rint(weights.clip(0, 1) * _FULL).astype(np.uint8)
    z[:, :side, :, :side] = np.where(future, np.uint8(_MASKED), shares).transpose(0, 2, 1, 3)
    z = z.reshape(n_layers * pitch, n_heads * pitch)[
        : n_layers * pitch - pitch + side, : n_heads * pitch - pitch + side
    ]
    size = max(_LEAST, min(_LARGEST, (_SHEET_WIDTH - _LEFT - _RIGHT) / n_heads * side / pitch)) / side
    centres = [(side - 1) / 2 + i * pitch for i in range(max(n_layers, n_heads))]
    cells = go.Heatmap(
        z=z, colorscale=_stops(theme), zmin=0, zmax=255, showscale=False, hoverinfo="skip", meta={"sheet": True}
    )
    heads = [(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    names = go.Scatter(
        x=[centres[head] for _, head in heads],
        y=[centres[layer] for layer, _ in heads],
        text=[f"L{layer}H{head}" for layer, head in heads],
        mode="markers",
        marker={"size": 1, "opacity": 0},
        hovertemplate="%{text}<extra></extra>",
        meta={"names": True},
    )
    layout = (
        base_layout(theme, zooms=True)
        | {
            "height": round(z.shape[0] * size) + _TOP + _BOTTOM,
            "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM, "pad": 0},
            "hoverdistance": -1,  # the nearest head, however far its centre is
            "xaxis": _axis("head", centres[:n_heads], "H", theme)
            | {"range": [-0.5, z.shape[1] - 0.5], "side": "top", "constrain": "domain", "constraintoward": "left"},
            "yaxis": _axis("layer", centres[:n_layers], "L", theme)
            | {"range": [z.shape[0] - 0.5, -0.5], "scaleanchor": "x", "constrain": "domain", "constraintoward": "top"},
        }
    )
    columns = ("layer", "head", "query", "first key", "last key", "weight")
    return Chart(
        go.Figure([cells, names], layout),
        lambda: Table(columns, _rows(weights, queries, block)),
        _LEFT + _RIGHT + n_heads * (_LEAST + 3),
    )


def measure_heatmap(
    values: Float[np.ndarray, "layer head"], *, title: str, note: str, high: float, theme: Theme, low: float = 0.0
) -> Chart:
    """One number a head, layers down and heads across, on a scale from `low` to `high`; undefined (NaN) ones hatched.

    Where there is room, the numbers stand in the cells.
    """
    n_layers, n_heads = values.shape
    panel = Panel(
        values,
        title,
        "weights",
        number_axis("layer", n_layers, binary=False),
        number_axis("head", n_heads, binary=False),
        note=note,
        zmin=low,
        zmax=high if high > low else low + 1.0,
        masked_text="–",
        hover="L%{y}H%{x}: %{value}",
        masked_hover=_("L%{y}H%{x}: not defined on this text"),
    )
    return tile_figure([panel], theme=theme, width=560, cell_height=28, numbers=n_heads <= _NUMBERED_HEADS)


def _axis(title: str, centres: Sequence[float], letter: str, theme: Theme) -> dict[str, Any]:
    return {
        "title": axis_title(title, theme),
        "tickvals": list(centres),
        "ticktext": [f"{letter}{i}" for i in range(len(centres))],
        "tickfont": {"size": 11, "color": theme.text},
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
    }


def _stops(theme: Theme) -> list[list[float | str]]:
    scale = theme.scales["weights"]
    stops: list[list[float | str]] = [[position * _FULL / 255, colour] for position, colour in scale]
    # Between two heights, so that none of them lies where two colours meet.
    edges = (_FULL + 0.5) / 255, (_MASKED + 0.5) / 255
    stops += [[edges[0], scale[-1][1]], [edges[0], theme.masked], [edges[1], theme.masked]]
    return [*stops, [edges[1], CLEAR], [1.0, CLEAR]]


def _rows(weights: np.ndarray, queries: np.ndarray, block: int) -> Iterator[tuple[Any, ...]]:
    for layer, head, row in np.ndindex(weights.shape[:3]):
        last = int(queries[row])
        for column in range(row + 1):
            keys = column * block + 1, min((column + 1) * block, last + 1)
            yield layer, head, last + 1, *keys, weights[layer, head, row, column]
