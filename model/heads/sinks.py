"""Attention sinks: heads that rest on the first token when they have nothing to do, and what remains without it.

The habit is common in GPT-2. Source: Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks".
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from model.heads.all_heads import MOST
from model.heads.measures import first_token_score


def is_sink(pattern: Float[np.ndarray, "query key"]) -> bool:
    """Whether the first token receives more than half of the weight, on average over all queries but the first."""
    return bool(first_token_score(pattern) > MOST)


def hide_first_token(pattern: Float[np.ndarray, "query key"]) -> Float[np.ndarray, "query key"]:
    """The weights without those on the first token, each row rescaled to sum to 1.

    These are not the weights that the model used: they show how a head divides what it does not put on the first
    token. A row without any other weight (such as the first token's own) stays as it is.
    """
    rest = pattern.astype(np.float64)
    rest[:, 0] = 0.0
    left = rest.sum(axis=1, keepdims=True)
    return np.where(left > 0, rest / np.where(left > 0, left, 1.0), pattern).astype(pattern.dtype)
