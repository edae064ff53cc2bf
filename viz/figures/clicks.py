"""What the pointer meets: every cell's exact value in words, and the way back from a click to its cell.

A click on a heatmap cell sends no selection event to Streamlit, a click on a scatter point does. So an invisible
scatter lies over the cells: mode "text" without text and `maxdisplayed` puts not one node into the page, while all its
points answer hovers and clicks. Its hover sentences take the names of row and column from the ticks of two hidden axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz.figures.panels import Grid, Tile

SHOWN_VALUE = "%{customdata:.4~g}"
HOVER_DISTANCE = 48


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
    """The invisible points over one tile: one trace for its visible cells, one for its masked cells (if any)."""
    places = np.indices(tile.blocks.values.shape)
    layers = []
    for masked in (False, True):
        chosen = tile.blocks.masked == masked
        if not chosen.any():
            continue
        values = np.asarray(tile.blocks.values)[chosen]
        data: Any = values
        sentence = tile.panel.masked_hover if masked else tile.panel.hover.replace("%{value}", SHOWN_VALUE)
        if tile.blocks.reduced:
            where = (tile.blocks.rows[chosen], tile.blocks.columns[chosen])
            first = (tile.panel.rows.first, tile.panel.columns.first)
            shown = np.zeros_like(values) if masked else values
            data = np.stack([shown, where[0] + first[0], where[1] + first[1]], axis=1).astype(
                np.result_type(values, np.float32)
            )
            sentence = sentence.replace("%{customdata:", "%{customdata[0]:")
            if not masked:
                names = (tile.panel.rows.title, tile.panel.columns.title)
                sentence += f"<br>the strongest here: {names[0]} %{{customdata[1]}}, {names[1]} %{{customdata[2]}}"
        elif masked:
            data = None
        layers.append(
            go.Scatter(
                x=_small(places[1][chosen] + tile.x0),
                y=_small(places[0][chosen] + tile.y0),
                customdata=data,
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


def _small(numbers: np.ndarray) -> np.ndarray:
    """Coordinates in as few bytes as they fit: they are most of what a large figure sends."""
    return numbers.astype(np.uint8 if numbers.max() < 256 else np.int16)


def hidden_axes(grid: Grid, ranges: tuple[list[float], list[float]]) -> dict[str, dict[str, Any]]:
    """The two axes that name every row and column for the hover sentences, without showing anything.

    `ranges` are those of the two visible axes, across and down.
    """
    across: dict[int, str] = {}
    down: dict[int, str] = {}
    for tile in grid.tiles:
        for start, axis, names in ((tile.x0, tile.columns, across), (tile.y0, tile.rows, down)):
            for i, name in enumerate(axis.names):
                if names.setdefault(start + i, name) != name:
                    raise ValueError(f"panels in one line must share their labels: {names[start + i]} and {name}")
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
    row, column = int(trace.y[point_index]) - tile["y0"], int(trace.x[point_index]) - tile["x0"]
    value = None
    if trace.customdata is not None:
        data = np.asarray(trace.customdata[point_index]).reshape(-1)
        value = float(data[0])
        if len(data) == 3:
            row, column = int(data[1]) - tile["first"][0], int(data[2]) - tile["first"][1]
    return Cell(meta["panel"], tile["title"], row, column, masked, None if masked else value)


def clicked_cell(figure: go.Figure, event: Any) -> Cell | None:
    """The clicked cell in what `st.plotly_chart(figure, on_select=...)` returns; None without a (valid) click."""
    points = ((event or {}).get("selection") or {}).get("points") or []
    if not points:
        return None
    return cell_at(figure, int(points[0].get("curve_number", -1)), int(points[0].get("point_index", -1)))
