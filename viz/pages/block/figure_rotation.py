"""How rotary positions turn a vector: some of its pairs of numbers as arrows in a circle, before and after."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from viz.figures.chart import Chart
from viz.figures.data import Table, numbers
from viz.figures.look import base_layout
from viz.text.catalogue import _
from viz.theme import Theme, mix

SHOWN = 6
"""So many pairs are drawn, spread from the fastest to the slowest."""
HEIGHT, STEP = 190, 2.7


def turned_pairs(
    before: Float[np.ndarray, " d_head"],
    after: Float[np.ndarray, " d_head"],
    angles: Float[np.ndarray, " pair"],
    *,
    theme: Theme,
    role: str = "query",
) -> Chart:
    """Pairs of a vector's numbers, number `i` of each half, as arrows: pale before they are turned, strong after.

    Each arrow is drawn as long as its circle; `angles` are in radians.
    """
    n_pairs = len(angles)
    shown = np.unique(np.linspace(0, n_pairs - 1, min(SHOWN, n_pairs)).round().astype(int))
    pairs = [np.stack(np.split(vector, 2), axis=-1) for vector in (before, after)]  # each (pair, 2)
    colour = theme.roles[role]
    turn = np.linspace(0, 2 * np.pi, 65)
    circle_x, circle_y = [], []
    for place in range(len(shown)):
        circle_x += [*(np.cos(turn) + STEP * place), None]
        circle_y += [*np.sin(turn), None]
    circles = go.Scatter(
        x=circle_x, y=circle_y, mode="lines", line={"color": theme.frame, "width": 1}, hoverinfo="skip"
    )
    arrows = [
        _arrows(of[shown], shown, tone, width, hover)
        for of, tone, width, hover in (
            (
                pairs[0],
                mix(theme.zero, colour, 0.4),
                2,
                _("pair %{customdata[0]} before: %{customdata[1]:.4~g}, %{customdata[2]:.4~g}"),
            ),
            (pairs[1], colour, 3, _("pair %{customdata[0]} turned: %{customdata[1]:.4~g}, %{customdata[2]:.4~g}")),
        )
    ]
    places = STEP * np.arange(len(shown))
    words = [
        go.Scatter(
            x=places,
            y=[height] * len(shown),
            text=texts,
            mode="text",
            textfont={"size": 12, "color": tone},
            hoverinfo="skip",
            cliponaxis=False,
        )
        for height, texts, tone in (
            (1.35, [_("pair {number}", number=int(i)) for i in shown], theme.text),
            (-1.4, [_turned(float(angles[i])) for i in shown], theme.muted),
        )
    ]
    hidden = {"visible": False, "fixedrange": True}
    layout = base_layout(theme) | {
        "height": HEIGHT,
        "margin": {"l": 4, "r": 4, "t": 4, "b": 4, "pad": 0},
        "xaxis": {"range": [-1.3, STEP * (len(shown) - 1) + 1.3], **hidden},
        "yaxis": {"range": [-1.7, 1.7], "scaleanchor": "x", **hidden},
    }

    def table() -> Table:
        columns = (angles, *pairs[0].T, *pairs[1].T)
        header = (_("pair"), _("angle in radians"), _("first, before"), _("second, before"))
        return Table(
            (*header, _("first, after"), _("second, after")),
            zip(range(n_pairs), *(numbers(column) for column in columns), strict=True),
        )

    return Chart(go.Figure([circles, *arrows, *words], layout), table, 96 * len(shown))


def _arrows(
    pairs: Float[np.ndarray, "shown 2"], which: Int[np.ndarray, " shown"], colour: str, width: int, hover: str
) -> go.Scatter:
    """An arrow from the middle of each circle; its head says which pair it is, and its two numbers."""
    lengths = np.linalg.norm(pairs, axis=1, keepdims=True)
    ends = pairs / np.where(lengths > 0, lengths, 1)
    x, y, said = [], [], []
    for place, (end, pair) in enumerate(zip(ends, pairs, strict=True)):
        x += [STEP * place, STEP * place + end[0], None]
        y += [0, end[1], None]
        said += [[int(which[place]), *map(float, pair)]] * 3
    return go.Scatter(
        x=x,
        y=y,
        customdata=said,
        mode="lines+markers",
        line={"color": colour, "width": width},
        marker={"size": [0, 8, 0] * len(pairs), "color": colour},
        hovertemplate=f"{hover}<extra></extra>",
    )


def _turned(angle: float) -> str:
    """An angle in words: whole turns and more as such, less in degrees."""
    turns = angle / (2 * math.pi)
    if turns >= 1:
        return _("{turns:.3g} turns", turns=turns)
    return _("{degrees:.3g}°", degrees=360 * turns)
