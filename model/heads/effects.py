"""How a change shifts the patterns of the heads in later layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from model.heads.comparison import pair_divergence
from model.trace.trace import Trace

MOST_ROWS = 256
"""At most this many rows of each pattern are compared."""


@dataclass(frozen=True)
class PatternShift:
    """How far a head's rows moved, as Jensen-Shannon divergence in bits (0 to 1): `largest` in the row of `query`, and
    the `mean` as in `pair_divergence`."""

    layer: int
    head: int
    largest: float
    query: int
    mean: float


def pattern_shifts(before: Trace, after: Trace) -> list[PatternShift]:
    """The shifts of all heads in the layers after the first changed one, in the model's order.

    Of a long text only the rows `compared_rows` are compared. One pattern at a time is in memory.
    """
    config, changes = after.network.config, after.changes
    if not changes:
        return []
    queries, found = compared_rows(after.n_pos), []
    for layer in range(changes.first_layer + 1, config.n_layers):
        for head in range(config.n_heads):
            rows, mean = row_shifts(before, after, layer, head, queries)
            most = int(rows.argmax())
            found.append(PatternShift(layer, head, float(rows[most]), int(queries[most]), mean))
    return found


def compared_rows(n_pos: int) -> Int[np.ndarray, " row"]:
    """The queries that `pattern_shifts` compares: all, or `MOST_ROWS` of them, evenly spaced from first to last."""
    return np.linspace(0, n_pos - 1, min(n_pos, MOST_ROWS)).round().astype(np.int64)


def row_shifts(
    before: Trace, after: Trace, layer: int, head: int, queries: Int[np.ndarray, " row"] | None = None
) -> tuple[Float[np.ndarray, " row"], float]:
    """How far these rows (by default all) of a head's pattern moved, and the mean, as in `pair_divergence`.

    In a head whose own links were cut, the weight that a row lacks counts as given to no token.

    Raises:
        SelectionError: there is no such layer or head.
    """
    rows = slice(None) if queries is None else queries
    patterns = before.pattern(layer, head)[rows], after.pattern(layer, head)[rows]
    if after.changes.keys_cut(layer, head):
        return pair_divergence(_with_nothing(patterns[0]), _with_nothing(patterns[1]))
    return pair_divergence(*patterns)


def _with_nothing(pattern: Float[np.ndarray, "query key"]) -> Float[np.ndarray, "query key_plus_1"]:
    """The pattern with one more column: how much each row falls short of 1."""
    lack = np.clip(1.0 - pattern.sum(axis=1, keepdims=True), 0.0, 1.0)
    return np.concatenate([pattern, np.where(lack < 1e-5, 0.0, lack)], axis=1)
