"""What every figure function returns: the figure itself, its exact numbers, and where its matrices lie in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from viz.figures.data import Table
from viz.figures.panels import Grid, Panel


@dataclass(frozen=True)
class Cell:
    """A cell of a chart: its panel's number and title, its row and column (from 0) in the panel's matrix.

    A masked cell has no value.
    """

    panel: int
    title: str
    row: int
    column: int
    masked: bool
    value: float | None


@dataclass(frozen=True)
class Points:
    """The cells that the points of one trace stand for. `values` is None for masked cells."""

    panel: int
    title: str
    rows: Int[np.ndarray, " point"]
    columns: Int[np.ndarray, " point"]
    values: Float[np.ndarray, " point"] | None

    def cell(self, point: int) -> Cell:
        value = None if self.values is None else float(self.values[point])
        row, column = int(self.rows[point]), int(self.columns[point])
        return Cell(self.panel, self.title, row, column, self.values is None, value)


@dataclass(frozen=True)
class Chart:
    """A figure and what belongs to it; only the figure is sent to the browser.

    `table` builds the chart's exact numbers when somebody saves them. `min_width` is the least width in pixels at
    which the figure stays readable. A chart of matrices also has the `grid` they lie on, the cells behind its points,
    by the number of the trace, and a function that draws other panels in the same way.
    """

    figure: go.Figure
    table: Callable[[], Table]
    min_width: int
    grid: Grid | None = None
    points: Mapping[int, Points] = field(default_factory=dict)
    alike: Callable[[Sequence[Panel]], Chart] | None = None

    def cell_at(self, curve: int, point: int) -> Cell | None:
        """The cell behind a clicked point; None if no cell of this chart is there, as after a late click."""
        points = self.points.get(curve)
        return points.cell(point) if points is not None and 0 <= point < len(points.rows) else None

    @property
    def is_reduced(self) -> bool:
        """Whether any matrix is drawn in blocks instead of cell by cell."""
        return self.grid is not None and any(tile.blocks.reduced for tile in self.grid.tiles)
