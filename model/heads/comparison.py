"""Two heads compared: how far apart their weights are, and what each adds to the residual stream.

Distances are computed in float64, so that a small one is not rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from model.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class Output:
    """The output of one head, or of the mean of a layer's heads, at one position.

    `attn_out` is the output of the whole layer. A mean has no `z`, since each head's z has its own dimensions.
    """

    z: Float[np.ndarray, " d_head"] | None
    result: Float[np.ndarray, " d_model"]
    attn_out: Float[np.ndarray, " d_model"]

    @property
    def cosine(self) -> float:
        """The cosine of `result` and `attn_out`, from -1 to 1; NaN if either is zero."""
        return cosine(self.result, self.attn_out)


def js_divergence(p: Float[np.ndarray, "*rows n"], q: Float[np.ndarray, "*rows n"]) -> Float[np.ndarray, "*rows"]:
    """The Jensen-Shannon divergence in bits of two rows of probabilities, for each leading index.

    The mean of both rows' Kullback-Leibler divergences from their mean: 0 for equal rows, 1 for rows that share
    nothing; symmetric, and finite whatever is zero. Rows should sum to 1; they are not normalised.

    Source: Lin 1991, "Divergence Measures Based on the Shannon Entropy".
    """
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    middle = (p + q) / 2
    bits = (_kl_divergence(p, middle) + _kl_divergence(q, middle)) / 2
    return np.asarray(np.clip(bits, 0.0, 1.0))  # rounding may exceed the range by 1e-8


def pair_divergence(
    a: Float[np.ndarray, "query key"], b: Float[np.ndarray, "query key"]
) -> tuple[Float[np.ndarray, " query"], float]:
    """How far apart two patterns are: each row's Jensen-Shannon divergence in bits, and their mean.

    The first query can only attend to itself, in any head: the mean leaves it out unless it is the only one.
    """
    rows = js_divergence(a, b)
    return rows, float(rows[1:].mean() if len(rows) > 1 else rows.mean())


def mean_pattern(trace: Trace, layer: int) -> Float[np.ndarray, "query key"]:
    """The mean of the patterns of a layer's heads; its rows sum to 1."""
    heads = range(trace.network.config.n_heads)

    def mean() -> np.ndarray:
        weights = np.asarray(sum(trace.pattern(layer, head) for head in heads) / np.float32(len(heads)))
        weights.setflags(write=False)
        return weights

    return trace.remembered(("mean_pattern", layer), mean)


def head_output(trace: Trace, layer: int, head: int, query: int) -> Output:
    """The output of one head at `query`: its z, and what it adds to the residual stream.

    Raises:
        SelectionError: there is no such layer or head.
    """
    at = slice(query, query + 1)
    return Output(trace.z[layer, head, query], trace.result(layer, head, at)[0], trace.attn_out(layer, at)[0])


def mean_output(trace: Trace, layer: int, query: int) -> Output:
    """The mean of what a layer's heads add to the residual stream at `query`; times `n_heads`, it is their sum."""
    heads, at = range(trace.network.config.n_heads), slice(query, query + 1)
    result = sum(trace.result(layer, head, at)[0] for head in heads) / np.float32(len(heads))
    return Output(None, np.asarray(result), trace.attn_out(layer, at)[0])


def cosine(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"]) -> float:
    """The cosine of the angle between two vectors, from -1 (opposite) to 1 (same direction); NaN if one is zero."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.clip(a @ b / lengths, -1.0, 1.0)) if lengths > 0 else float("nan")


def _kl_divergence(p: Float[np.ndarray, "*rows n"], q: Float[np.ndarray, "*rows n"]) -> Float[np.ndarray, "*rows"]:
    """Kullback-Leibler divergence of `p` from `q` in bits; `q` may be zero only where `p` is."""
    logs = np.log2(np.divide(p, q, out=np.ones_like(p), where=p > 0))
    return np.asarray((p * logs).sum(axis=-1))
