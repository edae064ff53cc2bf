"""A large matrix drawn small, honestly: every cell of the drawing stands for a block and says so.

A block shows its value farthest from 0, as the strongest cell is what one looks for in a pattern (a mean would wash
out a one-cell diagonal); where that value lies is kept, so a click and a hover name the real cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from viz.figures.labels import Axis
from viz.text.catalogue import _

MAX_CELLS = 256
WHOLE_CELLS = 160
"""A matrix with more cells than this along both sides is reduced as well: whole, it would weigh megabytes."""
REDUCED_CELLS, CROWDED_CELLS = 108, 72
"""How many cells a side of a larger matrix is reduced to, among up to three panels and among more: each cell carries
its exact value and place, so their number is what a figure weighs."""


@dataclass(frozen=True)
class Blocks:
    """A matrix reduced to blocks of `block` = (rows, columns) cells; `rows` and `columns` say where each value lies."""

    values: Float[np.ndarray, "rows columns"]
    masked: Bool[np.ndarray, "rows columns"]
    rows: Int[np.ndarray, "rows columns"]
    columns: Int[np.ndarray, "rows columns"]
    block: tuple[int, int]

    @property
    def reduced(self) -> bool:
        return self.block != (1, 1)


def to_blocks(
    values: Float[np.ndarray, "rows columns"],
    masked: Bool[np.ndarray, "rows columns"] | None = None,
    *,
    max_cells: int = MAX_CELLS,
    reduced_cells: int | None = None,
) -> Blocks:
    """Up to `max_cells` x `max_cells` cells the matrix as it is; a longer side in at most `reduced_cells` blocks.

    `reduced_cells` is `max_cells` unless it is given.

    Values that are not finite count as masked. A block is masked only if all of it is; else its masked cells are left
    out.
    """
    hidden = ~np.isfinite(values) if masked is None else masked | ~np.isfinite(values)
    n_rows, n_columns = values.shape
    most = reduced_cells or max_cells
    high, wide = (math.ceil(n / most) if n > max_cells else 1 for n in values.shape)
    if high == wide == 1:
        places = np.indices(values.shape)
        return Blocks(values, hidden, places[0], places[1], (1, 1))
    full_rows, full_columns = math.ceil(n_rows / high) * high, math.ceil(n_columns / wide) * wide
    strength = np.full((full_rows, full_columns), -2.0)
    strength[:n_rows, :n_columns] = np.where(hidden, -1.0, np.abs(np.where(hidden, 0.0, values)))
    tiles = strength.reshape(full_rows // high, high, full_columns // wide, wide).transpose(0, 2, 1, 3)
    best = tiles.reshape(*tiles.shape[:2], high * wide).argmax(axis=-1)
    rows = best // wide + high * np.arange(tiles.shape[0])[:, None]
    columns = best % wide + wide * np.arange(tiles.shape[1])[None, :]
    return Blocks(values[rows, columns], hidden[rows, columns], rows, columns, (high, wide))


def starts_of(n: int, most: int) -> Int[np.ndarray, " block"]:
    """Where blocks of equal length start that cut `n` numbers into at most `most` (the last may be shorter)."""
    return np.arange(0, n, math.ceil(n / most))


def strongest(values: Float[np.ndarray, "*shape"], *starts: Int[np.ndarray, " _"]) -> Float[np.ndarray, "*blocks"]:
    """The value farthest from 0 of each block, with its sign: of two equally far the positive one.

    `starts` says for each of the last axes where its blocks start. To know also where the values lie: `to_blocks`.
    """
    low = high = values
    for axis, at in enumerate(starts, start=-len(starts)):
        low, high = np.minimum.reduceat(low, at, axis=axis), np.maximum.reduceat(high, at, axis=axis)
    return np.where(high >= -low, high, low)


def block_axis(axis: Axis, block: int) -> Axis:
    """The axis of the blocks: ticks as at each block's first position, hover names `10–12`."""
    if block == 1:
        return axis
    starts = range(0, len(axis), block)
    ends = [min(start + block, len(axis)) - 1 for start in starts]
    names = tuple(
        f"{start + axis.first}–{end + axis.first}" if end > start else str(start + axis.first)
        for start, end in zip(starts, ends, strict=True)
    )
    numbers = tuple(start + axis.first for start in starts)
    return Axis(axis.title, tuple(axis.ticks[start] for start in starts), names, names, numbers, first=0)


def block_note(block: tuple[int, int]) -> str:
    """What a cell of the drawing shows, in words; empty for a matrix that was not reduced."""
    if block == (1, 1):
        return ""
    return _("each cell: the strongest value of {rows} × {columns}", rows=block[0], columns=block[1])


def short_block_note(block: tuple[int, int]) -> str:
    """The same where there is little room."""
    return "" if block == (1, 1) else _("strongest of {rows} × {columns}", rows=block[0], columns=block[1])
