"""The words around the tiles: titles, notes, legends with their numbers, axis titles, the position numbers in between.

All words that are no axis ticks are one text trace and all colour strips one small heatmap, as single annotations and
subplots cost a browser ten times as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz.figures.labels import axis_ticks, short_number, text_width
from viz.figures.panels import (
    AXIS_LINE,
    BOTTOM,
    LEGEND_LINE,
    NOTE_LINE,
    TITLE_LINE,
    Grid,
    Tile,
    legend_number_width,
    row_ticks,
)
from viz.figures.scales import to_segment
from viz.text.plotly import plain
from viz.theme import Theme

LEGEND_STEPS = 24
LEGEND_WIDTH = 84
LEGEND_HEIGHT = 7


class Word(NamedTuple):
    """A text at (`x`, `y`) on the grid of cells; `place` is where it lies from there, as plotly's textposition."""

    x: float
    y: float
    text: str
    place: str
    size: float
    colour: str


def words(grid: Grid, theme: Theme) -> go.Scatter:
    """The texts of a figure of tiles."""
    last_row = {tile.grid_column: tile.grid_row for tile in grid.tiles}
    found = [word for tile in grid.tiles for word in _tile_words(tile, grid, theme, last_row[tile.grid_column])]
    x, y, text, place, size, colour = (list(part) for part in zip(*found, strict=True))
    return go.Scatter(
        x=x,
        y=y,
        text=text,
        mode="text",
        textposition=place,
        textfont={"size": size, "color": colour},
        hoverinfo="skip",
        showlegend=False,
        cliponaxis=False,
        meta={"texts": True},
    )


def _tile_words(tile: Tile, grid: Grid, theme: Theme, last_row: int) -> Iterator[Word]:
    left = tile.x0 - 0.5
    start, end = _legend_span(tile, grid)
    y = _legend_y(tile, grid)
    number = start - legend_number_width(grid.tiles) / grid.cell_width if grid.compact else left
    title_y = _above(tile, grid, grid.header - TITLE_LINE / 2)
    yield Word(left, title_y, f"<b>{plain(tile.panel.title)}</b>", "middle right", 14, theme.ink(tile.panel.scale))
    yield Word(number, y, short_number(tile.low), "middle right", 11, theme.muted)
    yield Word(end, y, f" {short_number(tile.high)}", "middle right", 11, theme.muted)
    if grid.compact:
        return
    if tile.note:
        note_y = _above(tile, grid, AXIS_LINE + LEGEND_LINE + NOTE_LINE / 2)
        yield Word(left, note_y, plain(tile.note), "middle right", 12, theme.muted)
    yield Word(left, _above(tile, grid, 8), f"{plain(tile.rows.title)} ", "middle left", 11, theme.muted)
    if tile.grid_column > 0:
        for i in row_ticks(tile, grid):
            yield Word(left, tile.y0 + i, f"{_number(tile.rows.ticks[i])} ", "middle left", 11, theme.muted)
    if tile.grid_row < last_row:
        bottom = tile.y0 + tile.n_rows - 0.5
        room = tile.n_columns * grid.cell_width / (text_width(str(tile.n_columns), 11) + 8)
        under = bottom + 9 / grid.cell_height
        for i in axis_ticks(tile.columns, room):
            yield Word(tile.x0 + i, under, _number(tile.columns.ticks[i]), "middle center", 11, theme.muted)
        title = plain(tile.columns.title)
        yield Word(_centre(tile), bottom + 26 / grid.cell_height, title, "middle center", 11, theme.muted)


def bottom_titles(grid: Grid, theme: Theme) -> list[dict[str, Any]]:
    """The axis titles below the last row of tiles: annotations, as they lie outside the axes."""
    bottom = {tile.grid_column: tile for tile in grid.tiles}
    return [
        {
            "text": plain(tile.columns.title),
            "x": _centre(tile),
            "y": 0,
            "yref": "paper",
            "yshift": BOTTOM - grid.bottom,
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 11, "color": theme.muted},
        }
        for tile in bottom.values()
    ]


def legend_strips(grid: Grid, segments: Sequence[int], scale: dict[str, Any]) -> go.Heatmap:
    """All panels' colour strips, from their least to their largest value, on the composite scale of the cells."""
    xs: list[float] = []
    ys: list[float] = []
    for tile in {t.grid_column: t for t in grid.tiles}.values():
        xs += np.linspace(*_legend_span(tile, grid), LEGEND_STEPS + 1).tolist()
    for tile in {t.grid_row: t for t in grid.tiles}.values():
        half = LEGEND_HEIGHT / 2 / grid.cell_height
        ys += [_legend_y(tile, grid) - half, _legend_y(tile, grid) + half]
    z = np.full((len(ys) - 1, len(xs) - 1), np.nan, np.float32)
    for tile, segment in zip(grid.tiles, segments, strict=True):
        at = tile.grid_column * (LEGEND_STEPS + 1)
        z[2 * tile.grid_row, at : at + LEGEND_STEPS] = to_segment(np.linspace(0, 1, LEGEND_STEPS), 0, 1, segment)
    return go.Heatmap(z=z, x=np.array(xs), y=np.array(ys), meta={"legend": True}, **scale)


def _legend_span(tile: Tile, grid: Grid) -> tuple[float, float]:
    """Where a tile's colour strip starts and ends, in cells: after the number of its least value."""
    start = tile.x0 - 0.5 + grid.legend_at[tile.grid_column] / grid.cell_width
    return start, start + LEGEND_WIDTH / grid.cell_width


def _legend_y(tile: Tile, grid: Grid) -> float:
    return _above(tile, grid, grid.header - TITLE_LINE / 2 if grid.compact else AXIS_LINE + LEGEND_LINE / 2)


def _above(tile: Tile, grid: Grid, pixels: float) -> float:
    """The y coordinate `pixels` above a tile's upper edge."""
    return tile.y0 - 0.5 - pixels / grid.cell_height


def _centre(tile: Tile) -> float:
    return tile.x0 + (tile.n_columns - 1) / 2


def _number(tick: str) -> str:
    """The position alone, for the labels between panels: `9` of `9 ·it`."""
    return tick.split(" ", 1)[0]
