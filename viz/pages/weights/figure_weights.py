"""What the network has learnt: its matrices as heatmaps, and the tables of its parameters.

A matrix too large for the screen comes in blocks, each told by one number; every tile says how many weights that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz.figures.frames import frame
from viz.figures.labels import Axis
from viz.figures.panels import Panel
from viz.figures.tiles import tile_figure
from viz.theme import Theme

BLOCK_WIDTH, EMBEDDING_WIDTH = 740, 1080
_SHOWN_VALUE = "%{customdata[0]:.4~g}"


class Matrix(NamedTuple):
    """A matrix of `size` (rows, columns) as its cells show it: `values`, each of `block` (rows, columns) weights."""

    values: Float[np.ndarray, "rows columns"]
    size: tuple[int, int]
    block: tuple[int, int]


class _Look(NamedTuple):
    """How a matrix is called and coloured, and what its rows and columns stand for; `first` numbers the first row."""

    title: str
    scale: str
    rows: str
    columns: str
    first: int = 0


_LOOKS = {
    "c_attn q": _Look("attn.c_attn, q part", "query", "x", "q, head by head"),
    "c_attn k": _Look("attn.c_attn, k part", "key", "x", "k, head by head"),
    "c_attn v": _Look("attn.c_attn, v part", "value", "x", "v, head by head"),
    "attn.c_proj": _Look("attn.c_proj", "score", "z", "attn_out"),
    "mlp.c_fc": _Look("mlp.c_fc", "value", "x", "mlp_pre"),
    "mlp.c_proj": _Look("mlp.c_proj", "value", "mlp_post", "mlp_out"),
    "wte": _Look("wte: a row per token", "input", "token id", "dimension of x"),
    "wpe": _Look("wpe: a row per position", "input", "position", "dimension of x", first=1),
    "lm_head": _Look("lm_head: a row per token", "input", "token id", "dimension of x"),
}


def block_weights(
    matrices: Mapping[str, Matrix], *, head: int, d_head: int, statistic: str, theme: Theme, width: int = BLOCK_WIDTH
) -> go.Figure:
    """The matrices of one block, three a row, `c_attn` in its q, k and v parts.

    Outlined: the columns of `c_attn` that make the q, k and v of `head`, and the rows of `attn.c_proj` that read its z.
    `statistic` says in words what a cell of several weights shows.
    """
    figure = _tiles(matrices, statistic, theme, columns=3, width=width)
    start, end = head * d_head, (head + 1) * d_head
    for tile, (name, matrix) in zip(figure.layout.meta["tiles"], matrices.items(), strict=True):
        top, left, bottom, right = tile["y0"], tile["x0"], tile["rows"], tile["columns"]
        span: tuple[float, float, float, float] | None = None
        if name.startswith("c_attn"):
            span = (start / matrix.block[1], end / matrix.block[1], 0, bottom)
        elif name == "attn.c_proj":
            span = (0, right, start / matrix.block[0], end / matrix.block[0])
        if span is not None:
            x, y = ((edge - 0.5 + span[i], edge - 0.5 + span[i + 1]) for edge, i in ((left, 0), (top, 2)))
            figure.add_shape(frame(x, y, line=theme.text, width=2, layer="above"), name=name)
    return figure


def embedding_weights(
    matrices: Mapping[str, Matrix], *, statistic: str, theme: Theme, width: int = EMBEDDING_WIDTH
) -> go.Figure:
    """The token and the position matrix side by side, and the output matrix where a model has its own."""
    return _tiles(matrices, statistic, theme, columns=len(matrices), width=width, cell_height=3.4)


def _tiles(matrices: Mapping[str, Matrix], statistic: str, theme: Theme, **options: Any) -> go.Figure:
    figure = tile_figure(
        [_panel(_LOOKS[name], matrix) for name, matrix in matrices.items()], theme=theme, framed=False, **options
    )
    sentences = [_sentence(_LOOKS[name], matrix, statistic) for name, matrix in matrices.items()]
    shown = list(matrices.items())
    for trace in figure.data:
        if (trace.meta or {}).get("panel") is not None:
            index = trace.meta["panel"]
            name, matrix = shown[index]
            tile = figure.layout.meta["tiles"][index]
            rows = (trace.y.astype(np.int64) - tile["y0"]) * matrix.block[0] + _LOOKS[name].first
            columns = (trace.x.astype(np.int64) - tile["x0"]) * matrix.block[1]
            trace.customdata = np.stack([trace.customdata, rows, columns], axis=1).astype(np.float32)
            trace.hovertemplate = f"{sentences[index]}<extra></extra>"
    return figure


def _panel(look: _Look, matrix: Matrix) -> Panel:
    sides = f"{matrix.size[0]:,} × {matrix.size[1]:,}"
    return Panel(
        matrix.values,
        look.title,
        look.scale,
        _axis(look.rows, matrix.values.shape[0], matrix.block[0], look.first),
        _axis(look.columns, matrix.values.shape[1], matrix.block[1], 0),
        note=sides if matrix.block == (1, 1) else f"{sides}, each cell {_block_size(matrix)}",
    )


def _block_size(matrix: Matrix) -> str:
    cut = any(n % length for n, length in zip(matrix.size, matrix.block, strict=True))
    return f"{'up to ' if cut else ''}{matrix.block[0]} × {matrix.block[1]}"


def _axis(title: str, n: int, length: int, first: int) -> Axis:
    """Ticks are the first row or column of each cell; the hover sentences name them from the cell's own data."""
    return Axis(title, tuple(str(i * length + first) for i in range(n)), ("",) * n, first=0, binary=True)


