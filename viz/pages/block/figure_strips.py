"""Inside a block: vectors as strips that can be zoomed, heads cut out of them, and the weighted sum as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from viz.figures.blocks import MAX_CELLS, strongest
from viz.figures.chart import Chart
from viz.figures.data import Table, numbers
from viz.figures.frames import Span
from viz.figures.labels import Axis, number_axis, one_row, part_of, token_axis
from viz.figures.panels import Panel
from viz.figures.strips import STRIP_HEIGHT
from viz.figures.tiles import tile_figure
from viz.text.catalogue import _
from viz.text.numbers import weight_text
from viz.text.plotly import plain
from viz.theme import Theme

if TYPE_CHECKING:
    from model.steps.block import SumTable

LONGEST_ROW = 256
"""Up to this many cells a vector is one row of its figure; a longer one is laid out in rows of equal length."""
NUMBERED_CELLS = 16
"""Up to this many cells in a zoomed-out strip, each carries its number."""
WIDTH = 380
"""The width in pixels that strips are laid out for; they stretch with the page."""
TABLE_WIDTH = 780


@dataclass(frozen=True)
class Strip:
    """A vector to draw: its name, the colour scale of its role, its numbers."""

    name: str
    scale: str
    values: Float[np.ndarray, " size"]


def block_strips(
    strips: Sequence[Strip],
    *,
    theme: Theme,
    per_cell: float = 1.0,
    shared: bool = False,
    columns: int = 1,
    width: int = WIDTH,
    mark: tuple[int, int] | None = None,
) -> Chart:
    """Vectors one under the other, `columns` side by side, a cell for every `per_cell` numbers.

    A cell of several numbers shows the one farthest from 0. `shared` gives all strips one range, else each has its own;
    `mark` outlines the numbers from its first up to, not including, its second in every strip.
    """
    cells = [_cells(strip.values, per_cell) for strip in strips]
    largest = max(float(np.abs(strip.values).max()) for strip in strips) or None if shared else None
    longest = LONGEST_ROW // columns
    rows = [_in_rows(values, row_length(len(values), longest)) for values, _ in cells]
    wrapped = any(len(row) > 1 for row in rows)
    zoomed_out = per_cell > 1
    counted = "block" if zoomed_out else "number in its row" if wrapped else "number"
    panels = [
        Panel(
            values,
            strip.name,
            strip.scale,
            Axis("", ("",) * len(values), ("",) * len(values)),
            number_axis(counted, values.shape[1]),
            zmax=largest,
            zmin=None if largest is None else -largest,
            hover=f"{plain(strip.name)}, "
            + ("strongest of %{hovertext}" if zoomed_out else "number %{hovertext}")
            + ": %{value}",
            masked_hover="no number here: the vector has ended",
            told=_blocks_told(starts),
            outlines=[] if mark is None or zoomed_out else list(_pieces(*mark, len(strip.values), values.shape[1])),
        )
        for strip, values, (_, starts) in zip(strips, rows, cells, strict=True)
    ]
    most = max(row.shape[1] for row in rows)
    return tile_figure(
        panels,
        theme=theme,
        columns=columns,
        width=width,
        cell_height=STRIP_HEIGHT if not wrapped else STRIP_HEIGHT / 2,
        compact=True,
        framed=most <= 128 // columns,
        numbers=zoomed_out and most * columns <= NUMBERED_CELLS,
        table=lambda: _table(strips, cells),
    )


def _blocks_told(starts: Int[np.ndarray, " cell_plus_1"]) -> list[str]:
    """The numbers that each cell stands for: `7`, or `64–127`."""
    ends = ((start, stop - 1) for start, stop in pairwise(starts.tolist()))
    return [str(start) if start == end else f"{start}–{end}" for start, end in ends]


def _table(
    strips: Sequence[Strip], cells: Sequence[tuple[Float[np.ndarray, " cell"], Int[np.ndarray, " cell_plus_1"]]]
) -> Table:
    """Every drawn number with the first and the last number of its vector that it stands for."""
    rows = (
        (strip.name, start, stop - 1, value)
        for strip, (values, starts) in zip(strips, cells, strict=True)
        for value, (start, stop) in zip(numbers(values), pairwise(starts.tolist()), strict=True)
    )
    return Table(("vector", "from", "to", "value"), rows)


def head_rows(parts: Sequence[tuple[str, str, Float[np.ndarray, "head d_head"]]], *, head: int, theme: Theme) -> Chart:
    """Long vectors `(title, scale, values)` cut into heads, a head a row, side by side; `head` is outlined."""
    panels = [
        Panel(
            values,
            title,
            scale,
            number_axis("head", len(values)),
            number_axis("dimension", values.shape[1]),
            note=f"{values.shape[0]} heads × {values.shape[1]}",
            hover=f"{plain(title)} of head %{{y}}, dimension %{{x}}: %{{value}}",
            outlines=[((0, values.shape[1]), (head, head + 1))] if len(values) <= MAX_CELLS else [],
        )
        for title, scale, values in parts
    ]
    return tile_figure(panels, theme=theme, width=TABLE_WIDTH, cell_height=_row_height(len(panels[0].rows)))


def keys_of_query(
    q: Float[np.ndarray, " d_head"],
    k: Float[np.ndarray, "row d_head"],
    *,
    keys: Int[np.ndarray, " row"],
    query: int,
    labels: Sequence[str],
    theme: Theme,
) -> Chart:
    """The query vector of the token at `query`, and below it the key vectors that it is compared with, a token a row.

    `keys` are the positions of the rows of `k`.
    """
    dimensions = number_axis("dimension of the head", len(q))
    tokens = _token_rows(keys, labels, len(q))
    panels = [
        Panel(
            q[None, :],
            "Query",
            "query",
            part_of(token_axis("query", labels), [query], ""),
            dimensions,
            hover="query of %{y}, dimension %{x}: %{value}",
        ),
        Panel(k, "Keys", "key", tokens, dimensions, hover="key of %{y}, dimension %{x}: %{value}"),
    ]
    return tile_figure(panels, theme=theme, columns=1, width=WIDTH, cell_height=_row_height(len(keys)))


def sum_of_values(table: SumTable, *, z: Float[np.ndarray, " d_head"], labels: Sequence[str], theme: Theme) -> Chart:
    """The weighted sum as a table: token, value vector, weight, weighted vector; below, the sum, and the model's `z`.

    The tokens that have no row of their own are one last row, with their weights and weighted vectors added up. Values
    and weighted vectors share one range, so a row with a small weight is pale.
    """
    values, weighted, total, n_rest = table.values, table.weighted, table.total, table.n_rest
    d_head = values.shape[1]
    dimensions = number_axis("dimension of the head", d_head)
    tokens = _token_rows(table.keys, labels, d_head)
    shares = [weight_text(float(weight)) for weight in table.weights]
    masked = np.zeros((len(table.keys), d_head), bool)
    if n_rest:
        name = _("{n:,} others", n=n_rest)
        tokens = replace(
            tokens,
            ticks=(*tokens.ticks, name),
            names=(*tokens.names, name),
            labels=(*tokens.labels, name),
            numbers=(*tokens.numbers, None),
        )
        shares.append(weight_text(table.rest_weight))
        masked = np.vstack([masked, np.ones((1, d_head), bool)])
        values, weighted = np.vstack([values, np.zeros_like(table.rest)]), np.vstack([weighted, table.rest])
    largest = float(np.abs(np.vstack([values, weighted])).max()) or None
    low = None if largest is None else -largest
    sums = float(max(np.abs(total).max(), np.abs(z).max())) or None
    low_sum = None if sums is None else -sums
    panels = [
        Panel(
            values,
            "Value vectors",
            "value",
            tokens,
            dimensions,
            zmin=low,
            zmax=largest,
            masked=masked,
            masked_hover=f"{n_rest:,} other tokens, each with a value vector of its own",
            hover="value of %{y}, dimension %{x}: %{value}",
        ),
        Panel(
            weighted,
            "Weight × value",
            "value",
            replace(tokens, title="weight", ticks=tuple(shares)),
            dimensions,
            zmin=low,
            zmax=largest,
            hover="weighted value of %{y}, dimension %{x}: %{value}",
        ),
        Panel(
            z[None, :],
            "z, as the model has it",
            "score",
            one_row("z", "z"),
            dimensions,
            hover="the model's own %{y}, dimension %{x}: %{value}",
            zmin=low_sum,
            zmax=sums,
        ),
        Panel(
            total[None, :],
            "Sum of the rows",
            "score",
            one_row("z", "sum"),
            dimensions,
            hover="sum, dimension %{x}: %{value}",
            zmin=low_sum,
            zmax=sums,
        ),
    ]
    return tile_figure(panels, theme=theme, columns=2, width=TABLE_WIDTH, cell_height=_row_height(len(tokens)))


def row_length(n: int, longest: int = LONGEST_ROW) -> int:
    """How many of `n` cells one row takes: all, or else the largest number up to `longest` that divides `n`.

    Where none above a third of `longest` does, rows are `longest` and the last one ends early.
    """
    if n <= longest:
        return n
    return next((length for length in range(longest, longest // 3, -1) if n % length == 0), longest)


def _in_rows(values: Float[np.ndarray, " cell"], length: int) -> Float[np.ndarray, "row length"]:
    """The cells in rows of `length`; NaN after the last."""
    rows = np.full((math.ceil(len(values) / length), length), np.nan, values.dtype)
    rows.reshape(-1)[: len(values)] = values
    return rows


def _cells(
    values: Float[np.ndarray, " size"], per_cell: float
) -> tuple[Float[np.ndarray, " cell"], Int[np.ndarray, " cell_plus_1"]]:
    """The number farthest from 0 of each of the blocks of about `per_cell` numbers, and where the blocks start."""
    n_cells = max(1, min(len(values), round(len(values) / per_cell)))
    starts = np.linspace(0, len(values), n_cells + 1).round().astype(np.int64)
    return strongest(values, starts[:-1]), starts


def _token_rows(keys: Int[np.ndarray, " row"], labels: Sequence[str], d_head: int) -> Axis:
    """The tokens at `keys` as rows; where a cell stands for several dimensions, its hover text counts rows."""
    return part_of(token_axis("key", labels), keys.tolist(), "token" if d_head <= MAX_CELLS else "row")


def _row_height(n_rows: int) -> float:
    return max(6.0, min(STRIP_HEIGHT, 400 / n_rows))


def _pieces(start: int, stop: int, size: int, length: int) -> Iterator[tuple[Span, Span]]:
    """The boxes around the numbers `start` to `stop - 1` of a vector of `size` numbers, in rows of `length`."""
    stop = min(stop, size)
    for row in range(start // length, math.ceil(stop / length)):
        yield (max(start - row * length, 0), min(stop - row * length, length)), (row, row + 1)
