"""What the pointer meets: every cell's exact value in words, and the way back from a click to its cell.

A heatmap knows nothing of its tiles, so an invisible scatter lies over the cells: mode "text" without text and
`maxdisplayed` puts not one node into the page, while all its points answer hovers and clicks. Its hover sentences take
the names of row and column from the ticks of two hidden axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz.figures.panels import Grid, Tile

SHOWN_VALUE = "%{customdata:.4~g}"
HOVER_DISTANCE, CLOSE_DISTANCE = 48, 8
"""How far from the pointer, in pixels, a point may lie that answers it: the latter where cells are small."""


@dataclass(frozen=True)
class Cell:
    """A cell of a figure: the panel's number and title, row and column (from 0) in its matrix; no value if masked."""

    panel: int
    title: str
    row: int
    column: int
    masked: bool
    value: float | None


def hover_layers(tile: Tile, index: int) -> list[go.Scatter]:
    """The invisible points over one tile: one trace for its visible cells, one for its masked cells (if any).

    In a tile drawn in blocks each point lies where the block's strongest value does; its masked blocks have none.
    """
    blocks, layers = tile.blocks, []
    for masked in (False,) if blocks.reduced else (False, True):
        chosen = blocks.masked == masked
        if not chosen.any():
            continue
        sentence = tile.panel.masked_hover if masked else tile.panel.hover.replace("%{value}", SHOWN_VALUE)
        if blocks.reduced:
            sentence += f"<br>the strongest of {blocks.block[0]} × {blocks.block[1]}"
        layers.append(
            go.Scatter(
                x=_at(tile.x0, blocks.columns[chosen], blocks.block[1]),
                y=_at(tile.y0, blocks.rows[chosen], blocks.block[0]),
                customdata=None if masked else np.asarray(blocks.values)[chosen],
                mode="text",
                marker={"maxdisplayed": 1},
                hovertemplate=sentence + "<extra></extra>",
                showlegend=False,
                xaxis="x2",
                yaxis="y2",
                meta={"panel": index, "masked": masked},
            )
        )
    return layers


def _at(start: int, indices: np.ndarray, block: int) -> np.ndarray:
    """Where indices of a matrix lie on the grid of cells, each cell a block; in as few bytes as the numbers fit:
    they are most of what a large figure sends."""
    if block > 1:
        return (start + (indices + 0.5) / block - 0.5).astype(np.float32)
    places = start + indices
    return places.astype(np.uint8 if places.max() < 256 else np.int16)


def hidden_axes(grid: Grid, ranges: tuple[list[float], list[float]]) -> dict[str, dict[str, Any]]:
    """The two axes that name every row and column for the hover sentences, without showing anything.

    `ranges` are those of the two visible axes, across and down.
    """
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
    axes = (("x", across, ranges[0]), ("y", down, ranges[1]))
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


def cell_at(figure: go.Figure, curve_number: int, point_index: int) -> Cell | None:
    """The cell under a clicked point; None where the numbers belong to no cell of this figure (a late event)."""
    if not 0 <= curve_number < len(figure.data):
        return None
    trace = figure.data[curve_number]
    meta = trace.meta if isinstance(trace.meta, Mapping) else {}
    if "panel" not in meta or not 0 <= point_index < len(trace.x):
        return None
    tile = figure.layout.meta["tiles"][meta["panel"]]
    masked = bool(meta["masked"])
    row, column = (
        round((float(place) - tile[start] + 0.5) * block - 0.5)
        for place, start, block in zip(
            (trace.y[point_index], trace.x[point_index]), ("y0", "x0"), tile["block"], strict=True
        )
    )
    value = None if masked else float(trace.customdata[point_index])
    return Cell(meta["panel"], tile["title"], row, column, masked, value)
