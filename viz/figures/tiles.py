"""The central primitive: many panels as tiles of ONE heatmap trace, with gaps between them; never subplots.

Each panel has its title, its colour scale with the range in numbers, its axis titles and labels, and a hatched area
where it is masked. Panels on different scales share the trace through `scales.composite_scale`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
import plotly.graph_objects as go

from viz.figures.captions import bottom_titles, legend_strips, words
from viz.figures.chart import Chart, Points
from viz.figures.clicks import CLOSE_DISTANCE, HOVER_DISTANCE, hidden_axes, hover_layers
from viz.figures.data import Table, panels_table
from viz.figures.frames import frame
from viz.figures.labels import cell_number, text_width
from viz.figures.look import CLEAR, base_layout
from viz.figures.panels import RIGHT, ROW_WIDTH, TOP, Grid, Panel, arrange, column_ticks, row_ticks
from viz.figures.scales import composite_scale, to_segment
from viz.theme import Theme, colour_at, ink_on

FRAMED_CELLS = 40
"""Up to this many cells along a side, thin lines separate the cells."""
EXACT_COLOURS = 20_000
"""Up to this many cells colours travel as float32; of more as integers of two bytes, finer than any screen."""
COLOUR_STEPS = 32_000
NUMBER_ROOM, NUMBER_SIZES = 38, (8, 11)
"""The width in pixels that a cell has for its number at most, and the least and the largest size of its digits."""


@runtime_checkable
class Beside(Protocol):
    """Something drawn in the room to the right of the tiles, or over them: columns of numbers, bars."""

    @property
    def room(self) -> int:
        """The room in pixels that it asks for."""
        ...

    def least_width(self, grid: Grid) -> int:
        """The figure's least width in pixels, given the tiles alone."""
        ...

    def draw(self, grid: Grid, theme: Theme) -> tuple[list[Traced], list[dict[str, Any]]]:
        """Its traces and its shapes."""
        ...


Traced = tuple[go.Scatter | go.Heatmap, Points | None]
"""A trace and, if its points answer a click, the cells they stand for."""


def tile_figure(
    panels: Sequence[Panel],
    *,
    theme: Theme,
    columns: int | None = None,
    width: int = ROW_WIDTH,
    cell_height: float | None = None,
    numbers: bool = False,
    compact: bool = False,
    framed: bool | None = None,
    click: bool = True,
    min_width: int | None = None,
    beside: Beside | None = None,
    table: Callable[[], Table] | None = None,
) -> Chart:
    """Panels in rows of `columns` tiles; `numbers` writes each value into its cell, `click` lets cells be chosen.

    `framed` draws thin lines between the cells (by default where they are few), `compact` saves height: title and
    legend on one line, no row labels. `width` is the page width in pixels at which cells are square. Below the chart's
    least width, which `min_width` overrides, stack the panels (`columns=1`) or let them scroll. `beside` is drawn to
    the right of the tiles. `table` is by default every cell of every panel.
    """
    room = 0 if beside is None else beside.room
    grid = arrange(panels, columns=columns, width=width - room, cell_height=cell_height, compact=compact)
    least = grid.min_width if beside is None else beside.least_width(grid)
    grid = replace(grid, beside=room)
    names = list(dict.fromkeys(tile.panel.scale for tile in grid.tiles))
    segments = [names.index(tile.panel.scale) for tile in grid.tiles]
    stops, top = composite_scale(names, theme)
    largest = max(max(tile.n_rows, tile.n_columns) for tile in grid.tiles)
    gap = int(framed if framed is not None else largest <= FRAMED_CELLS)
    shared = {"colorscale": stops, "zmin": 0.0, "zmax": top, "showscale": False, "hoverinfo": "skip"}
    z, text = _heights(grid, segments, top - 1, numbers)
    gaps = {"xgap": gap, "ygap": gap, "text": text} if text else {"xgap": gap, "ygap": gap}
    cells: dict[str, Any] = {"z": z, "x0": 0, "dx": 1, "y0": 0, "dy": 1, **gaps, "meta": {"cells": True}}
    coloured = shared if numbers or z.size <= EXACT_COLOURS else shared | _in_few_bytes(cells, stops, top)
    hatch = _hatching(grid, theme)
    traces: list[Traced] = [(go.Heatmap(**cells, **coloured), None), (legend_strips(grid, segments, shared), None)]
    traces += [(hatch, None)] if hatch is not None else []
    traces.append((words(grid, theme), None))
    traces += [(_numbers(grid, text, theme), None)] if text else []
    for i, tile in enumerate(grid.tiles):
        traces += hover_layers(tile, i) if click else []
    layout = _layout(grid, theme, gap) | (hidden_axes(grid) if click else {})
    if beside is not None:
        added, shapes = beside.draw(grid, theme)
        traces += added
        layout["shapes"] += shapes
    return Chart(
        go.Figure([trace for trace, _ in traces], layout),
        table or (lambda: panels_table(panels)),
        min_width or least,
        grid,
        {i: points for i, (_, points) in enumerate(traces) if points is not None},
        partial(tile_figure, theme=theme, columns=columns, width=width - room),
    )


