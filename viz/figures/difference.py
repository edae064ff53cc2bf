"""Heads side by side: their weights on one scale, the difference of two, how far each row is apart, what each adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from viz.figures.clicks import Cell
from viz.figures.data import panels_table, with_data
from viz.figures.frames import frame
from viz.figures.labels import Axis, hover_name, number_axis, position_label
from viz.figures.matrices import MASKED_HOVER
from viz.figures.panels import ROW_WIDTH, Panel
from viz.figures.strips import FRAMED_STRIP, STRIP_HEIGHT
from viz.figures.tiles import tile_figure
from viz.text.plotly import plain
from viz.theme import Theme

DISTANCE_WIDTH, DISTANCE_ROOM = 100, 170
"""The length in pixels of a bar of one bit, and the room that all distances take."""
_NUMBERED_ROW = 11


@dataclass(frozen=True)
class Rows:
    """Where the rows of a figure's matrices lie, in pixels from its upper edge; each stands for `block` queries.

    There are `n` rows, and the first is, or starts with, the query at `first` (from 0).
    """

    top: float
    height: float
    block: int
    first: int
    n: int

    def edge(self, query: int) -> float | None:
        """The upper edge of the row of `query`; None where it has none."""
        row = (query - self.first) // self.block
        return self.top + row * self.height if 0 <= row < self.n else None


def patterns_side_by_side(
    patterns: Sequence[Float[np.ndarray, "query key"]],
    *,
    names: Sequence[str],
    labels: Sequence[str],
    theme: Theme,
    width: int = ROW_WIDTH,
) -> go.Figure:
    """The weights (0 to 1) of several heads in one row, on one colour scale and in one order of tokens."""
    queries, keys = _axes(labels, range(len(labels)))
    panels = [
        _weights(pattern, name, "weights, 0 to 1", queries, keys) for pattern, name in zip(patterns, names, strict=True)
    ]
    return tile_figure(panels, theme=theme, width=width)


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
    width: int = ROW_WIDTH,
) -> go.Figure:
    """Two heads' weights, `a - b` on a scale symmetric about 0, and each row's distance (0 to 1 bit) as a bar.

    With `minus_first` the difference is `b - a`: what came after a change minus what was before. `positions` (from 0)
    are those of the labels in their text, where these are not all of its tokens.
    """
    queries, keys = _axes(labels, range(len(labels)) if positions is None else positions)
    less, more = names[:: 1 if minus_first else -1]
    difference = Panel(
        b - a if minus_first else a - b,
        "Difference",
        "score",
        queries,
        keys,
        note=f"{more} − {less}",
        masked=_later(len(labels)),
        masked_text="0",
        hover=f"query %{{y}} reads key %{{x}}:<br>{plain(more)} − {plain(less)} = %{{value}}",
        masked_hover=MASKED_HOVER,
    )
    panels = [
        _weights(a, names[0], "weights, 0 to 1", queries, keys),
        _weights(b, names[1], "weights, 0 to 1", queries, keys),
        difference,
    ]
    figure = tile_figure(panels, theme=theme, width=width - DISTANCE_ROOM)
    _add_distances(figure, distances, np.abs(a - b).argmax(axis=1), queries.names, theme, width)
    rows = Panel(distances[:, None], "Distance", "weights", queries, Axis("bits", ("",), ("",)))
    return with_data(figure, lambda: panels_table([*panels, rows]))


def distance_cell(figure: go.Figure, curve: int, point: int) -> Cell | None:
    """The cell that a click on a row's distance chooses: of that row the key on which the two heads differ most."""
    if not 0 <= curve < len(figure.data) or not (figure.data[curve].meta or {}).get("distances"):
        return None
    data = np.asarray(figure.data[curve].customdata)
    if not 0 <= point < len(data):
        return None
    value, row, key = data[point]
    return Cell(len(figure.layout.meta["tiles"]), "Distance", int(row), int(key), False, float(value))


def output_strips(
    outputs: Sequence[tuple[str, Float[np.ndarray, " d_head"] | None, Float[np.ndarray, " d_model"]]],
    *,
    theme: Theme,
    width: int = ROW_WIDTH,
) -> go.Figure:
    """What heads `(name, z, result)` hand on at one position, a head a row: z, and what it adds to the stream.

    All z share one range symmetric about 0, and all results another. A mean over heads (z is None) has a hatched z.
    """
    d_head = next((len(z) for _, z, _ in outputs if z is not None), 1)
    d_model = len(outputs[0][2])
    zs = [np.full(d_head, np.nan, np.float32) if z is None else z for _, z, _ in outputs]
    ranges = [_largest(zs), _largest([result for _, _, result in outputs])]
    panels = []
    for (name, _, result), z in zip(outputs, zs, strict=True):
        parts = ((z, "z", "dimension of the head", d_head), (result, "result", "dimension of the stream", d_model))
        for (values, what, across, size), largest in zip(parts, ranges, strict=True):
            panels.append(
                Panel(
                    np.asarray(values)[None, :],
                    f"{what} of {name}",
                    "score",
                    Axis("", ("",), (plain(name),)),
                    number_axis(across, size),
                    zmin=-largest,
                    zmax=largest,
                    hover=f"{what} of %{{y}}, dimension %{{x}}: %{{value}}",
                    masked_hover="a mean has no z: each head's z has dimensions of its own",
                )
            )
    framed = d_head + d_model <= FRAMED_STRIP
    return tile_figure(
        panels, theme=theme, columns=2, width=width, cell_height=STRIP_HEIGHT, compact=True, framed=framed
    )


