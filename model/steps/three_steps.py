"""One head's work for one token in the article's three steps: create q, k and v; score; sum.

Everything is computed anew from what a trace holds, one operation at a time, so that each intermediate result can be
shown and the last one compared with the network's own. Source: Vaswani et al. 2017, sections 3.2.1 and 3.2.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from model.errors import SelectionError
from model.network.gpt2 import GPT2
from model.trace.trace import Trace


@dataclass(frozen=True)
class Projection:
    """One head's part of `c_attn` for its queries, its keys or its values."""

    weight: Float[np.ndarray, "d_model d_head"]
    bias: Float[np.ndarray, " d_head"]

    def __call__(self, x: Float[np.ndarray, "pos d_model"]) -> Float[np.ndarray, "pos d_head"]:
        """`x @ weight + bias`."""
        return x @ self.weight + self.bias


@dataclass(frozen=True)
class HeadProjections:
    """The three projections of one head: W_Q, W_K and W_V with their biases."""

    q: Projection
    k: Projection
    v: Projection


@dataclass(frozen=True)
class Scoring:
    """Step 2 for one query: what each key's score is made of. `masked` marks the keys that the query may not read."""

    products: Float[np.ndarray, "key d_head"]
    sums: Float[np.ndarray, " key"]
    scaled: Float[np.ndarray, " key"]
    masked: Bool[np.ndarray, " key"]
    weights: Float[np.ndarray, " key"]


@dataclass(frozen=True)
class Summing:
    """Step 3 for one query: each key's value times its weight, and their sum `z`."""

    weighted: Float[np.ndarray, "key d_head"]
    z: Float[np.ndarray, " d_head"]


def head_projections(network: GPT2, layer: int, head: int) -> HeadProjections:
    """The columns of the layer's `attn.c_attn` that make this head's q, k and v.

    `c_attn` lays the queries of all heads side by side, then the keys, then the values.

    Raises:
        SelectionError: the network has no such layer or head.
    """
    c = network.config
    if not (0 <= layer < c.n_layers and 0 <= head < c.n_heads):
        raise SelectionError(
            f"There is no head L{layer}H{head}; this model has the layers 0 to {c.n_layers - 1} with the heads 0 to "
            f"{c.n_heads - 1} each."
        )
    c_attn = network.get_submodule(f"h.{layer}.attn.c_attn")
    weight = c_attn.get_parameter("weight").detach().numpy()  # (d_model, 3 * d_model)
    bias = c_attn.get_parameter("bias").detach().numpy()  # (3 * d_model,)
    parts = (slice(start := i * c.d_model + head * c.d_head, start + c.d_head) for i in range(3))
    return HeadProjections(*(Projection(weight[:, part], bias[part]) for part in parts))


def score(
    q: Float[np.ndarray, " d_head"],
    k: Float[np.ndarray, "key d_head"],
    *,
    query: int,
    scale: float,
    causal: bool = True,
) -> Scoring:
    """How well the query `q` of the token at `query` matches every key, as scores and as weights that add up to 1.

    With `causal=False` no key is masked, as in an encoder.

    Raises:
        SelectionError: there is no key at `query`.
    """
    n_keys = len(k)
    if not 0 <= query < n_keys:
        raise SelectionError(f"There is no position {query}; this text has the positions 0 to {n_keys - 1}.")
    products = q * k  # (d_head,) * (key, d_head) -> (key, d_head)
    sums = products.sum(axis=1)
    scaled = sums * np.float32(scale)
    masked = (np.arange(n_keys) > query) & causal
    seen = np.where(masked, -np.inf, scaled)
    powers = np.exp(seen - seen.max())
    return Scoring(products, sums, scaled, masked, (powers / powers.sum()).astype(scaled.dtype))


def sum_values(weights: Float[np.ndarray, " key"], v: Float[np.ndarray, "key d_head"]) -> Summing:
    """The values times their weights, and the sum of these over the keys."""
    weighted = weights[:, None] * v  # (key, 1) * (key, d_head) -> (key, d_head)
    return Summing(weighted, weighted.sum(axis=0))


def unmasked_z(trace: Trace, layer: int, head: int) -> Float[np.ndarray, "pos d_head"]:
    """Every token's `z` as it would be from the same q, k and v if every token saw every other, as in an encoder.

    Raises:
        SelectionError: the trace has no such layer or head.
    """

    def summed() -> np.ndarray:
        z = trace.pattern(layer, head, causal=False) @ trace.v[layer, head]  # (query, key) @ (key, d_head)
        z.setflags(write=False)
        return z

    return trace.remembered(("unmasked_z", layer, head), summed)
