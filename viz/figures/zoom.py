"""The cells around one cell of a large figure, one by one, where the whole is drawn in blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import plotly.graph_objects as go

from viz.figures.clicks import Cell
from viz.figures.labels import Axis
from viz.figures.panels import Panel
from viz.figures.tiles import parts_of

ZOOM_CELLS = 40
"""So many cells a side are shown."""


@dataclass(frozen=True)
class Part:
    """A part of a figure's matrices; its first row and column are the `row`th and `column`th (from 0) of the whole."""

    figure: go.Figure
    row: int
    column: int

    def whole(self, cell: Cell) -> Cell:
        """A cell of the part as a cell of the whole."""
        return replace(cell, row=cell.row + self.row, column=cell.column + self.column)


def is_reduced(figure: go.Figure) -> bool:
    """Whether a figure of tiles shows any of its matrices in blocks."""
    return any(tuple(tile["block"]) != (1, 1) for tile in figure.layout.meta["tiles"])


def zoomed(figure: go.Figure, cell: Cell) -> Part:
    """The cells around `cell` in every matrix of a figure made by `tile_figure`, each with its exact value."""
    panels, draw = parts_of(figure)
    rows, columns = (
        _around(at, max(len(getattr(panel, side)) for panel in panels))
        for at, side in ((cell.row, "rows"), (cell.column, "columns"))
    )
    return Part(draw([_cut(panel, rows, columns) for panel in panels]), rows.start, columns.start)


def _around(at: int, n: int) -> range:
    start = max(0, min(at - ZOOM_CELLS // 2, n - ZOOM_CELLS))
    return range(start, min(start + ZOOM_CELLS, n))


def _cut(panel: Panel, rows: range, columns: range) -> Panel:
    """The panel's part; its range of colours stays that of the whole."""
    down, across = (slice(part.start, part.stop) for part in (rows, columns))
    return replace(
        panel,
        values=panel.values[down, across],
        masked=None if panel.masked is None else panel.masked[down, across],
        rows=_cut_axis(panel.rows, down),
        columns=_cut_axis(panel.columns, across),
        note=f"rows {rows.start + 1}–{rows.stop}, columns {columns.start + 1}–{columns.stop}",
    )


def _cut_axis(axis: Axis, part: slice) -> Axis:
    return replace(axis, ticks=axis.ticks[part], names=axis.names[part], first=axis.first + part.start)
