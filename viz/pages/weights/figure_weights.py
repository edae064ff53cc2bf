"""What the network has learnt: its matrices as heatmaps, and the tables of its parameters.

A matrix too large for the screen comes in blocks, each told by one number; every tile says how many weights that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """A matrix of `size` (rows, columns) as its cells show it: `values`, each of `block` (rows, columns) weights.

    `role` is what it makes or is (`query`, `out`, `wte` ...); `heads` are the columns, or the rows of the matrix that
    mixes the heads, that belong to the chosen one.
    """

    name: str
    role: str
    values: Float[np.ndarray, "rows columns"]
    size: tuple[int, int]
    block: tuple[int, int]
    heads: Span | None = None


class _Look(NamedTuple):
    """How a matrix is coloured, and what its rows and columns stand for; `first` numbers the first row."""

    scale: str
    rows: str
    columns: str
    first: int = 0


_LOOKS = {
    "query": _Look("query", "x", "q, head by head"),
    "key": _Look("key", "x", "k, head by head"),
    "value": _Look("value", "x", "v, head by head"),
    "out": _Look("score", "z", "attn_out"),
    "mlp_in": _Look("value", "x", "mlp_pre"),
    "mlp_out": _Look("value", "mlp_post", "mlp_out"),
    "wte": _Look("input", "token id", "dimension of x"),
    "wpe": _Look("input", "position", "dimension of x", first=1),
    "lm_head": _Look("input", "token id", "dimension of x"),
}


def block_weights(matrices: Iterable[Matrix], *, statistic: str, theme: Theme) -> Chart:
    """The matrices of one block, three a row; outlined is what belongs to the chosen head.

    `statistic` says in words what a cell of several weights shows.
    """
    panels = []
    for matrix in matrices:
        outlines: list[tuple[Span, Span]] = []
        if matrix.heads is not None:
            (n_rows, n_columns), by_row = matrix.values.shape, matrix.role == "out"
            start, stop = (place / matrix.block[0 if by_row else 1] for place in matrix.heads)
            outlines = [((0, n_columns), (start, stop))] if by_row else [((start, stop), (0, n_rows))]
        panels.append(replace(_panel(matrix, statistic), outlines=outlines))
    return tile_figure(panels, theme=theme, columns=3, width=BLOCK_WIDTH, framed=False)


def embedding_weights(matrices: Iterable[Matrix], *, statistic: str, theme: Theme) -> Chart:
    """The token matrix, and beside it that of positions and that of the output where a model has these of its own."""
    panels = [_panel(matrix, statistic) for matrix in matrices]
    return tile_figure(panels, theme=theme, width=EMBEDDING_WIDTH, cell_height=3.4, framed=False)


def _panel(matrix: Matrix, statistic: str) -> Panel:
    """A matrix as a panel; each cell knows the first row and column that it stands for."""
    look = _LOOKS[matrix.role]
    rows, columns = (np.indices(matrix.values.shape)[side] * matrix.block[side] for side in (0, 1))
    sides = f"{matrix.size[0]:,} × {matrix.size[1]:,}"
    return Panel(
        matrix.values,
        matrix.name,
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
