"""The next token: the likeliest candidates as bars, which of them survive the cuts, and all others as one bar."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from viz.figures.data import Table, numbers, with_data
from viz.figures.labels import shorten, text_width
from viz.figures.look import base_layout
from viz.text.plotly import plain
from viz.theme import Theme

_BAR_HEIGHT, _TITLE, _RIGHT = 19, 46, 8
MIN_WIDTH = 360
"""In pixels, where no bar's words need more: as wide as a phone."""


def next_token_bars(
    own: Float[np.ndarray, " rank"],
    tempered: Float[np.ndarray, " rank"],
    final: Float[np.ndarray, " rank"],
    kept: Bool[np.ndarray, " rank"],
    *,
    labels: Sequence[str],
    logits: Float[np.ndarray, " rank"],
    chosen: int | None,
    actual: int | None,
    n_rest: int,
    rest: tuple[float, float, float],
    after: str,
    theme: Theme,
) -> go.Figure:
    """The most likely next tokens, the likeliest on top, and one bar for all others.

    A bar that survives the cuts is as long as `final`, the probability it is drawn with; one that is cut is hatched and
    as long as its `tempered` probability. A small upright line marks the model's `own` probability where it differs.
    `chosen` and `actual` (what the text goes on with) are ranks, if among the bars; the bar of all others has an
    outline where the chosen one is in it. `rest` is what the others have together: own, kept and cut probability; where
    their bar is too long for the scale of the likeliest ones, it ends early and says so. `after` names the token read.
    A bar's words begin where it ends, or beyond its upright line.
    """
    n = len(own)
    lengths = np.where(kept, final, tempered)
    longest = max(float(lengths.max()), float(own.max()))
    limit = 1.5 * longest
    others = ["all others"] if n_rest else []
    hover = [
        f'"{plain(label)}"<br>logit {logit:.4g}<br>the model\'s own probability {share(p)}'
        + (f"<br>drawn with {share(f)}" if keep else f"<br>cut; {share(t)} before the cuts")
        for label, logit, p, t, f, keep in zip(labels, logits, own, tempered, final, kept, strict=True)
    ]
    notes = {rank: "  ◀ chosen" for rank in [chosen] if rank is not None}
    if actual is not None:
        notes[actual] = notes[actual] + ", in the text" if actual in notes else "  ← in the text"
    texts = [
        f"{share(length)}{'' if keep else ' cut'}<b>{notes.get(rank, '')}</b>"
        for rank, (length, keep) in enumerate(zip(lengths, kept, strict=True))
    ]
    moved = ~np.isclose(own, lengths, rtol=1e-3, atol=1e-9)
    at_line = moved & (own > lengths)
    traces = []
    for keep in (True, False):
        ranks = np.flatnonzero(kept == keep)
        if ranks.size:
            around = {"color": theme.text, "width": [2 if rank == chosen else 0 for rank in ranks]}
            words = ["" if at_line[rank] else texts[rank] for rank in ranks]
            traces.append(_bars(ranks, lengths[ranks], keep, around, words, [hover[r] for r in ranks], theme))
    annotations = []
    if n_rest:
        about = f"{n_rest:,} other tokens<br>the model's own probability {share(rest[0])}"
        about += f"<br>drawn with {share(rest[1])}, cut {share(rest[2])}"
        drawn, cut = min(rest[1], limit), min(rest[2], max(0.0, limit - rest[1]))
        parts = [f"{share(p)}{word}" for p, word in ((rest[1], ""), (rest[2], " cut")) if p]
        text = " and ".join(parts)
        if rest[1] + rest[2] > limit:
            annotations.append(_on_paper(limit, n, f"{text}, longer than drawn ▸", theme))
            text = ""
        outline = {"color": theme.text, "width": 0 if chosen is not None else 2}
        traces.append(_bars([n], [drawn], True, outline, ["" if cut else text], [about], theme, pale=True))
        if cut:
            traces.append(_bars([n], [cut], False, {"width": 0}, [text], [about], theme, base=drawn))
    if moved.any():
        ranks = np.flatnonzero(moved)
        words = [texts[rank] if at_line[rank] else "" for rank in ranks]
        traces.append(_ticks(ranks, own[ranks], words, kept[ranks], theme))
    below_title = ["upright line: the model's own probability"] if moved.any() else []
    below_title += ["hatched: cut"] if rest[2] or not kept.all() else []
    below = "; ".join(below_title) or "the model's own probabilities"
    title = f"<b>What comes after {after}</b><br>"
    title += f'<span style="font-size:12px;color:{theme.muted}">{below}</span>'
    names = [plain(shorten(label)) for label in labels] + others
    left = min(140.0, max(text_width(name, 13) for name in names) + 12)
    behind = [1.08 * text_width(text.replace("<b>", "").replace("</b>", "")) + 12 for text in texts]  # bold is wider
    room = max(MIN_WIDTH - left - _RIGHT, 1.6 * max(behind))
    ends = [max(bar, p) * room / (room - words) for bar, p, words in zip(lengths, own, behind, strict=True)]
    end = float(max(1.55 * longest, *ends))  # so that each bar has room for its words behind it
    columns = ("token", "logit", "own probability", "before the cuts", "drawn with", "kept")
    together = [("all others", None, rest[0], None, rest[1], None)] if n_rest else []
    figure = go.Figure(
        traces,
        base_layout(theme)
        | {
            "height": _BAR_HEIGHT * len(names) + 30 + _TITLE,
            "margin": {"l": left, "r": _RIGHT, "t": _TITLE, "b": 30, "pad": 4},
            "barmode": "overlay",
            "bargap": 0.22,
            "xaxis": {
                "range": [0, end],
                "tickformat": ".3~%",
                # The room for the words at the bars' ends reaches beyond 100%; the scale does not.
                **({"tickvals": [0, 0.5, 1]} if longest > 0.5 else {"nticks": 5}),
                "gridcolor": theme.grid,
                "zeroline": True,
                "zerolinecolor": theme.frame,
                "fixedrange": True,
                "tickfont": {"size": 11, "color": theme.muted},
            },
            "yaxis": {
                "range": [len(names) - 0.5, -0.5],
                "tickvals": list(range(len(names))),
                "ticktext": [
                    f"<b>{name}</b>" if i == (n if chosen is None else chosen) else name for i, name in enumerate(names)
                ],
                "tickfont": {"size": 13},
                "showgrid": False,
                "fixedrange": True,
            },
            "annotations": [
                *annotations,
                {
                    "xref": "paper",
                    "x": 0,
                    "xanchor": "left",
                    "xshift": 4 - left,
                    "yref": "paper",
                    "y": 1,
                    "yanchor": "bottom",
                    "yshift": 4,
                    "align": "left",
                    "showarrow": False,
                    "font": {"size": 14, "color": theme.ink("score")},
                    "text": title,
                },
            ],
            "meta": {"min_width": round(left + room + _RIGHT)},
        },
    )
    shown = (logits, own, tempered, final, kept)
    return with_data(figure, lambda: Table(columns, chain(zip(labels, *map(numbers, shown), strict=True), together)))


