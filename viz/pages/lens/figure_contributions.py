"""One logit taken apart: a heatmap of what each head adds, bars for all that is no head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz.figures.labels import cell_number, number_axis
from viz.figures.look import base_layout
from viz.figures.panels import ROW_WIDTH, Panel
from viz.figures.tiles import tile_figure
from viz.theme import Theme

_UPRIGHT_NUMBERS = 11
"""Up to this many bars, their numbers stand upright."""
NUMBERED_BARS = 30
NUMBERED_HEADS = 16
"""Up to this many heads a layer, each cell has its number."""


def head_contributions(
    heads: Float[np.ndarray, "layer head"], *, token: str, theme: Theme, width: int = ROW_WIDTH
) -> go.Figure:
    """What each head adds directly to the logit of `token`: a layer a row, a head a column, symmetric about 0."""
    n_layers, n_heads = heads.shape
    panel = Panel(
        heads,
        f"Heads, to the logit of {token}",
        "score",
        number_axis("layer", n_layers),
        number_axis("head", n_heads),
        note="pink raises it, dark lowers it" if theme.kind == "light" else "pink raises it, pale lowers it",
        hover="layer %{y}, head %{x}: %{value}",
    )
    return tile_figure(
        [panel],
        theme=theme,
        width=width,
        cell_height=max(16.0, min(34.0, 420 / n_layers)),
        numbers=n_heads <= NUMBERED_HEADS,
    )


def other_contributions(
    mlps: Float[np.ndarray, " layer"],
    biases: Float[np.ndarray, " layer"],
    *,
    embed: float,
    pos_embed: float,
    unembed_bias: float,
    theme: Theme,
) -> go.Figure:
    """What all but the heads adds to the same logit: embeddings, each layer's MLP and attention bias, the last bias."""
    n_layers = len(mlps)
    # A line of their own for the long ones, which would run into their neighbours.
    ticks = ["token", "<br>position", *(str(layer) for layer in range(n_layers)), "<br>last bias"]
    names = [
        "the token's embedding",
        "the position's embedding",
        *(f"MLP of layer {layer}" for layer in range(n_layers)),
        "the final LayerNorm's bias",
    ]
    wide = np.array([embed, pos_embed, *mlps.tolist(), unembed_bias])
    at_layers = np.arange(n_layers) + 2
    lone = np.isin(np.arange(len(wide)), at_layers, invert=True)
    centre = np.where(lone, -0.2, -0.4)
    bars = [
        _upright(
            np.arange(len(wide)),
            wide,
            centre,
            names,
            theme.roles["value"],
            "mlp",
            theme,
            dotted=False,
            numbered=len(wide) <= NUMBERED_BARS,
        ),
        _upright(
            at_layers,
            biases,
            np.full(n_layers, 0.02),
            [f"attention bias of layer {layer}" for layer in range(n_layers)],
            theme.compare,
            "bias",
            theme,
            dotted=True,
            numbered=False,
        ),
    ]
    low, high = min(0.0, float(wide.min()), float(biases.min())), max(0.0, float(wide.max()), float(biases.max()))
    span = (high - low) or 1.0
    legend = f'<span style="color:{theme.roles["value"]}">■</span> embeddings, MLPs, last bias   '
    legend += f'<span style="color:{theme.compare}">▦</span> attention bias (belongs to no head)'
    return go.Figure(
        bars,
        base_layout(theme, zooms=True)
        | {
            "height": 300,
            "margin": {"l": 48, "r": 24, "t": 46, "b": 50, "pad": 2},
            "barmode": "overlay",
            "xaxis": {
                "range": [-0.6, len(ticks) - 0.4],
                "tickvals": list(range(len(ticks))),
                "ticktext": ticks,
                "tickfont": {"size": 11, "color": theme.text},
                "tickangle": 0 if n_layers <= 16 else -90,
                "title": {"text": "layer", "font": {"size": 11, "color": theme.muted}, "standoff": 6},
                "showgrid": False,
                "zeroline": False,
            },
            "yaxis": {
                "range": [low - 0.12 * span, high + 0.14 * span],
                "gridcolor": theme.grid,
                "zeroline": True,
                "zerolinecolor": theme.frame,
                "nticks": 6,
                "tickfont": {"size": 11, "color": theme.muted},
            },
            "annotations": [
                {
                    "xref": "paper",
                    "x": 0,
                    "xanchor": "left",
                    "xshift": -44,
                    "yref": "paper",
                    "y": 1,
                    "yanchor": "bottom",
                    "yshift": 4,
                    "align": "left",
                    "showarrow": False,
                    "font": {"size": 14, "color": theme.text},
                    "text": f'<b>Everything else</b><br><span style="font-size:12px;color:{theme.muted}">'
                    f"{legend}</span>",
                }
            ],
            "meta": {"min_width": max(340, (36 if len(ticks) <= _UPRIGHT_NUMBERS else 24) * len(ticks) + 60)},
        },
    )


def _upright(
    x: np.ndarray,
    y: np.ndarray,
    offset: np.ndarray,
    names: Sequence[str],
    colour: str,
    kind: str,
    theme: Theme,
    *,
    dotted: bool,
    numbered: bool,
) -> go.Bar:
    marker: dict[str, Any] = {"color": colour}
    if dotted:
        dots = {"shape": ".", "size": 5, "solidity": 0.25, "fgcolor": theme.paper, "fillmode": "overlay"}
        marker["pattern"] = dots
    return go.Bar(
        x=x,
        y=y,
        width=0.38,
        offset=offset,
        marker=marker,
        text=[cell_number(value) for value in y] if numbered else None,
        textposition="outside",
        textangle=-90 if len(x) > _UPRIGHT_NUMBERS else 0,
        textfont={"size": 10, "color": theme.text},
        cliponaxis=False,
        constraintext="none",
        hovertext=list(names),
        hovertemplate="%{hovertext}: %{y:.4~g}<extra></extra>",
        meta={"kind": kind},
    )
