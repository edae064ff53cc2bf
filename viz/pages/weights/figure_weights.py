"""What the network has learnt: its matrices as heatmaps, and the tables of its parameters.

A matrix too large for the screen comes in blocks, each told by one number; every tile says how many weights that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from viz.figures.chart import Chart
from viz.figures.frames import Span
from viz.figures.labels import Axis
from viz.figures.panels import Panel
from viz.figures.tiles import tile_figure
from viz.theme import Theme

BLOCK_WIDTH, EMBEDDING_WIDTH = 740, 1080


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


def block_weights(matrices: Mapping[str, Matrix], *, head: int, d_head: int, statistic: str, theme: Theme) -> Chart:
    """The matrices of one block, three a row, `c_attn` in its q, k and v parts.

    Outlined: the columns of `c_attn` that make the q, k and v of `head`, and the rows of `attn.c_proj` that read its z.
    `statistic` says in words what a cell of several weights shows.
    """
    panels = []
    for name, matrix in matrices.items():
        n_rows, n_columns = matrix.values.shape
        across, down = ((head * d_head / length, (head + 1) * d_head / length) for length in matrix.block[::-1])
        outlines: list[tuple[Span, Span]] = []
        if name.startswith("c_attn"):
            outlines = [(across, (0, n_rows))]
        elif name == "attn.c_proj":
            outlines = [((0, n_columns), down)]
        panels.append(replace(_panel(_LOOKS[name], matrix, statistic), outlines=outlines))
    return tile_figure(panels, theme=theme, columns=3, width=BLOCK_WIDTH, framed=False)


def embedding_weights(matrices: Mapping[str, Matrix], *, statistic: str, theme: Theme) -> Chart:
    """The token and the position matrix side by side, and the output matrix where a model has its own."""
    panels = [_panel(_LOOKS[name], matrix, statistic) for name, matrix in matrices.items()]
    return tile_figure(panels, theme=theme, width=EMBEDDING_WIDTH, cell_height=3.4, framed=False)


def _panel(look: _Look, matrix: Matrix, statistic: str) -> Panel:
    """A matrix as a panel; each cell knows the first row and column that it stands for."""
    rows, columns = (np.indices(matrix.values.shape)[side] * matrix.block[side] for side in (0, 1))
    sides = f"{matrix.size[0]:,} × {matrix.size[1]:,}"
    return Panel(
        matrix.values,
        look.title,
        look.scale,
        _axis(look.rows, matrix.values.shape[0], matrix.block[0], look.first),
        _axis(look.columns, matrix.values.shape[1], matrix.block[1], 0),
        note=sides if matrix.block == (1, 1) else f"{sides}, each cell {_block_size(matrix)}",
        hover=_sentence(look, matrix, statistic),
        extra=(rows + look.first, columns),
    )


def _block_size(matrix: Matrix) -> str:
    cut = any(n % length for n, length in zip(matrix.size, matrix.block, strict=True))
    return f"{'up to ' if cut else ''}{matrix.block[0]} × {matrix.block[1]}"


def _axis(title: str, n: int, length: int, first: int) -> Axis:
    """Ticks are the first row or column of each cell; the hover sentences name them from the cell's own data."""
    numbers = tuple(i * length + first for i in range(n))
    return Axis(title, tuple(map(str, numbers)), ("",) * n, numbers=numbers, first=0, binary=True)


def _sentence(look: _Look, matrix: Matrix, statistic: str) -> str:
    """What a hover says; the cell's first row and column are in its own data, after its value."""
    place = f"{look.rows} %{{customdata[1]}}, {look.columns.split(',')[0]} %{{customdata[2]}}"
    if matrix.block == (1, 1):
        return f"{place}: %{{value}}"
    return f"{_block_size(matrix)} weights, from {place} on<br>the {statistic}: %{{value}}"


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
