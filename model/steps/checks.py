"""How far a recomputed result is from the model's own."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def largest_difference(a: Float[np.ndarray, "*shape"], b: Float[np.ndarray, "*shape"]) -> float:
    """The largest absolute difference between two arrays of finite numbers."""
    return float(np.abs(a - b).max())
