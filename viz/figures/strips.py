"""Vectors as strips of cells, the article's blocks: a frame, a row of cells, the name in the role's colour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from viz.figures.chart import Chart
from viz.figures.labels import number_axis, one_row
from viz.figures.panels import ROW_WIDTH, Panel
from viz.figures.tiles import tile_figure
from viz.theme import Theme

STRIP_HEIGHT = 22
FRAMED_STRIP = 128
"""Up to this many cells a strip has a thin frame around each."""


def vector_strips(
    vectors: Sequence[tuple[str, str, Float[np.ndarray, " size"]]],
    *,
    theme: Theme,
    width: int = ROW_WIDTH,
    size_title: str = "dimension",
) -> Chart:
    """Vectors `(title, role, values)` one under the other, each with its own range symmetric about 0."""
    framed = max(len(values) for _, _, values in vectors) <= FRAMED_STRIP
    panels = [
        Panel(
            np.asarray(values)[None, :],
            title,
            role,
            one_row(title),
            number_axis(size_title, len(values)),
            hover=f"%{{y}}, {size_title} %{{x}}: %{{value}}",
        )
        for title, role, values in vectors
    ]
    return tile_figure(
        panels, theme=theme, columns=1, width=width, cell_height=STRIP_HEIGHT, compact=True, framed=framed
    )


def token_strips(
    q: Float[np.ndarray, " d_head"],
    k: Float[np.ndarray, " d_head"],
    v: Float[np.ndarray, " d_head"],
    z: Float[np.ndarray, " d_head"],
    *,
    token: str,
    theme: Theme,
    width: int = ROW_WIDTH,
) -> Chart:
    """A head's query, key, value and output z of one token (its label, `9 ·it`), as strips in their colours."""
    vectors = (("query", "query", q), ("key", "key", k), ("value", "value", v), ("output z", "score", z))
    named = [(f"{word} of {token}", role, values) for word, role, values in vectors]
    return vector_strips(named, theme=theme, width=width)
