"""The frame primitive: a box around something, with sharp or round corners; and the veil, which makes a box pale."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import plotly.graph_objects as go

from viz.figures.look import CLEAR

Span = tuple[float, float]
"""Where a box starts and ends along an axis, in the axis' own units."""


def frame(
    x: Span,
    y: Span,
    *,
    line: str,
    width: float = 1.5,
    fill: str = CLEAR,
    corner: Span | None = None,
    layer: Literal["above", "below"] = "below",
) -> dict[str, Any]:
    """A box as a shape of a layout, its line `width` pixels wide, above or below what is drawn there.

    `corner` is how far its round corners reach along x and along y; without it they are sharp.
    """
    look: dict[str, Any] = {"line": {"color": line, "width": width}, "fillcolor": fill, "layer": layer}
    if corner is None:
        return {"type": "rect", "x0": x[0], "x1": x[1], "y0": y[0], "y1": y[1], **look}
    (left, right), (low, high), (across, up) = x, y, corner
    path = (
        f"M{left + across},{low} L{right - across},{low} Q{right},{low} {right},{low + up} L{right},{high - up} "
        f"Q{right},{high} {right - across},{high} L{left + across},{high} Q{left},{high} {left},{high - up} "
        f"L{left},{low + up} Q{left},{low} {left + across},{low} Z"
    )
    return {"type": "path", "path": path, **look}


def veil(x: Span, y: Span, *, paper: str, opacity: float) -> dict[str, Any]:
    """Paper over a box, so that what is drawn there is pale."""
    return frame(x, y, line=CLEAR, width=0, fill=paper, layer="above") | {"opacity": opacity}


def many_frames(boxes: Iterable[tuple[Span, Span]], *, name: str, **options: Any) -> go.Scatter:
    """Many boxes (x, y) as one trace, since hundreds of shapes are slow; `name` says in its meta what they mark.

    `options` are those of `go.Scatter`.
    """
    xs: list[float | None] = []
    ys: list[float | None] = []
    for (left, right), (low, high) in boxes:
        xs += [left, right, right, left, left, None]
        ys += [low, low, high, high, low, None]
    return go.Scatter(x=xs, y=ys, mode="lines", hoverinfo="skip", showlegend=False, meta={"outlines": name}, **options)
