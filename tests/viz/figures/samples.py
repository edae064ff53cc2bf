"""Arrays as a head makes them, and the way to read them back out of a chart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from viz.figures.chart import Chart
from viz.figures.panels import Tile


@dataclass(frozen=True)
class Head:
    scores: np.ndarray
    masked: np.ndarray
    pattern: np.ndarray
    labels: list[str]


def head(n: int, *, seed: int = 0, scale: float = 3.0, labels: list[str] | None = None) -> Head:
    """Scores, masked scores and weights (n, n) of a made-up head; equal words among the labels."""
    scores = (np.random.default_rng(seed).normal(size=(n, n)) * scale).astype(np.float32)
    return head_of(scores, labels)


def head_of(scores: np.ndarray, labels: list[str] | None = None) -> Head:
    n = len(scores)
    masked = np.where(np.triu(np.ones((n, n), bool), 1), -np.inf, scores).astype(scores.dtype)
    weights = np.exp(masked - masked.max(axis=1, keepdims=True))
    words = labels or [("·" if i else "") + ["a", "robot", "must", "obey"][i % 4] for i in range(n)]
    return Head(scores, masked, weights / weights.sum(axis=1, keepdims=True), words)


def cells(chart: Chart) -> go.Heatmap:
    """The one heatmap trace that holds all panels."""
    found = [trace for trace in chart.figure.data if (trace.meta or {}).get("cells")]
    assert len(found) == 1
    return found[0]


def values_of(chart: Chart, panel: int) -> np.ndarray:
    """A panel's exact values as its hover layer carries them; NaN where masked."""
    tile = chart.grid.tiles[panel]
    values = np.full((tile.n_rows, tile.n_columns), np.nan)
    for trace in hover_traces(chart, panel):
        if not trace.meta["masked"]:
            data = np.asarray(trace.customdata)
            rows, columns = (np.rint(at).astype(int) - start for at, start in ((trace.y, tile.y0), (trace.x, tile.x0)))
            values[rows, columns] = data if data.ndim == 1 else data[:, 0]
    return values


def hover_traces(chart: Chart, panel: int) -> list[go.Scatter]:
    return [trace for trace in chart.figure.data if (trace.meta or {}).get("panel") == panel]


def hover_text(chart: Chart, panel: int, row: int, column: int) -> str:
    """The hover sentence of a cell of the drawing as the browser puts it together (numbers to four digits)."""
    tile = chart.grid.tiles[panel]
    x, y = tile.x0 + column, tile.y0 + row
    for trace in hover_traces(chart, panel):
        at = np.flatnonzero((np.rint(trace.x) == x) & (np.rint(trace.y) == y))
        if not at.size:
            continue
        text = trace.hovertemplate.removesuffix("<extra></extra>")
        for letter, axis, places in (
            ("x", chart.figure.layout.xaxis2, trace.x),
            ("y", chart.figure.layout.yaxis2, trace.y),
        ):
            nearest = int(np.abs(np.asarray(axis.tickvals) - places[at[0]]).argmin())
            assert abs(axis.tickvals[nearest] - places[at[0]]) < 1e-3
            text = text.replace(f"%{{{letter}}}", axis.ticktext[nearest])
        if trace.customdata is not None:
            data = np.asarray(trace.customdata[at[0]]).reshape(-1)
            text = text.replace("%{customdata:.4~g}", f"{data[0]:.4g}").replace(
                "%{customdata[0]:.4~g}", f"{data[0]:.4g}"
            )
            for i in range(1, len(data)):
                text = text.replace(f"%{{customdata[{i}]}}", f"{data[i]:g}")
        return text
    raise AssertionError(f"no point over panel {panel}, row {row}, column {column}")


def range_of(tile: Tile) -> list[float]:
    """The least and the largest value of a tile's colours."""
    return [tile.low, tile.high]


def from_segment(heights, low: float, high: float, segment: int):
    """The inverse of `to_segment`, to the precision of a colour (float32)."""
    return low + (np.asarray(heights, np.float64) - 2 * segment) * (high - low)
