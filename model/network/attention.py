"""Self-attention in the steps of the article, each a small pure function.

A query is always the row, a key the column. `...` stands for any leading axes, often (head,).
Source of the mathematics: Vaswani et al. 2017, section 3.2; Radford et al. 2019.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def split_heads(x: Float[Tensor, "*batch pos d_model"], n_heads: int) -> Float[Tensor, "*batch head pos d_head"]:
    """Split each position's vector into `n_heads` pieces of equal length (step 1.5), as a view."""
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def for_each_head(x: Float[Tensor, "*batch kv_head pos d_head"], group: int) -> Float[Tensor, "*batch head pos d_head"]:
    """Keys or values once for each query head: every one of them `group` times in a row (Ainslie et al. 2023)."""
    return x if group == 1 else x.repeat_interleave(group, dim=-3)


def attn_scores(
    q: Float[Tensor, "*batch query d_head"], k: Float[Tensor, "*batch key d_head"], scale: float
) -> Float[Tensor, "*batch query key"]:
    """How well each query matches each key: their dot product times `scale`, 1 / sqrt(d_head) in GPT-2 (step 2)."""
    return (q @ k.transpose(-1, -2)) * scale  # (.., query, d_head) @ (.., d_head, key) -> (.., query, key)


def head_scores(
    q: Float[Tensor, "*batch head query d_head"], k: Float[Tensor, "*batch kv_head key d_head"], scale: float
) -> Float[Tensor, "*batch head query key"]:
    """`attn_scores` of all heads, where several query heads may share a key head; no key is copied."""
    folded = q.unflatten(-3, (k.shape[-3], -1)).flatten(-3, -2)  # (.., kv_head, group and query, d_head)
    return attn_scores(folded, k, scale).unflatten(-2, (-1, q.shape[-2])).flatten(-4, -3)


def causal_mask(n_query: int, n_key: int, device: torch.device | None = None) -> Tensor:
    """(query, key) booleans: True where the key follows the query. The queries are the last `n_query` positions."""
    ones = torch.ones(n_query, n_key, dtype=torch.bool, device=device)
    return ones.triu(diagonal=n_key - n_query + 1)


def apply_mask(scores: Float[Tensor, "*batch query key"]) -> Float[Tensor, "*batch query key"]:
    """The scores with every key after its query at minus infinity, so that no token sees the future."""
    future = causal_mask(scores.shape[-2], scores.shape[-1], scores.device)
    return scores.masked_fill(future, float("-inf"))


def softmax(scores: Float[Tensor, "*batch query key"]) -> Float[Tensor, "*batch query key"]:
    """Each row as weights from 0 to 1 that sum to 1."""
    return scores.softmax(dim=-1)


def weighted_values(
    pattern_row: Float[Tensor, "*batch key"], v: Float[Tensor, "*batch key d_head"]
) -> Float[Tensor, "*batch key d_head"]:
    """Each key's value vector times the weight that one query gives it; summed over the keys, that query's `z`."""
    return pattern_row.unsqueeze(-1) * v  # (.., key, 1) * (.., key, d_head) -> (.., key, d_head)


def weighted_sum(
    pattern: Float[Tensor, "*batch query key"], v: Float[Tensor, "*batch key d_head"]
) -> Float[Tensor, "*batch query d_head"]:
    """The head's output `z`: for every query, the sum of the values times their weights (step 3)."""
    return pattern @ v  # (.., query, key) @ (.., key, d_head) -> (.., query, d_head)


def merge_heads(z: Float[Tensor, "*batch head pos d_head"]) -> Float[Tensor, "*batch pos d_model"]:
    """Concatenate the heads' outputs, head 0 first (step 3.5); the inverse of `split_heads`."""
    return z.transpose(-3, -2).flatten(-2)


def fused_attention(
    q: Float[Tensor, "*batch query d_head"],
    k: Float[Tensor, "*batch key d_head"],
    v: Float[Tensor, "*batch key d_head"],
    scale: float,
) -> Float[Tensor, "*batch query d_head"]:
    """`z` from one kernel that never holds the (query, key) weights; equal to the steps above up to rounding."""
    n_query, n_key = q.shape[-2], k.shape[-2]
    if q.ndim == 3:  # without a batch axis torch takes a slow path that holds the weights
        return fused_attention(q[None], k[None], v[None], scale)[0]
    if n_query == n_key:
        return F.scaled_dot_product_attention(q, k, v, is_causal=n_query > 1, scale=scale)
    # The kernel's causal flag aligns the first query with the first key; after a prefix the last ones must align.
    visible = None if n_query == 1 else ~causal_mask(n_query, n_key, q.device)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible, scale=scale)
