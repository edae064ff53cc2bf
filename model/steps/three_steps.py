"""One head's work for one token in the article's three steps: create q, k and v; score; sum.

Everything is computed anew from what a trace holds, one operation at a time, so that each intermediate result can be
shown and the last one compared with the network's own. Source: Vaswani et al. 2017, sections 3.2.1 and 3.2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from gettext import gettext as _

import numpy as np
import torch
from jaxtyping import Bool, Float

from model.errors import SelectionError
from model.network.network import Network
from model.network.parts import Norm
from model.network.rotary import rotate
from model.steps.checks import largest_difference
from model.trace.trace import Trace

MOVED = 10
"""So many positions later a text is imagined to stand, to see what its scores depend on."""


@dataclass(frozen=True)
class HeadProjection:
    """What makes one head's queries, its keys or its values: its own columns of a projection."""

    weight: Float[np.ndarray, "d_model d_head"]
    bias: Float[np.ndarray, " d_head"] | None
    norm: Norm | None = None
    """What the head's queries or keys pass after the product (Qwen3)."""

    def __call__(self, x: Float[np.ndarray, "pos d_model"]) -> Float[np.ndarray, "pos d_head"]:
        """`x @ weight`, plus `bias` and through `norm` where there are these."""
        made = x @ self.weight if self.bias is None else x @ self.weight + self.bias
        return made if self.norm is None else self.norm(torch.tensor(made)).numpy()


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
    norms = network.block(layer).attn.qk_norms or (None, None)
    parts = ((network.w_q, network.b_q), (network.w_k, network.b_k), (network.w_v, network.b_v))
    found = []
    for (weight, bias), norm in zip(parts, (*norms, None), strict=True):
        b = bias(layer, head)
        made = HeadProjection(weight(layer, head).detach().numpy(), None if b is None else b.detach().numpy(), norm)
        found.append(made)
    return HeadProjections(*found)


@dataclass(frozen=True)
class Created:
    """Step 1 for every token, made anew: q, k and v, and q and k turned by their positions where the model does that.

    `difference` is the largest from the model's own. `moved_difference` is the largest of any score if the whole text
    stood `MOVED` positions later (0 up to rounding: a score depends on the distance alone); None without rotation.
    """

    q: Float[np.ndarray, "pos d_head"]
    k: Float[np.ndarray, "pos d_head"]
    v: Float[np.ndarray, "pos d_head"]
    rot_q: Float[np.ndarray, "pos d_head"]
    rot_k: Float[np.ndarray, "pos d_head"]
    difference: float
    moved_difference: float | None

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors."""
        return sum(part.nbytes for part in (self.q, self.k, self.v, self.rot_q, self.rot_k))


def create(trace: Trace, layer: int, head: int) -> Created:
    """x through the head's three projections, for every token.

    Raises:
        SelectionError: the trace has no such layer or head.
    """
    x, projections = trace.ln_1(layer), head_projections(trace.network, layer, head)
    q, k, v = projections.q(x), projections.k(x), projections.v(x)
    rot_q, rot_k = (_at(trace.network, part, 0) for part in (q, k))
    own = ((rot_q, trace.queries), (rot_k, trace.keys), (v, trace.values))
    difference = max(largest_difference(made, of(layer, head)) for made, of in own)
    moved_difference = None
    if trace.network.config.rotary:
        later_q, later_k = (_at(trace.network, part, MOVED) for part in (q, k))
        scores = later_q @ later_k.T * trace.network.config.attn_scale(layer)  # (query, key)
        moved_difference = largest_difference(scores, trace.attn_scores(layer, head))
    return Created(q, k, v, rot_q, rot_k, difference, moved_difference)


def _at(network: Network, vectors: Float[np.ndarray, "pos d_head"], first: int) -> Float[np.ndarray, "pos d_head"]:
    """Queries or keys turned as the positions from `first` on turn them; as they are where positions are embedded."""
    turn = network.turn(torch.arange(first, first + len(vectors)))
    return vectors if turn is None else rotate(torch.tensor(vectors), turn).numpy()


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
