"""Measures of what a head does, from its pattern alone.

Every function takes patterns (.., query, key) with rows that add up to 1 over the keys up to the query, and gives one
score for each leading index (a layer and a head, say). Scores named a share lie between 0 (never) and 1 (always, with
the full weight); NaN where no query qualifies. The first query can only look at itself: where that would count as a
choice, it is left out. The targets are TransformerLens' (`transformer_lens/head_detector.py`). `model.heads.all_heads`
computes the same for all heads of a trace at once and says in plain words what each measure is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array


def previous_token_score(pattern: Float[Array, "*heads query key"]) -> Float[Array, "*heads"]:
    """Mean weight that a query gives to the token right before it; the first token has none and does not count."""
    return _mean(np.diagonal(pattern, offset=-1, axis1=-2, axis2=-1))


def current_token_score(pattern: Float[Array, "*heads query key"]) -> Float[Array, "*heads"]:
    """Mean weight that a query gives to itself; the first query cannot do else: left out."""
    return _mean(np.diagonal(pattern, axis1=-2, axis2=-1)[..., 1:])


def first_token_score(pattern: Float[Array, "*heads query key"]) -> Float[Array, "*heads"]:
    """Mean weight on the first token, where heads with nothing to do look; the first query cannot do else: left out.

    The habit is described in Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks".
    """
    return _mean(pattern[..., 1:, 0])


def mean_entropy(pattern: Float[Array, "*heads query key"]) -> Float[Array, "*heads"]:
    """Mean Shannon entropy of a query's weights, in bits, without the first query.

    0 if every query looks at one token only; at most the mean of log2(1), log2(2), .. of the keys that each query sees
    (weights spread evenly). `2 ** mean_entropy` is the effective number of tokens. Source: Shannon 1948.
    """
    weights = pattern[..., 1:, :]
    logs = np.log2(weights, out=np.zeros_like(weights), where=weights > 0)
    return _mean(-(weights * logs).sum(axis=-1))


def mean_distance(pattern: Float[Array, "*heads query key"]) -> Float[Array, "*heads"]:
    """How many tokens back a query looks, weighted by its weights, in tokens; mean without the first query.

    0 if every query looks at itself; at most half the number of tokens (everyone looks at the first). Source: Vig &
    Belinkov 2019, "Analyzing the Structure of Attention in a Transformer Language Model", section 4.3.
    """
    pos = np.arange(pattern.shape[-1])
    return _mean((pos - pattern @ pos)[..., 1:])


def duplicate_token_score(pattern: Float[Array, "*heads query key"], ids: Sequence[int]) -> Float[Array, "*heads"]:
    """Mean weight on earlier occurrences of the query's own token, over the queries that have any.

    Duplicate-token heads: Wang et al. 2022, "Interpretability in the Wild".
    """
    return _weight_on(pattern, duplicate_token_targets(ids))


def induction_score(pattern: Float[Array, "*heads query key"], ids: Sequence[int]) -> Float[Array, "*heads"]:
    """Mean weight on the tokens that followed earlier occurrences of the query's token, over the queries that have any.

    Induction heads: Olsson et al. 2022, "In-context Learning and Induction Heads". On a random run repeated once this
    is the mean weight from position i of the second copy to the token after its place in the first.
    """
    return _weight_on(pattern, induction_targets(ids))


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


def duplicate_token_targets(ids: Sequence[int]) -> Bool[Array, "query key"]:
    """True where the key lies before the query and is the same token."""
    tokens = np.asarray(ids)
    return np.tril(tokens[:, None] == tokens[None, :], k=-1)


def induction_targets(ids: Sequence[int]) -> Bool[Array, "query key"]:
    """True where the key follows an earlier occurrence of the query's token; it may be the query itself."""
    after = np.zeros((len(ids), len(ids)), dtype=bool)
    after[:, 1:] = duplicate_token_targets(ids)[:, :-1]
    return after


def _weight_on(pattern: Array, targets: Array) -> Array:
    queries = targets.any(axis=-1)
    return _mean((pattern * targets).sum(axis=-1)[..., queries])


def _mean(weights: Array) -> Array:
    if not weights.shape[-1]:
        return np.full(weights.shape[:-1], np.nan)
    return np.asarray(weights.mean(axis=-1))