def _in_few_bytes(cells: dict[str, Any], stops: Sequence[Sequence[float | str]], top: float) -> dict[str, Any]:
    """Makes the heights integers up to `COLOUR_STEPS`; their colour scale. An integer has no NaN, so the gaps between
    tiles get the scale's clear end."""
    share = top / (top + 1)
    heights = np.asarray(cells["z"])
    gaps = np.isnan(heights)
    steps = np.rint(np.where(gaps, top + 1, heights) * (COLOUR_STEPS / (top + 1)))
    cells["z"] = steps.astype(np.int16)
    scale = [*([float(at) * share, colour] for at, colour in stops), [share + 0.5 / (top + 1), CLEAR], [1.0, CLEAR]]
    return {"colorscale": scale, "zmax": COLOUR_STEPS}


def _heights(
    grid: Grid, segments: Sequence[int], masked_height: float, numbers: bool
) -> tuple[np.ndarray, list[list[str]] | None]:
    """The one heatmap's heights (float32, NaN between tiles) and, if wanted, the text in each cell."""
    last = max(tile.x0 + tile.n_columns for tile in grid.tiles)
    z = np.full((grid.n_rows, last), np.nan, np.float32)
    text = [[""] * last for _ in range(grid.n_rows)] if numbers else None
    for tile, segment in zip(grid.tiles, segments, strict=True):
        b = tile.blocks
        heights = to_segment(np.where(b.masked, tile.low, b.values), tile.low, tile.high, segment)
        z[tile.y0 : tile.y0 + tile.n_rows, tile.x0 : tile.x0 + tile.n_columns] = np.where(
            b.masked, masked_height, heights
        )
        if text is not None:
            for r, c in np.ndindex(b.values.shape):
                shown = tile.panel.masked_text if b.masked[r, c] else cell_number(float(b.values[r, c]))
                text[tile.y0 + r][tile.x0 + c] = shown
    return z, text


def _numbers(grid: Grid, text: list[list[str]], theme: Theme) -> go.Scatter:
    """The text of each cell, in black or white as its colour asks for; plotly's own would be dark grey on grey."""
    xs, ys, texts, colours = list[int](), list[int](), list[str](), list[str]()
    for tile in grid.tiles:
        scale, span = theme.scales[tile.panel.scale], (tile.high - tile.low) or 1.0
        for r, c in np.ndindex(tile.blocks.values.shape):
            xs.append(tile.x0 + c)
            ys.append(tile.y0 + r)
            texts.append(text[tile.y0 + r][tile.x0 + c])
            share = 0.0 if tile.blocks.masked[r, c] else (float(tile.blocks.values[r, c]) - tile.low) / span
            ground = theme.masked if tile.blocks.masked[r, c] else colour_at(scale, min(max(share, 0.0), 1.0))
            colours.append(ink_on(ground))
    room = min(NUMBER_ROOM, grid.cell_width - 3)
    fitting = int(room / max(text_width(shown, 1) for shown in texts))
    size = min(max(fitting, NUMBER_SIZES[0]), NUMBER_SIZES[1])
    return go.Scatter(
        x=xs,
        y=ys,
        text=texts,
        mode="text",
        textfont={"size": size, "color": colours},
        hoverinfo="skip",
        showlegend=False,
        meta={"in_cells": True},
    )


