"""Numbers as they are shown."""

from __future__ import annotations

import math

import numpy as np


def difference_text(value: float) -> str:
    """A largest difference as a number: `4.8e−07`, and `0` where there is none."""
    return f"{value:.1e}".replace("-", "−") if value else "0"


def distance_text(value: float) -> str:
    """A distance: `0.412`; a tiny one is not shown as none."""
    return f"{value:.3f}" if value == 0 or value >= 5e-4 else "<0.001"


def cosine_text(value: float) -> str:
    """A cosine: `+0.41`, `−0.03`; a dash for one that is not defined."""
    return "–" if math.isnan(value) else f"{value:+.2f}".replace("-", "−")


def length_text(vector: np.ndarray) -> str:
    """The length (Euclidean norm) of a vector to three digits."""
    return f"{float(np.linalg.norm(np.asarray(vector, np.float64))):.3g}"
