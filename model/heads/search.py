"""Which heads look where: how much weight each gives to a key, and the heads ranked by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from gettext import gettext as _

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.errors import SelectionError
from model.network import attention
from model.trace.trace import Trace

_BLOCK = 1 << 20  # weights in memory at a time: 4 MB


@dataclass(frozen=True)
class Found:
    """A head in a ranking: the weight it is ranked by, and the key that receives the weight."""

    layer: int
    head: int
    weight: float
    key: int


def mean_weights_to(trace: Trace) -> Float[np.ndarray, "layer head key"]:
    """The weight that each head gives to each key, 0 to 1: the mean over the queries that see it (its own and later).

    Computed in blocks of rows: no head's (query, key) weights are ever held as a whole.
    """
    config, n_pos = trace.network.config, trace.n_pos
    sums = torch.zeros(config.n_layers, config.n_heads, n_pos, dtype=torch.float64)
    step = max(1, _BLOCK // (config.n_heads * n_pos))
    for layer in range(config.n_layers):
        for start in range(0, n_pos, step):
            stop = min(start + step, n_pos)
            sums[layer, :, :stop] += _weights(trace, layer, start, stop).sum(dim=-2)
    return (sums / torch.arange(n_pos, 0, -1)).float().numpy()  # n_pos - i queries see key i


def strongest_key(
    weights: Float[np.ndarray, "layer head key"], *, left_out: tuple[int, ...] = ()
) -> tuple[Float[np.ndarray, "layer head"], Int[np.ndarray, "layer head"]]:
    """For every head the largest weight, and the key that receives it; the keys `left_out` do not count.

    Raises:
        SelectionError: no key is left.
    """
    counted = np.setdiff1d(np.arange(weights.shape[-1]), left_out)
    if not len(counted):
        raise SelectionError(_("All tokens that this one sees are left out; choose a later token, or leave none out."))
    best = weights[..., counted].argmax(axis=-1)
    return weights[..., counted].max(axis=-1), counted[best]


def ranked(
    weights: Float[np.ndarray, "layer head"],
    keys: Int[np.ndarray, "layer head"] | int,
    *,
    most: int,
    least: float = 0.0,
) -> list[Found]:
    """The `most` heads with the largest weights, largest first; none with less than `least`.

    Of equal weights the lower layer comes first, then the lower head.
    """
    n_heads = weights.shape[1]
    order = np.argsort(-weights, axis=None, kind="stable")[:most]
    where = np.broadcast_to(keys, weights.shape)
    places = [divmod(int(i), n_heads) for i in order if weights.flat[i] >= least]
    return [Found(layer, head, float(weights[layer, head]), int(where[layer, head])) for layer, head in places]


def largest_of(scores: Sequence[Float[np.ndarray, "layer head"]]) -> Int[np.ndarray, "layer head"]:
    """For every head the index of its largest score; NaN does not count, and -1 means that all are NaN."""
    stacked = np.stack(scores)
    best = np.where(np.isnan(stacked), -np.inf, stacked).argmax(axis=0)
    return np.where(np.isnan(stacked).all(axis=0), -1, best)


def _weights(trace: Trace, layer: int, start: int, stop: int) -> Float[Tensor, "head query key"]:
    """The rows `start` to `stop` of a layer's patterns, over the keys that the last of them sees."""
    q, k = trace.head_vectors(layer, range(trace.network.config.n_heads), slice(start, stop), stop)
    scores = attention.head_scores(q, k, trace.network.config.attn_scale(layer))
    return attention.softmax(attention.apply_mask(scores))
