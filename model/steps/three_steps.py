"""One head's work for one token in the article's three steps: create q, k and v; score; sum.

Everything is computed anew from what a trace holds, one operation at a time, so that each intermediate result can be
shown and the last one compared with the network's own. Source: Vaswani et al. 2017, sections 3.2.1 and 3.2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from gettext import gettext as _

import numpy as np
from jaxtyping import Bool, Float

from model.errors import SelectionError
from model.network.network import Network
from model.trace.trace import Trace


@dataclass(frozen=True)
class HeadProjection:
    """What makes one head's queries, its keys or its values: its own columns of a projection."""

    weight: Float[np.ndarray, "d_model d_head"]
    bias: Float[np.ndarray, " d_head"] | None

    def __call__(self, x: Float[np.ndarray, "pos d_model"]) -> Float[np.ndarray, "pos d_head"]:
        """`x @ weight`, plus `bias` where there is one."""
        return x @ self.weight if self.bias is None else x @ self.weight + self.bias


@dataclass(frozen=True)
class HeadProjections:
    """The three projections of one head: W_Q, W_K and W_V with their biases."""

    q: HeadProjection
    k: HeadProjection
    v: HeadProjection


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


def head_projections(network: Network, layer: int, head: int) -> HeadProjections:
    """What makes the head's q, k and v.

    Raises:
        SelectionError: the network has no such layer or head.
    """
    return HeadProjections(
        *(
            HeadProjection(weight(layer, head).detach().numpy(), None if b is None else b.detach().numpy())
            for weight, b in (
                (network.w_q, network.b_q(layer, head)),
                (network.w_k, network.b_k(layer, head)),
                (network.w_v, network.b_v(layer, head)),
            )
        )
    )


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
        raise SelectionError(
            _("There is no position {query}; this text has positions 0 to {last}.").format(query=query, last=n_keys - 1)
        )
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
        z = trace.pattern(layer, head, causal=False) @ trace.values(layer, head)  # (query, key) @ (key, d_head)
        z.setflags(write=False)
        return z

    return trace.remembered(("unmasked_z", layer, head), summed)
