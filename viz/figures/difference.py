"""Heads side by side: their weights on one scale, the difference of two, how far each row is apart, what each adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from viz.figures.chart import Chart, Points
from viz.figures.data import panels_table
from viz.figures.frames import frame
from viz.figures.labels import Axis, number_axis, one_row, token_axis
from viz.figures.matrices import MASKED_HOVER
from viz.figures.panels import Grid, Panel
from viz.figures.strips import FRAMED_STRIP, STRIP_HEIGHT
from viz.figures.tiles import Traced, tile_figure
from viz.text.catalogue import _
from viz.text.plotly import plain
from viz.theme import Theme

DISTANCE_WIDTH, DISTANCE_ROOM = 100, 170
"""The length in pixels of a bar of one bit, and the room that all distances take."""
_NUMBERED_ROW = 11
_SHOWN_ONLY: dict[str, Any] = {"hoverinfo": "skip", "showlegend": False, "cliponaxis": False}


def patterns_side_by_side(
    patterns: Sequence[Float[np.ndarray, "query key"]], *, names: Sequence[str], labels: Sequence[str], theme: Theme
) -> Chart:
    """The weights (0 to 1) of several heads in one row, on one colour scale and in one order of tokens."""
    queries, keys = (token_axis(side, labels) for side in ("query", "key"))
    panels = [
        _weights(pattern, name, _("weights, 0 to 1"), queries, keys)
        for pattern, name in zip(patterns, names, strict=True)
    ]
    return tile_figure(panels, theme=theme)


def pattern_difference(
    a: Float[np.ndarray, "query key"],
    b: Float[np.ndarray, "query key"],
    distances: Float[np.ndarray, " query"],
    *,
    names: tuple[str, str],
    labels: Sequence[str],
    theme: Theme,
    positions: Sequence[int] | None = None,
    minus_first: bool = False,
) -> Chart:
    """Two heads' weights, `a - b` on a scale symmetric about 0, and each row's distance (0 to 1 bit) as a bar.

    With `minus_first` the difference is `b - a`: what came after a change minus what was before. `positions` (from 0)
    are those of the labels in their text, where these are not all of its tokens.
    """
    queries, keys = (token_axis(side, labels, positions) for side in ("query", "key"))
    less, more = names[:: 1 if minus_first else -1]
    difference = Panel(
        b - a if minus_first else a - b,
        _("Difference"),
        "score",
        queries,
        keys,
        note=f"{more} − {less}",
        masked=_later(len(labels)),
        masked_text="0",
        hover=_("query %{{y}} reads key %{{x}}:<br>{more} − {less} = %{{value}}", more=plain(more), less=plain(less)),
        masked_hover=_(MASKED_HOVER),
    )
    panels = [
        _weights(a, names[0], _("weights, 0 to 1"), queries, keys),
        _weights(b, names[1], _("weights, 0 to 1"), queries, keys),
        difference,
    ]
    rows = Panel(distances[:, None], _("Distance"), "weights", queries, Axis(_("bits"), ("",), ("",)))
    return tile_figure(
        panels,
        theme=theme,
        beside=Distances(distances, np.abs(a - b).argmax(axis=1), queries.names),
        table=lambda: panels_table([*panels, rows]),
    )


def output_strips(
    outputs: Sequence[tuple[str, Float[np.ndarray, " d_head"] | None, Float[np.ndarray, " d_model"]]], *, theme: Theme
) -> Chart:
    """What heads `(name, z, result)` hand on at one position, a head a row: z, and what it adds to the stream.

    All z share one range symmetric about 0, and all results another. A mean over heads (z is None) has a hatched z.
    """
    d_head = next((len(z) for _name, z, _result in outputs if z is not None), 1)
    d_model = len(outputs[0][2])
    zs = [np.full(d_head, np.nan, np.float32) if z is None else z for _name, z, _result in outputs]
    ranges = [_largest(zs), _largest([result for _name, _z, result in outputs])]
    panels = []
    for (name, _z, result), z in zip(outputs, zs, strict=True):
        parts = (
            (z, "z", _("dimension of the head"), d_head),
            (result, "result", _("dimension of the stream"), d_model),
        )
        for (values, what, across, size), largest in zip(parts, ranges, strict=True):
            panels.append(
                Panel(
                    np.asarray(values)[None, :],
                    _("{vector} of {head}", vector=what, head=name),
                    "score",
                    one_row(name),
                    number_axis(across, size),
                    zmin=-largest,
                    zmax=largest,
                    hover=_("{vector} of %{{y}}, dimension %{{x}}: %{{value}}", vector=what),
                    masked_hover=_("a mean has no z: each head's z has dimensions of its own"),
                )
            )
    framed = d_head + d_model <= FRAMED_STRIP
    return tile_figure(panels, theme=theme, columns=2, cell_height=STRIP_HEIGHT, compact=True, framed=framed)


def _weights(pattern: Float[np.ndarray, "query key"], title: str, note: str, queries: Axis, keys: Axis) -> Panel:
    return Panel(
        pattern,
        title,
        "weights",
        queries,
        keys,
        note=note,
        masked=_later(len(queries)),
        masked_text="0",
        hover=_("{head}: query %{{y}} reads key %{{x}}: %{{value}}", head=plain(title)),
        masked_hover=_(MASKED_HOVER),
    )


def _later(n: int) -> np.ndarray:
    """(query, key) booleans: the key comes after the query."""
    return np.triu(np.ones((n, n), dtype=bool), 1)


def _largest(rows: Sequence[np.ndarray]) -> float:
    finite = np.concatenate([np.abs(row[np.isfinite(row)]) for row in rows])
    return float(finite.max()) if finite.size and finite.max() > 0 else 1.0


@dataclass(frozen=True)
class Distances:
    """Each row's distance as a bar beside the last matrix; of a block of rows the largest.

    `keys` are those that a click on a row's bar chooses, `names` those of the rows in a hover sentence.
    """

    values: Float[np.ndarray, " query"]
    keys: Int[np.ndarray, " query"]
    names: Sequence[str]
    room: int = DISTANCE_ROOM

    def least_width(self, grid: Grid) -> int:
        return round(grid.min_width * (1 + self.room / grid.cell_width / grid.n_columns))

    def draw(self, grid: Grid, theme: Theme) -> tuple[list[Traced], list[dict[str, Any]]]:
        tile, cell = grid.tiles[-1], grid.cell_width
        start = grid.n_columns - 0.5 + 24 / cell
        starts = np.arange(0, len(self.values), tile.blocks.block[0])
        parts = np.split(self.values, starts[1:])
        rows = np.array([begin + int(part.argmax()) for begin, part in zip(starts, parts, strict=True)])
        shown, y = self.values[rows], tile.y0 + np.arange(len(rows))
        left, right = np.full(len(rows), start), start + DISTANCE_WIDTH / cell * shown
        gap = np.full(len(rows), np.nan)
        bars = go.Scatter(
            x=np.stack([left, right, right, left, gap], axis=1).ravel(),
            y=np.stack([y - 0.36, y - 0.36, y + 0.36, y + 0.36, gap], axis=1).ravel(),
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=theme.roles["score"],
            meta={"bars": True},
            **_SHOWN_ONLY,
        )
        points = go.Scatter(
            x=start + np.minimum(right - left, 24 / cell) / 2,
            y=y,
            customdata=shown,
            hovertext=[self.names[row] for row in rows],
            hovertemplate=_("query %{hovertext}: Jensen-Shannon divergence %{customdata:.4~g} bits")
            + "<extra></extra>",
            mode="text",
            marker={"maxdisplayed": 1},
            showlegend=False,
            xaxis="x2",
            yaxis="y2",
            meta={"distances": True},
        )
        cells = Points(len(grid.tiles), "Distance", rows, self.keys[rows], shown)
        words = (
            (f"<b>{_('Distance')}</b>", 14, theme.ink("score"), 10),
            (_("of each row, 0 to 1 bit"), 12, theme.muted, 28),
        )
        texts = [
            _texts([start - 1 / cell], [grid.down[1] + below / grid.row_height], [text], size, colour)
            for text, size, colour, below in words
        ]
        numbers = [_texts(right, y, [f" {value:.2f}" for value in shown], 10.5, theme.muted)]
        drawn = [*texts, *(numbers if grid.row_height >= _NUMBERED_ROW else [])]
        box = (start, start + DISTANCE_WIDTH / cell), (tile.y0 - 0.5, tile.y0 + tile.n_rows - 0.5)
        return [(bars, None), (points, cells), *((trace, None) for trace in drawn)], [
            frame(*box, line=theme.frame, width=1)
        ]


def _texts(x: ArrayLike, y: ArrayLike, texts: Sequence[str], size: float, colour: str) -> go.Scatter:
    """Texts that begin at `x`."""
    return go.Scatter(
        x=x,
        y=y,
        text=list(texts),
        mode="text",
        textposition="middle right",
        textfont={"size": size, "color": colour},
        meta={"texts": True},
        **_SHOWN_ONLY,
    )
