"""What one token reads: its scores before the softmax and its weights after, a bar for every key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from viz.figures.data import axis_table, with_data
from viz.figures.labels import cell_number, share_text, shorten, text_width, tick_indices, token_axis
from viz.figures.look import base_layout
from viz.text.plotly import plain
from viz.theme import Theme, mix

MIN_WIDTH, TICK_WIDTH = 340, 12
BAR_WIDTH = 0.66
MIN_SLOTS = 6
"""Room for at least so many keys, so that a single one does not become a wall."""
NUMBERED_KEYS = 16
"""Up to this many keys, and for one head, each bar carries its number."""
HATCHED_KEYS = 160
"""Up to this many keys masked bars are hatched; above, single bars are too thin for it and stay plain grey."""
PANEL_HEIGHT = 150
TITLE_SPACE = 56
SIGNS = ("■", "▦", "▤", "▥")
"""What stands for each head's bars in a legend: they differ by more than their colour."""
_SHAPES = ("", ".", "-", "|")
_WEIGHT_TOPS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)


def head_colours(theme: Theme) -> tuple[str, str, str, str]:
    """The colours of up to four heads side by side."""
    own, other = theme.roles["score"], theme.compare
    return own, other, mix(own, theme.paper, 0.5), mix(other, theme.paper, 0.5)


def head_legend(names: Sequence[str], theme: Theme) -> str:
    """Each head's sign and name, as plotly's markup; names are escaped already."""
    marks = zip(head_colours(theme), SIGNS, names, strict=False)
    return "   ".join(f'<span style="color:{colour}">{sign}</span> {name}' for colour, sign, name in marks)


def token_bars(
    scores: Float[np.ndarray, "*head key"] | None,
    weights: Float[np.ndarray, "*head key"],
    *,
    labels: Sequence[str],
    query: int,
    theme: Theme,
    names: Sequence[str] = (),
    masked: Bool[np.ndarray, " key"] | None = None,
    width: int = 1080,
) -> go.Figure:
    """The scores and the weights (0 to 1) that the token at `query` gives to every key, for one to four heads.

    `scores` are those before the mask, one row a head (or a single row); None draws the weights alone. `masked` (by
    default the keys after the query) are drawn grey and hatched; the query's own bar has an outline.
    """
    weights = np.atleast_2d(weights)
    scores = None if scores is None else np.atleast_2d(scores)
    n_heads, n_keys = weights.shape
    fits = len(labels) == n_keys and n_heads <= len(SIGNS) and 0 <= query < n_keys
    if not fits or (scores is not None and scores.shape != weights.shape):
        given = "no scores" if scores is None else f"scores {scores.shape}"
        raise ValueError(f"{given}, weights {weights.shape}, {len(labels)} labels, query {query}: no match")
    hidden = np.arange(n_keys) > query if masked is None else masked
    names = [plain(name) for name in names] or [f"head {i + 1}" for i in range(n_heads)]
    axis = token_axis("key", labels)
    asker = token_axis("query", labels).names[query]
    slot = (width - 60) / max(n_keys, MIN_SLOTS)
    angle = None if n_heads > 1 or n_keys > NUMBERED_KEYS else 0 if slot >= 42 else -90
    traces: list[go.Bar] = []
    for head in range(n_heads):
        who = f"{names[head]}: " if n_heads > 1 else ""
        panels = [] if scores is None else [(scores[head], "score", "y")]
        for values, kind, y in (*panels, (weights[head], "weight", "y2")):
            traces += _bars(values, kind, head, n_heads, who, asker, hidden, query, y, angle, theme)
    figure = go.Figure(
        traces, _layout(scores, weights, names, axis.ticks, asker, query, labels[query], hidden, theme, width)
    )
    kinds = [("weight", weights)] if scores is None else [("score", scores), ("weight", weights)]
    columns = {f"{kind} {name}": values[i] for i, name in enumerate(names) for kind, values in kinds}
    return with_data(figure, lambda: axis_table(axis, columns, hidden))


def _bars(
    values: Float[np.ndarray, " key"],
    kind: str,
    head: int,
    n_heads: int,
    who: str,
    asker: str,
    hidden: Bool[np.ndarray, " key"],
    query: int,
    y: str,
    angle: int | None,
    theme: Theme,
) -> list[go.Bar]:
    """One head's bars in one panel: the keys it may read and, before the softmax, the masked ones."""
    colour = head_colours(theme)[head]
    wide = BAR_WIDTH / n_heads
    layers = []
    for masked in (False, True) if kind == "score" else (False,):
        keys = np.flatnonzero(hidden if masked else ~hidden)
        if not keys.size:
            continue
        marker: dict[str, Any] = {
            "color": colour,
            "line": {"color": theme.text, "width": np.where(keys == query, 2, 0)},
        }
        if _SHAPES[head] and len(values) <= HATCHED_KEYS:
            marker["pattern"] = {
                "shape": _SHAPES[head],
                "size": 5,
                "solidity": 0.25,
                "fgcolor": theme.paper,
                "fillmode": "overlay",
            }
        if masked:
            marker = {
                "color": theme.masked if len(values) <= HATCHED_KEYS else theme.frame,
                "line": {"color": theme.masked_ink, "width": 0.5 if len(values) <= HATCHED_KEYS else 0},
            }
            if len(values) <= HATCHED_KEYS:
                marker["pattern"] = {"shape": "/", "size": 5, "solidity": 0.2, "fgcolor": theme.masked_ink}
        verb = {"score": "against key", "weight": "reads key"}[kind]
        sentence = f"{who}query {asker} {verb} %{{x}}: " + ("score " if kind == "score" else "") + "%{y:.4~g}"
        if masked:
            sentence = f"{who}masked: key %{{x}} comes after query {asker}<br>its score would be %{{y:.4~g}}"
        bar: dict[str, Any] = {}
        if angle is not None:
            bar = {
                "text": [cell_number(x) if kind == "score" else share_text(x) for x in values[keys].tolist()],
                "textposition": "outside",
                "textangle": angle,
                "textfont": {"size": 11 if angle == 0 else 10, "color": theme.muted if masked else theme.text},
                "cliponaxis": False,
                "constraintext": "none",
            }
        layers.append(
            go.Bar(
                x=keys.astype(np.int16),
                y=values[keys],
                width=wide,
                offset=head * wide - BAR_WIDTH / 2,
                yaxis=y,
                marker=marker,
                hovertemplate=sentence + "<extra></extra>",
                showlegend=False,
                meta={"kind": kind, "head": head, "masked": masked},
                **bar,
            )
        )
    return layers


