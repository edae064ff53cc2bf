"""Measures of what a head does, from its pattern alone.

Every function takes patterns (.., query, key) with rows that add up to 1 over the keys up to the query, and gives one
score for each leading index (a layer and a head, say). Scores named a share lie between 0 (never) and 1 (always, with
the full weight); NaN where no query qualifies. The first query can only look at itself: where that would count as a
choice, it is left out. The targets are TransformerLens' (`transformer_lens/head_detector.py`). `model.heads.all_heads`
has these and more for all heads of a trace at once, and says in plain words what each measure is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray as Array


def previous_token_score(pattern: Float[Array, "*heads query key"]) -> Float[Array, "*heads"]:
    """Mean weight that a query gives to the token right before it; the first token has none and does not count."""
    return _mean(np.diagonal(pattern, offset=-1, axis1=-2, axis2=-1))


def first_token_score(pattern: Float[Array, "*heads query key"]) -> Float[Array, "*heads"]:
    """Mean weight on the first token, where heads with nothing to do look; the first query cannot do else: left out.

    The habit is described in Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks".
    """
    return _mean(pattern[..., 1:, 0])


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
