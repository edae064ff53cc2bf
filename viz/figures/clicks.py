"""What the pointer meets: every cell's exact value in words, and the cell behind every point.

A heatmap knows nothing of its tiles, so an invisible scatter lies over the cells: mode "text" without text and
`maxdisplayed` puts not one node into the page, while all its points answer hovers and clicks. Its hover sentences take
the names of row and column from the ticks of two hidden axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz.figures.chart import Points
from viz.figures.panels import Grid, Tile

HOVER_DISTANCE, CLOSE_DISTANCE = 48, 8
"""How far from the pointer, in pixels, a point may lie that answers it: the latter where cells are small."""


def hover_layers(tile: Tile, index: int) -> Iterator[tuple[go.Scatter, Points]]:
    """The invisible points over one tile and their cells: a trace for visible cells, one for masked cells (if any).

    In a tile drawn in blocks each point lies where the block's strongest value does; its masked blocks have none.
    """
    blocks, panel = tile.blocks, tile.panel
    for masked in (False,) if blocks.reduced else (False, True):
        chosen = blocks.masked == masked
        if not chosen.any():
            continue
        rows, columns = blocks.rows[chosen], blocks.columns[chosen]
        values = None if masked else np.asarray(blocks.values)[chosen]
        data, shown = values, "%{customdata:.4~g}"
        if values is not None and panel.extra:
            further = [matrix[rows, columns] for matrix in panel.extra]
            data, shown = np.stack([values, *further], axis=1).astype(np.float32), "%{customdata[0]:.4~g}"
        sentence = panel.masked_hover if masked else panel.hover.replace("%{value}", shown)
        if blocks.reduced:
            sentence += f"<br>the strongest of {blocks.block[0]} × {blocks.block[1]}"
        told = panel.told if not masked else ()
        trace = go.Scatter(
            x=_at(tile.x0, columns, blocks.block[1]),
            y=_at(tile.y0, rows, blocks.block[0]),
            customdata=data,
            hovertext=[told[i] for i in (rows * len(panel.columns) + columns).tolist()] if told else None,
            mode="text",
            marker={"maxdisplayed": 1},
            hovertemplate=sentence + "<extra></extra>",
            showlegend=False,
            xaxis="x2",
            yaxis="y2",
            meta={"panel": index, "masked": masked},
        )
        yield trace, Points(index, panel.title, rows, columns, values)


def _at(start: int, indices: np.ndarray, block: int) -> np.ndarray:
    """Where indices of a matrix lie on the grid of cells, each cell a block; in as few bytes as the numbers fit:
    they are most of what a large figure sends."""
    if block > 1:
        return (start + (indices + 0.5) / block - 0.5).astype(np.float32)
    places = start + indices
    return places.astype(np.uint8 if places.max() < 256 else np.int16)


def hidden_axes(grid: Grid) -> dict[str, dict[str, Any]]:
    """The two axes that name every row and column for the hover sentences, without showing anything."""
    across: dict[float, str] = {}
    down: dict[float, str] = {}
    for tile in grid.tiles:
        sides = (
            (tile.x0, tile.panel.columns, tile.blocks.block[1], across),
            (tile.y0, tile.panel.rows, tile.blocks.block[0], down),
        )
        for start, axis, block, names in sides:
            for at, name in zip(_at(start, np.arange(len(axis)), block).tolist(), axis.names, strict=True):
                if names.setdefault(round(at, 4), name) != name:
                    raise ValueError(f"panels in one line must share their labels: {names[round(at, 4)]} and {name}")
    shared = {"showticklabels": False, "ticks": "", "showgrid": False, "zeroline": False, "showline": False}
    axes = (("x", across, grid.across), ("y", down, grid.down))
    return {
        f"{letter}axis2": {
            "overlaying": letter,
            "matches": letter,
            "range": span,
            "tickvals": list(names),
            "ticktext": list(names.values()),
            **shared,
        }
        for letter, names, span in axes
    }