def _layout(
    scores: Float[np.ndarray, "head key"] | None,
    weights: Float[np.ndarray, "head key"],
    names: Sequence[str],
    ticks: Sequence[str],
    asker: str,
    query: int,
    label: str,
    hidden: Bool[np.ndarray, " key"],
    theme: Theme,
    width: int,
) -> dict[str, Any]:
    """One or two panels on one axis of keys, titles above each, ticks below, room for the longest label."""
    n_keys = len(ticks)
    n_panels = 1 if scores is None else 2
    shown = tick_indices(n_keys, 0.62 * (width - 60) / 14 if n_keys > 24 else n_keys)
    longest = max(text_width(ticks[i]) for i in shown)
    rotated = longest + 6 > (width - 60) / max(n_keys, MIN_SLOTS)
    bottom = 26 + (longest + 6 if rotated else 16)
    inner = n_panels * (PANEL_HEIGHT + TITLE_SPACE)
    share = PANEL_HEIGHT / inner
    axis = {
        "gridcolor": theme.grid,
        "zeroline": True,
        "zerolinecolor": theme.frame,
        "zerolinewidth": 1,
        "nticks": 5,
        "tickfont": {"size": 11, "color": theme.muted},
        "title": None,
    }
    finite = weights[np.isfinite(weights)]
    top = next((t for t in _WEIGHT_TOPS if finite.size and finite.max() <= t), 1.0)
    heads = head_legend(names, theme) if len(weights) > 1 else ""
    who = f"query {asker.split(' ', 1)[0]} {plain(shorten(label))}"
    grey = "hatched" if n_keys <= HATCHED_KEYS else "grey"
    note = f"before the softmax; {grey}: later keys, hidden by the mask" if hidden.any() else "before the softmax"
    titles = [
        (1.0, f"<b>Scores of {who}</b>", heads or note),
        (0.49 if n_panels == 2 else 1.0, f"<b>Weights of {who}</b>", heads or "after the softmax, they add up to 1"),
    ][-n_panels:]
    score_axis = (
        {} if scores is None else {"yaxis": {"domain": [0.5, 0.5 + share], "range": _score_range(scores), **axis}}
    )
    annotations = [
        {
            "xref": "paper",
            "yref": "paper",
            "x": 0,
            "y": at,
            "xanchor": "left",
            "yanchor": "top",
            "align": "left",
            "showarrow": False,
            "font": {"size": 13, "color": theme.text},
            "text": f'{title}<br><span style="font-size:12px;color:{theme.muted}">{below}</span>',
        }
        for at, title, below in titles
    ]
    return base_layout(theme, zooms=True) | {
        "height": round(inner + bottom + 4),
        "margin": {"l": 48, "r": 12, "t": 4, "b": bottom, "pad": 0},
        "barmode": "overlay",
        "xaxis": {
            "range": [-0.6, max(n_keys, MIN_SLOTS) - 0.4],
            "tickvals": shown,
            "ticktext": [ticks[i] for i in shown],
            "tickangle": -90 if rotated else 0,
            "showgrid": False,
            "zeroline": False,
            "anchor": "y2",
            "title": {"text": "key", "font": {"size": 11, "color": theme.muted}, "standoff": 6},
        },
        **score_axis,
        "yaxis2": {"domain": [0, share], "range": [0, top * 1.14], "tickformat": ".0%", **axis},
        "annotations": annotations,
        "meta": {"min_width": least_width(len(shown)), "in_view": query},
    }


def least_width(n_ticks: int) -> int:
    """From how many pixels on bars with so many labels below them can be read."""
    return max(MIN_WIDTH, 60 + TICK_WIDTH * n_ticks)


def _score_range(scores: np.ndarray) -> list[float]:
    """From the least to the largest score with zero inside and room for numbers at both ends."""
    finite = scores[np.isfinite(scores)]
    low, high = (min(0.0, float(finite.min())), max(0.0, float(finite.max()))) if finite.size else (0.0, 1.0)
    span = (high - low) or 1.0
    return [low - (0.2 * span if low < 0 else 0.0), high + (0.2 * span if high > 0 or low == high else 0.03 * span)]
