"""A weight matrix inside a block, drawn small: each cell stands for a square of it. And the GELU as a curve."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz.figures.blocks import block_axis, strongest
from viz.figures.chart import Chart
from viz.figures.data import Table, numbers
from viz.figures.labels import number_axis
from viz.figures.look import base_layout
from viz.figures.panels import Panel
from viz.figures.tiles import tile_figure
from viz.text.catalogue import _
from viz.theme import Theme

MOST_CELLS = 96
"""A drawn matrix has at most about this many cells along its longer side, all its parts together."""
NARROW = 320
"""The width in pixels of the figure of a matrix that is not wider than high."""
WIDE = 780
GELU_HEIGHT = 300


def weight_matrix(parts: Sequence[tuple[str, str, Float[np.ndarray, "d_in d_out"]]], *, theme: Theme) -> Chart:
    """The parts `(title, scale, weights)` of one matrix side by side, inputs down, outputs across, on one range.

    A cell shows the weight farthest from 0 in its square of the matrix, and says which square that is.
    """
    d_in, d_out = parts[0][2].shape
    edge = math.ceil(max(d_in, d_out * len(parts)) / MOST_CELLS)
    squares = np.arange(0, d_in, edge), np.arange(0, d_out, edge)
    drawn = [strongest(weights, *squares) for _title, _scale, weights in parts]
    largest = max(float(np.abs(values).max()) for values in drawn) or 1.0
    width = NARROW if len(parts) == 1 and is_narrow(parts[0][2]) else WIDE
    note = f"{d_in:,} × {d_out:,}"
    hover = _("in %{y}, out %{x}: weight %{value}")
    if edge > 1:
        note = _("{shape}; each cell: the strongest of {edge} × {edge}", shape=note, edge=edge)
        hover = _("in %{y}, out %{x}: strongest weight %{value}")
    panels = [
        Panel(
            values,
            title,
            scale,
            block_axis(number_axis("in", d_in), edge),
            block_axis(number_axis("out", d_out), edge),
            note=note,
            zmin=-largest,
            zmax=largest,
            hover=hover,
        )
        for values, (title, scale, _weights) in zip(drawn, parts, strict=True)
    ]
    return tile_figure(panels, theme=theme, width=width, framed=False)


def is_narrow(weights: Float[np.ndarray, "d_in d_out"]) -> bool:
    """Whether a matrix is not wider than high, so that its figure takes only a part of the page's width."""
    return weights.shape[1] <= weights.shape[0]


def gelu_curve(before: Float[np.ndarray, " d_mlp"], after: Float[np.ndarray, " d_mlp"], *, theme: Theme) -> Chart:
    """Every number of a vector before (across) and after (up) the GELU: the points lie on the curve."""
    axis = {
        "gridcolor": theme.grid,
        "zerolinecolor": theme.frame,
        "zerolinewidth": 1.5,
        "tickfont": {"size": 11, "color": theme.muted},
    }
    trace = go.Scatter(
        x=before,
        y=after,
        customdata=np.arange(len(before)),
        mode="markers",
        marker={"color": theme.roles["value"], "size": 5, "opacity": 0.55, "line": {"width": 0}},
        hovertemplate=_("number %{customdata}: %{x:.4~g} becomes %{y:.4~g}") + "<extra></extra>",
        meta={"gelu": True},
    )
    layout = base_layout(theme) | {
        "height": GELU_HEIGHT,
        "margin": {"l": 56, "r": 12, "t": 8, "b": 44, "pad": 0},
        "xaxis": {"title": {"text": _("before"), "font": {"size": 12, "color": theme.muted}}, **axis},
        "yaxis": {"title": {"text": _("after"), "font": {"size": 12, "color": theme.muted}}, **axis},
    }

    def table() -> Table:
        return Table(
            (_("number"), _("before"), _("after")),
            zip(range(len(before)), numbers(before), numbers(after), strict=True),
        )

    return Chart(go.Figure([trace], layout), table, 300)
