"""Several colour scales in one trace: each takes a segment of a single composite scale.

Scale i takes the heights [2i, 2i + 1]; the heights between two segments stay empty, so no cell shows a blend of two
scales. The last segment is one flat colour: masked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from viz.theme import Scale, Theme


def composite_scale(names: Sequence[str], theme: Theme) -> tuple[list[list[float | str]], float]:
    """The composite colour scale (stops from 0 to 1) for these scales and masked cells, and its largest height."""
    top = 2.0 * len(names) + 1.0
    stops: list[list[float | str]] = []
    flat: Scale = ((0.0, theme.masked), (1.0, theme.masked))
    for i, scale in enumerate([*(theme.scales[name] for name in names), flat]):
        stops += [[(2 * i + position) / top, colour] for position, colour in scale]
    return stops, top


def to_segment(
    values: Float[np.ndarray, "*shape"], low: float, high: float, segment: int
) -> Float[np.ndarray, "*shape"]:
    """Values from `low` to `high` as heights in [2 * segment, 2 * segment + 1] (float32); outside ones are clipped."""
    span = np.float64(high) - np.float64(low)
    share = np.clip((np.asarray(values, np.float64) - low) / (span if span > 0 else 1.0), 0.0, 1.0)
    return (2 * segment + share).astype(np.float32)


def value_range(
    values: Float[np.ndarray, "*shape"], scale: str, low: float | None, high: float | None
) -> tuple[float, float]:
    """The range a scale spans: 0 to 1 for weights, else symmetric about 0; `low` and `high` override."""
    if scale == "weights":
        return (0.0 if low is None else low), (1.0 if high is None else high)
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    if low is not None or high is not None:
        largest = max(abs(low or 0.0), abs(high or 0.0))
    largest = largest if largest > 0 else 1.0
    return (-largest if low is None else low), (largest if high is None else high)
