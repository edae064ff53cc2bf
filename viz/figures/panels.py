"""What a tile shows (`Panel`) and where it goes (`arrange`): all tiles lie on one grid of unit cells.

Down the page a cell has an exact height in pixels, so there is exact room for titles and labels. Across, the figure
stretches with the page: `width` is the width at which cells are square, `Grid.min_width` the least that stays readable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Num

from viz.figures.blocks import (
    CROWDED_CELLS,
    MAX_CELLS,
    REDUCED_CELLS,
    WHOLE_CELLS,
    Blocks,
    block_axis,
    block_note,
    short_block_note,
    to_blocks,
)
from viz.figures.frames import Span
from viz.figures.labels import Axis, axis_ticks, short_number, text_width
from viz.figures.scales import value_range

MAX_CELL = 44
MAX_PANEL = 460
TICK_SPACING = 14
SHORT_TICK = 30
TITLE_LINE, NOTE_LINE, LEGEND_LINE, AXIS_LINE = 20, 17, 22, 17
RIGHT, TOP, BOTTOM = 12, 6, 4
ROW_WIDTH = 1080
"""The page width in pixels that a row of panels is laid out for by default."""


@dataclass(frozen=True)
class Panel:
    """One matrix to draw as a tile: `values` (rows, columns) on a theme's `scale`.

    `masked` (rows, columns) marks the hidden cells; values that are not finite count as masked too. `hover` and
    `masked_hover` are sentences: %{y} and %{x} stand for the row's and the column's name, %{value} for the value,
    %{hovertext} for the cell's text in `told` (row by row), %{customdata[i]} for its ith number in `extra`, from 1 on.
    `outlines` are boxes drawn around cells: where they start and end across and down, in cells of the matrix.
    Tables call the panel `name`, by default its title.
    """

    values: Float[np.ndarray, "rows columns"]
    title: str
    scale: str
    rows: Axis
    columns: Axis
    note: str = ""
    zmin: float | None = None
    zmax: float | None = None
    masked: Bool[np.ndarray, "rows columns"] | None = None
    masked_text: str = "masked"
    hover: str = "%{y}, %{x}: %{value}"
    masked_hover: str = "masked: %{y}, %{x}"
    told: Sequence[str] = ()
    extra: Sequence[Num[np.ndarray, "rows columns"]] = ()
    outlines: Sequence[tuple[Span, Span]] = ()
    name: str = ""

    def __post_init__(self) -> None:
        shape = (len(self.rows), len(self.columns))
        if self.values.shape != shape or 0 in shape:
            raise ValueError(f"panel {self.title!r}: values {self.values.shape}, labels for {shape}; at least one cell")
        if self.masked is not None and self.masked.shape != shape:
            raise ValueError(f"panel {self.title!r}: mask {self.masked.shape}, values {shape}")


@dataclass(frozen=True)
class Tile:
    """A panel in its place: its cells start at (`x0`, `y0`) on the grid of unit cells."""

    panel: Panel
    blocks: Blocks
    rows: Axis
    columns: Axis
    low: float
    high: float
    x0: int
    y0: int
    grid_row: int
    grid_column: int
    note: str

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def n_columns(self) -> int:
        return len(self.columns)


@dataclass(frozen=True)
class Grid:
    """Where everything lies: tiles, cell size in pixels at the nominal width, ranges, margins and the least width.

    `header` is the space in pixels above each tile, `legend_at` how far from a tile's left edge its colour strip
    starts, for each grid column. A compact grid has title and legend on one line and ticks under its last row only.
    """

    tiles: tuple[Tile, ...]
    cell_width: float
    cell_height: float
    n_columns: int
    n_rows: int
    header: float
    left: float
    bottom: float
    rotated: bool
    compact: bool
    legend_at: tuple[float, ...]
    min_width: int
    beside: int = 0
    """Room in pixels to the right of the tiles."""

    @property
    def height(self) -> int:
        return round((self.n_rows * self.cell_height) + self.header + TOP + self.bottom)

    @property
    def across(self) -> tuple[float, float]:
        """The range of the axis across, in cells."""
        return -0.5, self.n_columns - 0.5 + self.beside / self.cell_width

    @property
    def down(self) -> tuple[float, float]:
        """The range of the axis down, in cells: row 0 is at the top."""
        return self.n_rows - 0.5, -0.5 - self.header / self.cell_height

    @property
    def row_height(self) -> float:
        """The exact height of a row in pixels; the figure's own height is a whole number."""
        bottom, top = self.down
        return (self.height - TOP - self.bottom) / (bottom - top)

    def rows(self, first: int = 0) -> Rows:
        """Where the rows of the upper tiles lie, from the query at `first` on."""
        tile = self.tiles[0]
        edge = TOP + (tile.y0 - 0.5 - self.down[1]) * self.row_height
        return Rows(edge, self.row_height, tile.blocks.block[0], first, tile.n_rows)


@dataclass(frozen=True)
class Rows:
    """Where the rows of a figure's matrices lie, in pixels from its upper edge; each stands for `block` queries.

    There are `n` rows. The first is, or starts with, the query at `first` (from 0).
    """

    top: float
    height: float
    block: int
    first: int
    n: int

    def edge(self, query: int) -> float | None:
        """The upper edge of the row of `query`; None if it has none."""
        row = (query - self.first) // self.block
        return self.top + row * self.height if 0 <= row < self.n else None


