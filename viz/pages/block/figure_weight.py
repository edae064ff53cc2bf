"""A weight matrix inside a block, drawn small: a cell stands for a square of it. And the activation as a curve."""

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
    """Matrices, or parts of one, `(title, scale, weights)` side by side, inputs down, outputs across, on one range.

    A cell shows the weight farthest from 0 in its square of the matrix, and says which square that is.
    """
    shapes = [weights.shape for _title, _scale, weights in parts]
    edge = math.ceil(max(shapes[0][0], sum(d_out for _d_in, d_out in shapes)) / MOST_CELLS)
    drawn = [strongest(weights, *(np.arange(0, n, edge) for n in weights.shape)) for _title, _scale, weights in parts]
    largest = max(float(np.abs(values).max()) for values in drawn) or 1.0
    width = NARROW if len(parts) == 1 and is_narrow(parts[0][2]) else WIDE
    notes = [f"{d_in:,} × {d_out:,}" for d_in, d_out in shapes]
    hover = _("in %{y}, out %{x}: weight %{value}")
    if edge > 1:
        # Once, above the first: narrower parts have no room for it.
        notes[0] = _("{shape}; each cell: the strongest of {edge} × {edge}", shape=notes[0], edge=edge)
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
        for values, (title, scale, _weights), note, (d_in, d_out) in zip(drawn, parts, notes, shapes, strict=True)
    ]
    return tile_figure(panels, theme=theme, width=width, framed=False)


def is_narrow(weights: Float[np.ndarray, "d_in d_out"]) -> bool:
    """Whether a matrix is not wider than high, so that its figure takes only a part of the page's width."""
    return weights.shape[1] <= weights.shape[0]


def activation_points(
    before: Float[np.ndarray, " d_mlp"],
    after: Float[np.ndarray, " d_mlp"],
    *,
    theme: Theme,
    linear: Float[np.ndarray, " d_mlp"] | None = None,
) -> Chart:
    """Every number of a vector before (across) and after (up) the activation function: the points lie on the curve.

    With a gate, `linear` is what it lets through, and each point's height is their product.
    """
    columns = [(_("before"), before), (_("after"), after)]
    hover = _("number %{customdata[0]}: %{x:.4~g} becomes %{y:.4~g}")
    if linear is not None:
        columns = [(_("gate"), before), (_("let through"), after), (_("up projection"), linear)]
        hover = _("number %{customdata[0]}: the gate's %{x:.4~g} lets %{y:.4~g} of %{customdata[1]:.4~g} through")
    (x_title, _before), (y_title, _after), *_others = columns
    axis = {
        "gridcolor": theme.grid,
        "zerolinecolor": theme.frame,
        "zerolinewidth": 1.5,
        "tickfont": {"size": 11, "color": theme.muted},
    }
    trace = go.Scatter(
        x=before,
        y=after,
        customdata=np.stack([np.arange(len(before)), before if linear is None else linear], axis=1),
        mode="markers",
        marker={"color": theme.roles["value"], "size": 5, "opacity": 0.55, "line": {"width": 0}},
        hovertemplate=f"{hover}<extra></extra>",
        meta={"gelu": True},
    )
    layout = base_layout(theme) | {
        "height": GELU_HEIGHT,
        "margin": {"l": 56, "r": 12, "t": 8, "b": 44, "pad": 0},
        "xaxis": {"title": {"text": x_title, "font": {"size": 12, "color": theme.muted}}, **axis},
        "yaxis": {"title": {"text": y_title, "font": {"size": 12, "color": theme.muted}}, **axis},
    }

    def table() -> Table:
        return Table(
            (_("number"), *(title for title, _values in columns)),
            zip(range(len(before)), *(numbers(values) for _title, values in columns), strict=True),
        )

    return Chart(go.Figure([trace], layout), table, 300)
