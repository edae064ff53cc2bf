"""Columns of numbers beside tiles: a text for each row, where the row has room for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from viz.figures.blocks import MAX_CELLS
from viz.figures.panels import Panel
from viz.figures.tiles import tile_figure
from viz.text.plotly import plain
from viz.theme import Theme

NUMBER_WIDTH = 84
NARROWEST = 0.72
"""A figure may shrink to this part of its nominal width before its columns of numbers touch."""


class Numbers(NamedTuple):
    """A column of numbers beside the tiles: its two lines of heading, and a text and a colour for each row."""

    title: str
    below: str
    texts: Sequence[str]
    colours: Sequence[str]


def tiles_with_numbers(
    panels: Sequence[Panel], columns: Sequence[Numbers], *, theme: Theme, width: int, cell_height: float
) -> go.Figure:
    """Two tiles across with columns of numbers to their right, beside the rows of the first tile that have a label.

    Rows drawn in blocks have no numbers.
    """
    if len(panels[0].rows) > MAX_CELLS:
        return tile_figure(panels, theme=theme, columns=2, width=width, cell_height=cell_height)
    tiles_width = width - NUMBER_WIDTH * len(columns)
    figure = tile_figure(panels, theme=theme, columns=2, width=tiles_width, cell_height=cell_height)
    layout = figure.layout
    margin, across, down = layout.margin, layout.xaxis.range, layout.yaxis.range
    cell = (tiles_width - margin.l - margin.r) / (across[1] - across[0])
    pixel = (down[0] - down[1]) / (layout.height - margin.t - margin.b)
    for i, column in enumerate(columns):
        x = across[1] + NUMBER_WIDTH * (i + 1) / cell
        figure.add_trace(_text(x, [-0.5 - 42 * pixel], [f"<b>{plain(column.title)}</b>"], 13, [theme.text]))
        figure.add_trace(_text(x, [-0.5 - 24 * pixel], [plain(column.below)], 11, [theme.muted]))
        add_numbers(figure, column, x, title=column.title)
    end = across[1] + NUMBER_WIDTH * len(columns) / cell
    least = max(layout.meta["min_width"] * width / tiles_width, NARROWEST * width)
    return figure.update_layout(
        xaxis_range=[across[0], end], xaxis2_range=[across[0], end], meta=layout.meta | {"min_width": round(least)}
    )


def add_numbers(figure: go.Figure, column: Numbers, x: float, *, title: str) -> None:
    """The column's texts, ending at `x`, beside those of the first tile's rows that have a label."""
    rows = [int(y) for y in figure.layout.yaxis.tickvals if y < len(column.texts)]
    texts, colours = ([values[row] for row in rows] for values in (column.texts, column.colours))
    figure.add_trace(_text(x, rows, texts, 12, colours, numbers=title))


def _text(
    x: float, y: Sequence[float], texts: Sequence[str], size: int, colours: Sequence[str], **meta: Any
) -> go.Scatter:
    """Right-aligned texts one under the other, ending at `x`."""
    return go.Scatter(
        x=[x] * len(y),
        y=list(y),
        text=list(texts),
        mode="text",
        textposition="middle left",
        textfont={"size": size, "color": list(colours)},
        hoverinfo="skip",
        showlegend=False,
        cliponaxis=False,
        meta={"texts": True, **meta},
    )