def arrange(
    panels: Sequence[Panel],
    *,
    columns: int | None = None,
    width: int = ROW_WIDTH,
    cell_height: float | None = None,
    compact: bool = False,
) -> Grid:
    """Places panels in rows of `columns` tiles (by default all in one row); tiles above each other share labels."""
    if not panels:
        raise ValueError("no panels to draw; at least one is needed")
    across = max(1, min(columns or len(panels), len(panels)))
    reduced = REDUCED_CELLS if len(panels) <= 3 else CROWDED_CELLS
    whole = [MAX_CELLS if min(panel.values.shape) <= WHOLE_CELLS else WHOLE_CELLS for panel in panels]
    blocks = [
        to_blocks(panel.values, panel.masked, max_cells=most, reduced_cells=min(most, reduced))
        for panel, most in zip(panels, whole, strict=True)
    ]
    sides = [
        (block_axis(panel.rows, b.block[0]), block_axis(panel.columns, b.block[1]))
        for panel, b in zip(panels, blocks, strict=True)
    ]
    wide = [max(len(side[1]) for side in sides[g::across]) for g in range(across)]
    high = [max(len(side[0]) for side in sides[start : start + across]) for start in range(0, len(panels), across)]

    left = 4.0 if compact else max(_row_label_width(rows) for rows, _ in sides[::across]) + 12
    gutters = [0.0] + [24.0 if compact else _gutter(sides[g::across]) for g in range(1, across)]
    titles = [max(_title_width(panel, compact) for panel in panels[g::across]) for g in range(across)]
    room = width - left - RIGHT - sum(gutters)
    cell = max(0.5, min(MAX_CELL, room / sum(wide), math.inf if compact else MAX_PANEL / max(wide)))
    gutter_cells = [math.ceil(gutter / cell) if gutter else 0 for gutter in gutters]
    pitch = [max(n, math.ceil(title / cell)) for n, title in zip(wide, titles, strict=True)]
    starts, x = [], 0
    for gutter_columns, columns_here in zip(gutter_cells, pitch, strict=True):
        starts.append(x + gutter_columns)
        x += gutter_columns + columns_here
    n_columns = max(x, int((width - left - RIGHT) / cell))
    cell = (width - left - RIGHT) / n_columns

    tall = cell_height if cell_height is not None else min(cell, MAX_CELL)
    tall = max(0.5, min(tall, MAX_PANEL / max(high)))
    header: float = TITLE_LINE + (4 if compact else AXIS_LINE + LEGEND_LINE)
    header += NOTE_LINE if not compact and any(p.note or b.reduced for p, b in zip(panels, blocks, strict=True)) else 0
    between = math.ceil((header + (12 if compact else 2 * AXIS_LINE + 14)) / tall)
    rows_at, y = [], 0
    for i, rows_here in enumerate(high):
        rows_at.append(y)
        y += rows_here + (between if i < len(high) - 1 else 0)

    longest = max(text_width(tick) for g in range(across) for tick in sides[g::across][-1][1].ticks)
    rotated = longest > SHORT_TICK and longest + 6 > cell
    bottom = BOTTOM + AXIS_LINE + ((longest + 10) if rotated else 20)
    tiles = tuple(
        Tile(
            panel,
            b,
            rows,
            cols,
            *value_range(np.where(b.masked, np.nan, b.values), panel.scale, panel.zmin, panel.zmax),
            starts[i % across],
            rows_at[i // across],
            i // across,
            i % across,
            _tile_note(panel.note, b.block, pitch[i % across] * cell),
        )
        for i, (panel, b, (rows, cols)) in enumerate(zip(panels, blocks, sides, strict=True))
    )
    legend_at = tuple(_legend_start(tiles[g::across], compact) for g in range(across))
    needed = [cell * 0.62, *(0.75 * g / c for g, c in zip(gutters, gutter_cells, strict=True) if c)]
    needed += [0.85 * title / p for title, p in zip(titles, pitch, strict=True)] if across > 1 else []
    least = math.ceil(left + RIGHT + n_columns * min(cell, max(needed)))
    return Grid(tiles, cell, tall, n_columns, y, header, left, bottom, rotated, compact, legend_at, least)


def _tile_note(note: str, block: tuple[int, int], room: float) -> str:
    """A panel's note and what its cells show; in few words where the tile and the gap beside it have no more room."""
    notes = [", ".join(filter(None, (note, words(block)))) for words in (block_note, short_block_note)]
    return next((text for text in notes if text_width(text) <= room), short_block_note(block) or note)


def column_ticks(tile: Tile, grid: Grid) -> list[int]:
    """Column indices that get a tick at the nominal width, with room to spare for a narrower one."""
    span = tile.n_columns * grid.cell_width * (0.8 if tile.n_columns > 24 else 1.0)
    longest = max(text_width(tick) for tick in tile.columns.ticks)
    return axis_ticks(tile.columns, span / (TICK_SPACING if grid.rotated else longest + 6))


def row_ticks(tile: Tile, grid: Grid) -> list[int]:
    """Row indices that get a tick."""
    return axis_ticks(tile.rows, tile.n_rows * grid.cell_height / TICK_SPACING)


def legend_number_width(tiles: Sequence[Tile]) -> float:
    """The room for the number left of a colour strip, the same for all these tiles."""
    return max(text_width(short_number(tile.low), 11) for tile in tiles) + 10


def _legend_start(tiles: Sequence[Tile], compact: bool) -> float:
    titles = max(text_width(tile.panel.title, 14) for tile in tiles) + 18 if compact else 0.0
    return titles + legend_number_width(tiles)


def _row_label_width(axis: Axis) -> float:
    return max(*(text_width(tick) for tick in axis.ticks), text_width(axis.title, 11))


def _gutter(sides: Sequence[tuple[Axis, Axis]]) -> float:
    return max(max(text_width(rows.title), text_width(str(len(rows) + 1))) for rows, _ in sides) + 20


def _title_width(panel: Panel, compact: bool) -> float:
    title = text_width(panel.title, 15)
    return title + 200 if compact else max(title + 4, 160, min(220, text_width(panel.note)))