def _bars(
    ranks: Any,
    lengths: Any,
    keep: bool,
    outline: dict[str, Any],
    texts: list[str],
    hover: list[str],
    theme: Theme,
    *,
    base: float | None = None,
    pale: bool = False,
) -> go.Bar:
    """Horizontal bars of one kind: coloured what is kept, grey and hatched what is cut."""
    marker: dict[str, Any] = {"color": theme.roles["score"] if keep else theme.masked, "line": outline}
    if not keep:
        marker["pattern"] = {"shape": "/", "size": 5, "solidity": 0.2, "fgcolor": theme.masked_ink}
    elif pale:
        marker["opacity"] = 0.45
    return go.Bar(
        x=np.asarray(lengths, float),
        y=np.asarray(ranks),
        base=base,
        orientation="h",
        marker=marker,
        text=texts,
        textposition="outside",
        textfont={"size": 12, "color": theme.text if keep else theme.muted},
        cliponaxis=False,
        constraintext="none",
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
        meta={"kept": keep, "rest": pale or base is not None},
    )


def _on_paper(x: float, y: int, text: str, theme: Theme) -> dict[str, Any]:
    """Words that end at `x`, on a piece of the page's colour: neither hatching nor a bar's colour runs through them."""
    return {
        "x": x,
        "y": y,
        "xanchor": "right",
        "xshift": -3,
        "showarrow": False,
        "text": text,
        "font": {"size": 12, "color": theme.text},
        "bgcolor": theme.paper,
        "borderpad": 0,
    }


def _ticks(
    ranks: np.ndarray, own: Float[np.ndarray, " n"], words: list[str], kept: Bool[np.ndarray, " n"], theme: Theme
) -> go.Scatter:
    """The model's own probabilities as small upright lines over the bars, with words to the right of some."""
    return go.Scatter(
        x=own,
        y=ranks,
        mode="markers+text",
        text=words,
        textposition="middle right",
        textfont={"size": 12, "color": [theme.text if keep else theme.muted for keep in kept]},
        cliponaxis=False,
        marker={"symbol": "line-ns", "size": 13, "line": {"width": 2, "color": theme.text}},
        hoverinfo="skip",
        showlegend=False,
        meta={"own": True},
    )


def share(probability: float) -> str:
    """A probability as a percentage with as many digits as tell something: never an exponent, 100% only for all."""
    percent = 100 * probability
    if 99.95 <= percent < 100:
        return f"{min(percent, 99.99):.2f}%"
    if percent >= 0.995 or not percent:
        return f"{percent:.1f}%"
    if percent < 1e-6:
        return "under 0.000001%"
    return f"{np.format_float_positional(percent, precision=2, unique=False, fractional=False, trim='-')}%"
