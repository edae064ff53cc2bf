"""Measures defined on whole patterns, as simply as can be: `model.heads.all_heads` must equal them.

The ones that the app needs for a single pattern are in `model.heads.measures`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array

from model.heads import measures as heads


def current_token_score(pattern: Float[Array, "*heads query key"]) -> Float[Array, "*heads"]:
    """Mean weight that a query gives to itself; the first query cannot do else: left out."""
    return heads._mean(np.diagonal(pattern, axis1=-2, axis2=-1)[..., 1:])


def mean_entropy(pattern: Float[Array, "*heads query key"]) -> Float[Array, "*heads"]:
    """Mean Shannon entropy of a query's weights, in bits, without the first query.

    0 if every query looks at one token only; at most the mean of log2(1), log2(2), .. of the keys that each query sees
    (weights spread evenly). `2 ** mean_entropy` is the effective number of tokens. Source: Shannon 1948.
    """
    weights = pattern[..., 1:, :]
    logs = np.log2(weights, out=np.zeros_like(weights), where=weights > 0)
    return heads._mean(-(weights * logs).sum(axis=-1))


def mean_distance(pattern: Float[Array, "*heads query key"]) -> Float[Array, "*heads"]:
    """How many tokens back a query looks, weighted by its weights, in tokens; mean without the first query.

    0 if every query looks at itself; at most half the number of tokens (everyone looks at the first). Source: Vig &
    Belinkov 2019, "Analyzing the Structure of Attention in a Transformer Language Model", section 4.3.
    """
    pos = np.arange(pattern.shape[-1])
    return heads._mean((pos - pattern @ pos)[..., 1:])


def detector_score(
    pattern: Float[Array, "*heads query key"],
    targets: Bool[Array, "query key"],
    error_measure: Literal["mul", "abs"] = "mul",
) -> Float[Array, "*heads"]:
    """TransformerLens' `detect_head`: how well a pattern matches `targets`, over all queries, the first included.

    "mul" is the share of all weight that lies on the targets, 0 to 1. "abs" is 1 minus the mean over the queries of the
    summed distances `|weight - target|`: 1 for a pattern that equals the targets, never below -(T - 1) / 2 (reached on
    T equal tokens). The package rounds "abs" to three digits; this function does not.
    """
    n_queries = pattern.shape[-2]
    if error_measure == "mul":
        return np.asarray((pattern * targets).sum(axis=(-2, -1)) / pattern.sum(axis=(-2, -1)))
    return np.asarray(1 - np.abs(pattern - targets).sum(axis=(-2, -1)) / n_queries)


def previous_token_targets(n_pos: int) -> Bool[Array, "query key"]:
    """True where the key is the token right before the query."""
    return np.eye(n_pos, k=-1, dtype=bool)
