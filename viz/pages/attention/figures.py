"""A head's weights between places that are not all of the text's tokens: words, or tokens without the first one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from viz.figures.chart import Chart
from viz.figures.matrices import weights_panel
from viz.figures.tiles import tile_figure
from viz.text.catalogue import _
from viz.theme import Theme


def share_matrix(
    pattern: Float[np.ndarray, "query key"],
    *,
    labels: Sequence[str],
    head: str,
    note: str,
    theme: Theme,
    hidden: Bool[np.ndarray, "query key"] | None = None,
) -> Chart:
    """One head's weights (0 to 1), query rows, key columns; `hidden` cells (by default the later keys) are masked."""
    hidden = np.triu(np.ones(pattern.shape, dtype=bool), 1) if hidden is None else hidden
    panel = weights_panel(pattern, _("Weights of {head}", head=head), labels=labels, note=note, hidden=hidden)
    not_counted = _("query %{y} does not count key %{x}: it comes later, or is hidden")
    return tile_figure([replace(panel, masked_hover=not_counted)], theme=theme, columns=1, width=560)