def _sentence(look: _Look, matrix: Matrix, statistic: str) -> str:
    """What a hover says; the cell's first row and column are in its own data, after its value."""
    place = f"{look.rows} %{{customdata[1]}}, {look.columns.split(',')[0]} %{{customdata[2]}}"
    if matrix.block == (1, 1):
        return f"{place}: {_SHOWN_VALUE}"
    return f"{_block_size(matrix)} weights, from {place} on<br>the {statistic}: {_SHOWN_VALUE}"


Row = tuple[str, Sequence[int], int, int]
"""A tensor in a table: its name, its shape, its numbers, and how many of it there are."""


def counts_table(block: Iterable[Row], others: Iterable[Row], *, block_total: int, n_layers: int, total: int) -> str:
    """Every tensor as a Markdown table: those of a block and their sum, the others, the sum of all."""
    return "\n".join(
        [
            "| Tensor | Shape | Numbers | Copies | In all |",
            "|:--|--:|--:|--:|--:|",
            *(_line(row) for row in block),
            f"| **One block** | | **{block_total:,}** | **{n_layers}** | **{block_total * n_layers:,}** |",
            *(_line(row) for row in others),
            f"| **Sum** | | | | **{total:,}** |",
        ]
    )


def _line(row: Row) -> str:
    name, shape, count, copies = row
    return f"| `{name}` | {' × '.join(f'{n:,}' for n in shape)} | {count:,} | {copies} | {count * copies:,} |"


def article_table(gaps: Iterable[tuple[str, int, int, int]], *, printed: int, counted: int) -> str:
    """Where the article counts otherwise, as a Markdown table: `(name, printed, numbers, copies)`, and both sums."""
    lines = ["| | The article prints | The tensor has | Missing in all |", "|:--|--:|--:|--:|"]
    for name, theirs, ours, copies in gaps:
        shown = f"{theirs:,}" if theirs else "left out"
        times = f", {copies} times" if copies > 1 else ""
        lines.append(f"| `{name}`{times} | {shown} | {ours:,} | {(ours - theirs) * copies:,} |")
    return "\n".join([*lines, f"| **Sum of all** | **{printed:,}** | **{counted:,}** | **{counted - printed:,}** |"])
