"""Sums over the weights of many heads, computed in blocks of rows: the (query, key) weights are never held as a whole.

`model.heads.measures` defines what is summed; `model.heads.all_heads` divides the sums by the number of queries.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray as Array
from torch import Tensor

from model.network import attention
from model.trace.trace import Trace

OF_CHOOSING = ("previous_token", "current_token", "first_token", "entropy", "mean_distance")
"""Sums over all queries but the first, which can only attend to itself."""
SUMS = (*OF_CHOOSING, "duplicate_token", "induction", "all_weight")
_BLOCK = 1 << 20  # weights in memory at a time: 4 MB
_LEAST = torch.finfo(torch.float32).tiny  # a smaller weight adds nothing to the entropy; avoids log(0)


def head_sums(trace: Trace, layers: range, heads: range) -> tuple[dict[str, Float[Array, "layer head"]], int]:
    """For these heads each of `SUMS`, summed over the queries; and how many queries repeat an earlier token, which is
    what "duplicate_token" and "induction" are averaged over. "all_weight" is the number of queries, less what was cut.
    """
    scale = trace.network.config.attn_scale
    sums = np.zeros((len(SUMS), len(layers), len(heads)))
    n_repeated = 0
    step = _block_rows(len(heads), trace.n_pos)
    for start in range(0, trace.n_pos, step):
        stop = min(start + step, trace.n_pos)
        duplicate, induction = _targets(trace.ids, start, stop)
        n_repeated += int(duplicate.any(-1).sum())  # what follows an earlier copy is never after the query
        for at, layer in enumerate(layers):
            q, k = trace.head_vectors(layer, heads, slice(start, stop), stop)
            scores = attention.apply_mask(attention.head_scores(q, k, scale(layer)))
            weights = attention.softmax(scores)
            for head in {cut.head for cut in trace.changes.cuts if cut.layer == layer and cut.head in heads}:
                place = head - heads.start
                weights[place] = trace.changes.pattern(layer, head, scores[place], first=start)
            sums[:, at] += _block_sums(weights, start, duplicate, induction)
    return dict(zip(SUMS, sums, strict=True)), n_repeated


def _block_rows(n_heads: int, n_pos: int) -> int:
    return max(1, min(n_pos, _BLOCK // (n_heads * n_pos)))


def _targets(
    ids: tuple[int, ...], start: int, stop: int
) -> tuple[Bool[Tensor, "query key"], Bool[Tensor, "query key"]]:
    """For the queries `start` to `stop`: which keys are earlier copies, and which follow an earlier copy."""
    tokens = torch.tensor(ids[:stop])
    duplicate = (tokens[start:, None] == tokens[None, :]).tril(diagonal=start - 1)
    induction = torch.zeros_like(duplicate)
    induction[:, 1:] = duplicate[:, :-1]
    return duplicate, induction


def _block_sums(
    weights: Float[Tensor, "head query key"],
    start: int,
    duplicate: Bool[Tensor, "query key"],
    induction: Bool[Tensor, "query key"],
) -> Float[Array, "measure head"]:
    """What a block of queries, the first at position `start`, adds to each of `SUMS`."""
    n_heads, n_query, n_key = weights.shape
    choosing = weights[:, 1:] if start == 0 else weights  # without the text's first query
    first = n_key - choosing.shape[1]  # position of the first query in `choosing`
    own: Int[Tensor, " query"] = torch.arange(first, n_key)
    rows = torch.arange(choosing.shape[1])
    pos = torch.arange(n_key, dtype=weights.dtype)
    flat = weights.reshape(n_heads, n_query * n_key)
    sums = (
        choosing[:, rows, own - 1].sum(-1),
        choosing[:, rows, own].sum(-1),
        choosing[:, :, 0].sum(-1),
        -(choosing * choosing.clamp_min(_LEAST).log2()).sum((-2, -1)),
        (own - choosing @ pos).sum(-1),
        flat @ duplicate.reshape(-1).to(weights.dtype),
        flat @ induction.reshape(-1).to(weights.dtype),
        flat.sum(-1),
    )
    return np.stack([part.double().numpy() for part in sums])