def _hatching(grid: Grid, theme: Theme) -> go.Scatter | None:
    """One hatched trace over all masked cells."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for tile in grid.tiles:
        for right, left in _outlines(tile.blocks.masked):
            outline = right + left[::-1]
            xs += [*(tile.x0 + x - 0.5 for x, _ in outline), None]
            ys += [*(tile.y0 + y - 0.5 for _, y in outline), None]
    if not xs:
        return None
    return go.Scatter(
        x=xs,
        y=ys,
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillpattern={"shape": "/", "size": 5, "solidity": 0.12, "fgcolor": theme.masked_ink, "bgcolor": CLEAR},
        hoverinfo="skip",
        showlegend=False,
        meta={"hatching": True},
    )


def _outlines(masked: np.ndarray) -> list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
    """The masked cells' outlines, each as its right side and its left side from top to bottom, in cell edges.

    Rows with one run each that end in the same column are joined (the triangle of the causal mask is one outline).
    """
    found: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]] = []
    joinable = False
    for row, cells in enumerate(masked):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], cells.astype(np.int8), [0]]))).reshape(-1, 2).tolist()
        single = len(edges) == 1
        if single and joinable and found[-1][0][-1] == (edges[0][1], row):
            found[-1][0][-1] = (edges[0][1], row + 1)
            found[-1][1].extend([(edges[0][0], row), (edges[0][0], row + 1)])
        else:
            found += [([(end, row), (end, row + 1)], [(start, row), (start, row + 1)]) for start, end in edges]
        joinable = single
    return found


def _layout(grid: Grid, theme: Theme, gap: int) -> dict[str, Any]:
    """Axes, ticks, frames and sizes."""
    bottom_tiles = {tile.grid_column: tile for tile in grid.tiles}
    left_tiles = [tile for tile in grid.tiles if tile.grid_column == 0]
    across = [(tile.x0 + i, tile.columns.ticks[i]) for tile in bottom_tiles.values() for i in column_ticks(tile, grid)]
    down = [] if grid.compact else [(t.y0 + i, t.rows.ticks[i]) for t in left_tiles for i in row_ticks(t, grid)]
    axis = {
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "tickfont": {"size": 12, "color": theme.text},
    }
    return base_layout(theme, zooms=len(grid.tiles) == 1) | {
        "height": grid.height,
        "margin": {"l": grid.left, "r": RIGHT, "t": TOP, "b": grid.bottom, "pad": 0},
        "hoverdistance": CLOSE_DISTANCE if any(tile.blocks.reduced for tile in grid.tiles) else HOVER_DISTANCE,
        "xaxis": {
            "range": grid.across,
            "tickvals": [at for at, _ in across],
            "ticktext": [tick for _, tick in across],
            "tickangle": -90 if grid.rotated else 0,
            **axis,
        },
        "yaxis": {
            "range": grid.down,
            "tickvals": [at for at, _ in down],
            "ticktext": [tick for _, tick in down],
            **axis,
        },
        "shapes": [*_frames(grid, theme, gap), *_outlined(grid, theme)],
        "annotations": bottom_titles(grid, theme),
    }


def _frames(grid: Grid, theme: Theme, gap: int) -> Iterator[dict[str, Any]]:
    """A frame around each tile."""
    for tile in grid.tiles:
        yield frame(
            (tile.x0 - 0.5, tile.x0 + tile.n_columns - 0.5),
            (tile.y0 - 0.5, tile.y0 + tile.n_rows - 0.5),
            line=theme.frame,
            fill=theme.frame if gap else CLEAR,
        )


def _outlined(grid: Grid, theme: Theme) -> Iterator[dict[str, Any]]:
    """The panels' outlines: in a tile drawn in blocks, around the same part of it."""
    for tile in grid.tiles:
        high, wide = tile.blocks.block
        for (left, right), (top, bottom) in tile.panel.outlines:
            x, y = tile.x0 - 0.5, tile.y0 - 0.5
            across, down = (x + left / wide, x + right / wide), (y + top / high, y + bottom / high)
            yield frame(across, down, line=theme.text, width=2, layer="above")
