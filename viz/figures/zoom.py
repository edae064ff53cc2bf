"""The cells around one cell of a large figure, one by one, where the whole is drawn in blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from viz.figures.chart import Cell, Chart
from viz.figures.labels import Axis, part_of
from viz.figures.panels import Panel, Rows

ZOOM_CELLS = 40
"""So many cells a side are shown."""


@dataclass(frozen=True)
class Part:
    """A part of a chart's matrices; its first row and column are the `row`th and `column`th (from 0) of the whole."""

    chart: Chart
    row: int = 0
    column: int = 0

    @property
    def rows(self) -> Rows | None:
        """Where the rows of the part's matrices lie."""
        return None if self.chart.grid is None else self.chart.grid.rows(self.row)

    def whole(self, cell: Cell) -> Cell:
        """A cell of the part as a cell of the whole."""
        return replace(cell, row=cell.row + self.row, column=cell.column + self.column)


def zoomed(chart: Chart, cell: Cell) -> Part:
    """The cells around `cell` in every matrix of `chart`, each with its exact value.

    A chart that has no matrices is a ValueError.
    """
    if chart.grid is None or chart.alike is None:
        raise ValueError("only a chart of matrices has parts")
    panels = [replace(tile.panel, zmin=tile.low, zmax=tile.high) for tile in chart.grid.tiles]
    rows, columns = (
        _around(at, max(len(getattr(panel, side)) for panel in panels))
        for at, side in ((cell.row, "rows"), (cell.column, "columns"))
    )
    return Part(chart.alike([_cut(panel, rows, columns) for panel in panels]), rows.start, columns.start)


def _around(at: int, n: int) -> range:
    start = max(0, min(at - ZOOM_CELLS // 2, n - ZOOM_CELLS))
    return range(start, min(start + ZOOM_CELLS, n))


def _cut(panel: Panel, rows: range, columns: range) -> Panel:
    """The panel's part. Its colours keep the range of the whole; texts and outlines of single cells are left out."""
    down, across = (slice(part.start, part.stop) for part in (rows, columns))
    return replace(
        panel,
        values=panel.values[down, across],
        masked=None if panel.masked is None else panel.masked[down, across],
        rows=_cut_axis(panel.rows, rows),
        columns=_cut_axis(panel.columns, columns),
        note=f"rows {rows.start + 1}–{rows.stop}, columns {columns.start + 1}–{columns.stop}",
        told=(),
        extra=[matrix[down, across] for matrix in panel.extra],
        outlines=(),
    )


def _cut_axis(axis: Axis, part: range) -> Axis:
    return replace(part_of(axis, range(len(axis))[part.start : part.stop]), first=axis.first + part.start)
