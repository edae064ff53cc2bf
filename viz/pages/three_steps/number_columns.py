"""Columns of numbers beside tiles: a text for each row that has room for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from viz.figures.panels import Grid, row_ticks
from viz.figures.tiles import Traced
from viz.text.plotly import plain
from viz.theme import Theme

NUMBER_WIDTH = 84
NARROWEST = 0.72
"""A figure may shrink to this part of its nominal width before its columns of numbers touch."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers: its two lines of heading, and a text and a colour for each row of the first tile."""

    title: str
    below: str
    texts: Sequence[str]
    colours: Sequence[str]

    def trace(self, grid: Grid, x: float) -> go.Scatter:
        """The texts of the rows that have a label, ending at `x`."""
        tile = grid.tiles[0]
        rows = row_ticks(tile, grid)
        texts, colours = ([values[row] for row in rows] for values in (self.texts, self.colours))
        return _text(x, [tile.y0 + row for row in rows], texts, 12, colours, numbers=self.title)


@dataclass(frozen=True)
class NumberColumns:
    """Columns of numbers to the right of the tiles. `width` is that of the whole figure."""

    columns: Sequence[Numbers]
    width: int

    @property
    def room(self) -> int:
        return NUMBER_WIDTH * len(self.columns)

    def least_width(self, grid: Grid) -> int:
        return round(max(grid.min_width * self.width / (self.width - self.room), NARROWEST * self.width))

    def draw(self, grid: Grid, theme: Theme) -> tuple[list[Traced], list[dict[str, Any]]]:
        traces = []
        for i, column in enumerate(self.columns):
            x = grid.n_columns - 0.5 + NUMBER_WIDTH * (i + 1) / grid.cell_width
            title, below = (-0.5 - pixels / grid.row_height for pixels in (42, 24))
            traces.append(_text(x, [title], [f"<b>{plain(column.title)}</b>"], 13, [theme.text]))
            traces.append(_text(x, [below], [plain(column.below)], 11, [theme.muted]))
            traces.append(column.trace(grid, x))
        return [(trace, None) for trace in traces], []


@dataclass(frozen=True)
class BesideTile:
    """A column of numbers in the gap to the left of the tile with the number `tile`; its heading is not drawn."""

    column: Numbers
    tile: int
    room: int = 0

    def least_width(self, grid: Grid) -> int:
        return grid.min_width

    def draw(self, grid: Grid, theme: Theme) -> tuple[list[Traced], list[dict[str, Any]]]:
        return [(self.column.trace(grid, grid.tiles[self.tile].x0 - 0.5), None)], []


def _text(
    x: float, y: Sequence[float], texts: Sequence[str], size: int, colours: Sequence[str], **meta: str
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
