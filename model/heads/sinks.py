"""Attention sinks: heads that rest on the first token when they have nothing to do, and what the rest looks like.

Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks", describe the habit; in GPT-2 it is common.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from model.heads.all_heads import MOST
from model.heads.measures import first_token_score


def is_sink(pattern: Float[np.ndarray, "query key"]) -> bool:
    """Whether the first token takes most of the weight: on average more than half, the first query left out."""
    return bool(first_token_score(pattern) > MOST)


def hide_first_token(pattern: Float[np.ndarray, "query key"]) -> Float[np.ndarray, "query key"]:
    """The weights without those on the first token, each row brought back to a sum of 1.

    No longer what the model used: it shows how a head divides what it does not leave on the first token. A row that has
    no weight elsewhere (the first token's own always) stays as it is.
    """
    rest = pattern.astype(np.float64)
    rest[:, 0] = 0.0
    left = rest.sum(axis=1, keepdims=True)
    return np.where(left > 0, rest / np.where(left > 0, left, 1.0), pattern).astype(pattern.dtype)
