"""Every head's pattern as a thumbnail, for an overview of all heads.

Up to `max_cells` tokens a thumbnail is the pattern itself. For a longer text it has one row per `block` of queries,
that of the block's last query, and each cell sums the row's weights on `block` neighbouring keys: every row still sums
to 1, and the weights are the model's own. All patterns at once would dominate a trace's cost (604 MB for 144 heads at
1024 tokens), so only the rows shown are computed, one layer at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.network import attention
from model.trace.trace import Trace

MAX_CELLS = 64
_BANDS = 4  # a layer's rows are computed in this many bands, each over the keys that its last row sees


@dataclass(frozen=True, eq=False)
class Thumbnails:
    """All heads' patterns in at most `max_cells` rows and columns; zero where all keys follow the row's query."""

    weights: Float[np.ndarray, "layer head row column"]  # 0 to 1, each row sums to 1
    queries: Int[np.ndarray, " row"]  # the position whose row is shown
    block: int  # keys summed in a cell, queries represented by a row; 1: the patterns themselves

    @property
    def n_cells(self) -> int:
        """The number of rows, and of columns, of a thumbnail."""
        return len(self.queries)


def thumbnails(trace: Trace, *, max_cells: int = MAX_CELLS) -> Thumbnails:
    """Every head's pattern in at most `max_cells` x `max_cells` cells.

    Raises:
        ValueError: `max_cells` is less than 1.
    """
    if max_cells < 1:
        raise ValueError(f"{max_cells} cells a side were asked for; at least one is needed")
    n_pos, config = trace.n_pos, trace.network.config
    block = math.ceil(n_pos / max_cells)
    n_cells = math.ceil(n_pos / block)
    queries = np.minimum(np.arange(1, n_cells + 1) * block, n_pos) - 1
    bands = [_band(queries[rows], int(rows[0])) for rows in np.array_split(np.arange(n_cells), min(_BANDS, n_cells))]
    weights = torch.zeros(config.n_layers, config.n_heads, n_cells, n_cells)
    for layer in range(config.n_layers):
        q, k = trace.head_vectors(layer, range(config.n_heads), queries, n_pos)
        for rows, mask in bands:
            scores = attention.head_scores(q[:, rows], k[:, : mask.shape[1]], config.attn_scale(layer)) + mask
            weights[layer, :, rows, : rows.stop] = _add_up(scores.softmax(dim=-1), block)
    shown = weights.numpy()
    shown.setflags(write=False)
    return Thumbnails(shown, queries, block)


def _band(queries: Int[np.ndarray, " query"], first: int) -> tuple[slice, Float[Tensor, "query key"]]:
    """The rows of a band that starts at `first`, and their mask: minus infinity on later keys."""
    mask = np.where(np.arange(queries[-1] + 1) > queries[:, None], -np.inf, 0.0)
    return slice(first, first + len(queries)), torch.tensor(mask, dtype=torch.float32)


def _add_up(weights: Float[Tensor, "head row key"], block: int) -> Float[Tensor, "head row column"]:
    """Each row's weights summed over `block` keys at a time."""
    if block == 1:
        return weights
    missing = -weights.shape[-1] % block
    padded = torch.nn.functional.pad(weights, (0, missing)) if missing else weights
    return padded.unflatten(-1, (-1, block)).sum(dim=-1)