def matrix_rows(figure: go.Figure, first: int = 0) -> Rows:
    """Where the rows of the matrices in a figure made here lie, from the query at `first` on; all lie side by side."""
    layout, tile = figure.layout, figure.layout.meta["tiles"][0]
    bottom, top = layout.yaxis.range
    height = (layout.height - layout.margin.t - layout.margin.b) / (bottom - top)
    edge = layout.margin.t + (tile["y0"] - 0.5 - top) * height
    return Rows(float(edge), float(height), tile["block"][0], first, tile["rows"])


def _axes(labels: Sequence[str], positions: Sequence[int]) -> tuple[Axis, Axis]:
    """The same tokens as queries and as keys, at their positions (from 0)."""
    ticks = tuple(position_label(at, label) for at, label in zip(positions, labels, strict=True))
    names = tuple(hover_name(at, label) for at, label in zip(positions, labels, strict=True))
    return Axis("query", ticks, names), Axis("key", ticks, names)


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
        hover=f"{plain(title)}: query %{{y}} reads key %{{x}}: %{{value}}",
        masked_hover=MASKED_HOVER,
    )


def _later(n: int) -> np.ndarray:
    """(query, key) booleans: the key comes after the query."""
    return np.triu(np.ones((n, n), dtype=bool), 1)


def _largest(rows: Sequence[np.ndarray]) -> float:
    finite = np.concatenate([np.abs(row[np.isfinite(row)]) for row in rows])
    return float(finite.max()) if finite.size and finite.max() > 0 else 1.0


def _add_distances(
    figure: go.Figure,
    distances: Float[np.ndarray, " query"],
    keys: Int[np.ndarray, " query"],
    names: Sequence[str],
    theme: Theme,
    width: int,
) -> None:
    """Each row's distance as a bar beside the last matrix, in room added to its right; of a block the largest.

    `keys` are those that a click on a row's bar chooses, `names` those of the rows in a hover sentence.
    """
    layout, tile = figure.layout, figure.layout.meta["tiles"][-1]
    cells = layout.xaxis.range[1] - layout.xaxis.range[0]
    cell = (width - DISTANCE_ROOM - layout.margin.l - layout.margin.r) / cells
    start = layout.xaxis.range[1] + 24 / cell
    layout.xaxis.range = layout.xaxis2.range = [layout.xaxis.range[0], layout.xaxis.range[1] + DISTANCE_ROOM / cell]
    layout.meta = layout.meta | {"min_width": round(layout.meta["min_width"] * (1 + DISTANCE_ROOM / cell / cells))}
    starts = np.arange(0, len(distances), tile["block"][0])
    rows = np.array(
        [begin + int(part.argmax()) for begin, part in zip(starts, np.split(distances, starts[1:]), strict=True)]
    )
    shown, y = distances[rows], tile["y0"] + np.arange(len(rows))
    left, right = np.full(len(rows), start), start + DISTANCE_WIDTH / cell * shown
    gap = np.full(len(rows), np.nan)
    shared = {"hoverinfo": "skip", "showlegend": False, "cliponaxis": False}
    bars = go.Scatter(
        x=np.stack([left, right, right, left, gap], axis=1).ravel(),
        y=np.stack([y - 0.36, y - 0.36, y + 0.36, y + 0.36, gap], axis=1).ravel(),
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=theme.roles["score"],
        meta={"bars": True},
        **shared,
    )
    points = go.Scatter(
        x=start + np.minimum(right - left, 24 / cell) / 2,
        y=y,
        customdata=np.stack([shown, rows, keys[rows]], axis=1),
        hovertext=[names[row] for row in rows],
        hovertemplate="query %{hovertext}: Jensen-Shannon divergence %{customdata[0]:.4~g} bits<extra></extra>",
        mode="text",
        marker={"maxdisplayed": 1},
        showlegend=False,
        xaxis="x2",
        yaxis="y2",
        meta={"distances": True},
    )
    header = (tile["y0"] - 0.5 - layout.yaxis.range[1]) * matrix_rows(figure).height
    words = [
        ("<b>Distance</b>", 14, theme.ink("score"), header - 10),
        ("of each row, 0 to 1 bit", 12, theme.muted, header - 28),
    ]
    texts = [
        go.Scatter(
            x=[start - 1 / cell],
            y=[tile["y0"] - 0.5 - above / matrix_rows(figure).height],
            text=[text],
            mode="text",
            textposition="middle right",
            textfont={"size": size, "color": colour},
            meta={"texts": True},
            **shared,
        )
        for text, size, colour, above in words
    ]
    figure.add_traces([bars, points, *texts])
    box = (start, start + DISTANCE_WIDTH / cell), (tile["y0"] - 0.5, tile["y0"] + tile["rows"] - 0.5)
    figure.add_shape(frame(*box, line=theme.frame, width=1))
    if matrix_rows(figure).height >= _NUMBERED_ROW:
        figure.add_scatter(
            x=right,
            y=y,
            text=[f" {value:.2f}" for value in shown],
            mode="text",
            textposition="middle right",
            textfont={"size": 10.5, "color": theme.muted},
            meta={"texts": True},
            **shared,
        )
