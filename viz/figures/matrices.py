"""A head's matrices: scores, masked scores and weights; two heads' weights side by side; q, k and v of every token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from viz.figures.chart import Chart
from viz.figures.labels import number_axis, token_axis
from viz.figures.panels import Panel
from viz.figures.tiles import tile_figure
from viz.text.catalogue import N_, _
from viz.theme import Theme

MASKED_HOVER = N_("masked: key %{x} comes after query %{y}")


def head_matrices(
    scores: Float[np.ndarray, "query key"],
    masked_scores: Float[np.ndarray, "query key"],
    pattern: Float[np.ndarray, "query key"],
    *,
    labels: Sequence[str],
    head: str,
    theme: Theme,
) -> Chart:
    """One head in three matrices, query rows and key columns: scores, masked scores (-inf where masked), weights.

    Both scores share one range symmetric about 0, taken from the unmasked cells and the masked ones alike; weights span
    0 to 1.
    """
    hidden = np.isneginf(masked_scores)
    largest = _largest(scores)
    rows, keys = token_axis("query", labels), token_axis("key", labels)
    panels = [
        Panel(
            scores,
            _("Scores"),
            "score",
            rows,
            keys,
            note=_("{head}, before the mask", head=head),
            zmin=-largest,
            zmax=largest,
            hover=_("query %{y} against key %{x}: score %{value}"),
        ),
        Panel(
            np.where(hidden, np.nan, masked_scores),
            _("Masked scores"),
            "score",
            rows,
            keys,
            note=_("later keys become −∞"),
            zmin=-largest,
            zmax=largest,
            masked=hidden,
            masked_text="−∞",
            hover=_("query %{y} against key %{x}: score %{value}"),
            masked_hover=_(MASKED_HOVER),
        ),
        weights_panel(pattern, _("Weights"), labels=labels, note=_("softmax along each row"), hidden=hidden),
    ]
    return tile_figure(panels, theme=theme)


def weights_panel(
    pattern: Float[np.ndarray, "query key"],
    title: str,
    *,
    labels: Sequence[str],
    note: str = "",
    hidden: np.ndarray | None = None,
) -> Panel:
    """The panel of one head's weights, 0 to 1, query rows and key columns; `hidden` (query, key) marks masked keys."""
    return Panel(
        pattern,
        title,
        "weights",
        token_axis("query", labels),
        token_axis("key", labels),
        note=note,
        masked=hidden,
        masked_text="0",
        hover=_("query %{y} reads key %{x}: %{value}"),
        masked_hover=_(MASKED_HOVER),
    )


def qkv_matrices(
    q: Float[np.ndarray, "pos d_head"],
    k: Float[np.ndarray, "pos d_head"],
    v: Float[np.ndarray, "pos d_head"],
    *,
    labels: Sequence[str],
    theme: Theme,
) -> Chart:
    """A head's queries, keys and values, a token a row, in their own colours; each its own range symmetric about 0.

    The ranges differ as the three are never compared: keys are often ten times larger than values.
    """
    tokens, dimensions = token_axis("token", labels), number_axis(_("dimension of the head"), q.shape[1])
    panels = [
        Panel(values, title, scale, tokens, dimensions, hover=hover)
        for values, title, scale, hover in (
            (q, _("Queries q"), "query", _("query of %{y}, dimension %{x}: %{value}")),
            (k, _("Keys k"), "key", _("key of %{y}, dimension %{x}: %{value}")),
            (v, _("Values v"), "value", _("value of %{y}, dimension %{x}: %{value}")),
        )
    ]
    height = max(2.0, min(22.0, 400 / len(labels)))
    return tile_figure(panels, theme=theme, cell_height=height)


def _largest(values: np.ndarray) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size and finite.max() > 0 else 1.0
