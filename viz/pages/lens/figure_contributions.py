"""One logit taken apart: a heatmap of what each head adds, bars for all that is no head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz.figures.bar_parts import NUMBERS, axis_title, heading, legend, overlay, value_axis
from viz.figures.chart import Chart
from viz.figures.data import Table
from viz.figures.labels import number_axis, shorten
from viz.figures.look import base_layout
from viz.figures.panels import Panel
from viz.figures.tiles import tile_figure
from viz.text.catalogue import _
from viz.text.numbers import cell_number
from viz.theme import Theme

if TYPE_CHECKING:
    from model.logits.direct import DirectLogits

_UPRIGHT_NUMBERS = 11
"""Up to this many bars, their numbers are not turned."""
NUMBERED_BARS = 30
NUMBERED_HEADS = 16
"""Up to this many heads a layer, each cell has its number."""


def head_contributions(heads: Float[np.ndarray, "layer head"], *, token: str, theme: Theme) -> Chart:
    """What each head adds directly to the logit of `token` (its label): a layer a row, a head a column, symmetric
    about 0."""
    n_layers, n_heads = heads.shape
    title = _('Heads, to the logit of "{token}"')
    raised = _("pink raises it, dark lowers it") if theme.kind == "light" else _("pink raises it, pale lowers it")
    panel = Panel(
        heads,
        title.format(token=shorten(token)),
        "score",
        number_axis("layer", n_layers),
        number_axis("head", n_heads),
        note=raised,
        hover=_("layer %{y}, head %{x}: %{value}"),
        name=title.format(token=token),
    )
    return tile_figure(
        [panel],
        theme=theme,
        width=520,
        cell_height=max(16.0, min(34.0, 420 / n_layers)),
        numbers=n_heads <= NUMBERED_HEADS,
    )


def other_contributions(parts: DirectLogits, *, theme: Theme) -> Chart:
    """What all but the heads adds to the first token's logit: embeddings, each layer's MLP and attention bias, the
    last bias; each where the model has it."""
    mlps, n_layers = parts.mlps[:, 0], len(parts.mlps)
    # A line of their own for the long ones, which would run into their neighbours.
    before = [(_("token"), _("the token's embedding"), parts.embed[0])]
    if parts.pos_embed is not None:
        before.append((f"<br>{_('position')}", _("the position's embedding"), parts.pos_embed[0]))
    layers = [(str(n), _("MLP of layer {layer}", layer=n), value) for n, value in enumerate(mlps.tolist())]
    after = []
    if parts.unembed_bias is not None:
        after.append((f"<br>{_('last bias')}", _("the final LayerNorm's bias"), parts.unembed_bias[0]))
    ticks, names, heights = zip(*before, *layers, *after, strict=True)
    wide, places = np.array(heights), np.arange(len(heights))
    at_layers = np.arange(n_layers) + len(before)
    bias_names = [_("attention bias of layer {layer}", layer=layer) for layer in range(n_layers)]
    biases = np.zeros(n_layers) if parts.attn_bias is None else parts.attn_bias[:, 0]
    centre = np.where(np.isin(places, at_layers), -0.4, -0.2)
    value, dots = theme.roles["value"], overlay(".", theme)
    numbers = [cell_number(value) for value in wide] if len(wide) <= NUMBERED_BARS else None
    bars = [
        _upright(places, wide, centre, names, {"color": value}, "mlp", numbers, theme),
        _upright(at_layers, biases, 0.02, bias_names, {"color": theme.compare, "pattern": dots}, "bias", None, theme),
    ][: 1 if parts.attn_bias is None else 2]
    low, high = min(0.0, float(wide.min()), float(biases.min())), max(0.0, float(wide.max()), float(biases.max()))
    span = (high - low) or 1.0
    shown = [(value, "■", _("embeddings, MLPs, last bias") if after else _("embeddings, MLPs"))]
    if parts.attn_bias is not None:
        shown.append((theme.compare, "▦", _("attention bias (belongs to no head)")))
    below = legend(shown)
    layout = base_layout(theme, zooms=True) | {
        "height": 300,
        "margin": {"l": 48, "r": 24, "t": 46, "b": 50, "pad": 2},
        "barmode": "overlay",
        "xaxis": {
            "range": [-0.6, len(ticks) - 0.4],
            "tickvals": list(range(len(ticks))),
            "ticktext": ticks,
            "tickfont": {"size": 11, "color": theme.text},
            "tickangle": 0 if n_layers <= 16 else -90,
            "title": axis_title(_("layer"), theme),
            "showgrid": False,
            "zeroline": False,
        },
        "yaxis": value_axis(theme, range=[low - 0.12 * span, high + 0.14 * span], nticks=6),
        "annotations": [heading(_("Everything else"), below, theme, left=48)],
    }

    def table() -> Table:
        rows = list(zip(names, wide.tolist(), strict=True))
        if parts.attn_bias is not None:
            rows += zip(bias_names, biases.tolist(), strict=True)
        return Table(("part", "to the logit"), rows)

    least = max(340, (36 if len(ticks) <= _UPRIGHT_NUMBERS else 24) * len(ticks) + 60)
    return Chart(go.Figure(bars, layout), table, least)


def _upright(
    x: np.ndarray,
    y: np.ndarray,
    offset: np.ndarray | float,
    names: Sequence[str],
    marker: dict[str, object],
    kind: str,
    numbers: Sequence[str] | None,
    theme: Theme,
) -> go.Bar:
    """Bars of one kind; `numbers` stand at their ends."""
    return go.Bar(
        x=x,
        y=y,
        width=0.38,
        offset=offset,
        marker=marker,
        text=numbers,
        textangle=-90 if len(x) > _UPRIGHT_NUMBERS else 0,
        textfont={"size": 10, "color": theme.text},
        hovertext=list(names),
        hovertemplate="%{hovertext}: %{y:.4~g}<extra></extra>",
        meta={"kind": kind},
        **NUMBERS,
    )
