"""Measures of what a head does, computed from its pattern.

Every function takes patterns (.., query, key), whose rows sum to 1 over the keys up to the query, and returns a score
from 0 (never) to 1 (always, with the full weight) for each leading index, such as a layer and a head; NaN where no
query qualifies. The first query can only attend to itself and is left out where that would count as a choice. The
targets are TransformerLens' (`transformer_lens/head_detector.py`). `model.heads.all_heads`
has these and more for all heads of a trace at once, and says in plain words what each measure is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array


def previous_token_score(pattern: Float[Array, "*heads query key"]) -> Float[Array, "*heads"]:
    """The mean weight that a query gives to the token right before it; the first query has none."""
    return _mean(np.diagonal(pattern, offset=-1, axis1=-2, axis2=-1))


def first_token_score(pattern: Float[Array, "*heads query key"]) -> Float[Array, "*heads"]:
    """The mean weight on the first token, where heads rest when they have nothing to do; without the first query.

    Source: Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks".
    """
    return _mean(pattern[..., 1:, 0])


def duplicate_token_score(pattern: Float[Array, "*heads query key"], ids: Sequence[int]) -> Float[Array, "*heads"]:
    """The mean weight on earlier occurrences of the query's own token, over the queries that have any.

    Source: Wang et al. 2022, "Interpretability in the Wild".
    """
    return _weight_on(pattern, duplicate_token_targets(ids))


def induction_score(pattern: Float[Array, "*heads query key"], ids: Sequence[int]) -> Float[Array, "*heads"]:
    """The mean weight on what followed earlier occurrences of the query's token, over the queries that have any.

    Source: Olsson et al. 2022, "In-context Learning and Induction Heads".
    """
    return _weight_on(pattern, induction_targets(ids))


def duplicate_token_targets(ids: Sequence[int]) -> Bool[Array, "query key"]:
    """True where the key precedes the query and is the same token."""
    tokens = np.asarray(ids)
    return np.tril(tokens[:, None] == tokens[None, :], k=-1)


def induction_targets(ids: Sequence[int]) -> Bool[Array, "query key"]:
    """True where the key directly follows an earlier occurrence of the query's token; it may be the query itself."""
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
