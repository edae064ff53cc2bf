"""Before and after a change: the next token's probabilities, and the heads whose patterns moved most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz.figures.data import Table, with_data
from viz.figures.labels import short_number, shorten, text_width
from viz.figures.look import base_layout
from viz.figures.next_token import share
from viz.text.plotly import plain
from viz.theme import Theme

_ROW, _TITLE, _BOTTOM = 34, 46, 30
_RANKED_ROW = 24


def next_token_change(
    before: Float[np.ndarray, " rank"],
    after: Float[np.ndarray, " rank"],
    *,
    labels: Sequence[str],
    n_rest: int,
    rest: tuple[float, float],
    position: str,
    theme: Theme,
    passes: tuple[str, str] = ("before", "after the change"),
) -> go.Figure:
    """Next-token probabilities in the unchanged and the changed pass: two bars a token, and two for all others.

    `rest` is what the `n_rest` others have together, before and after; where a bar of theirs is too long for the scale
    of the named ones, it ends early and says so. `position` names the token read, `passes` the two passes.
    """
    others = [f"{n_rest:,} others"] if n_rest else []
    names = [plain(shorten(label)) for label in labels] + others
    longest = max(float(before.max()), float(after.max()))
    limit = 1.12 * longest
    traces = []
    for kind, name, values, together in (
        ("before", passes[0], before, rest[0]),
        ("after", passes[1], after, rest[1]),
    ):
        shares = [*values.tolist(), together][: len(names)]
        beyond = [i >= len(values) and p > limit for i, p in enumerate(shares)]
        traces.append(
            go.Bar(
                y=np.arange(len(names)),
                x=[min(p, limit) if cut else p for p, cut in zip(shares, beyond, strict=True)],
                width=0.38,
                offset=-0.4 if kind == "before" else 0.02,
                orientation="h",
                marker=_marker(kind, theme),
                text=[short_share(p) + (" ▸" if cut else "") for p, cut in zip(shares, beyond, strict=True)],
                textposition="outside",
                textfont={"size": 11, "color": theme.text},
                cliponaxis=False,
                constraintext="none",
                customdata=shares,
                hovertext=[f'"{plain(label)}"' for label in labels] + others,
                hovertemplate=f"%{{hovertext}} {name}: %{{customdata:.4~%}}<extra></extra>",
                meta={"kind": kind},
            )
        )
    left = min(150.0, max(text_width(name, 13) for name in names) + 12)
    figure = go.Figure(
        traces,
        base_layout(theme)
        | {
            "height": _ROW * len(names) + _TITLE + _BOTTOM,
            "margin": {"l": left, "r": 8, "t": _TITLE, "b": _BOTTOM, "pad": 4},
            "barmode": "overlay",
            "xaxis": {
                "range": [0, 1.32 * longest],
                "tickformat": ".3~%",
                **({"tickvals": [0, 0.5, 1]} if longest > 0.5 else {"nticks": 5}),
                **_value_axis(theme),
            },
            "yaxis": _name_axis(names),
            "annotations": [_title(f"What comes after {position}", _legend(passes, theme), left, theme)],
            "meta": {"min_width": 330},
        },
    )

    def data() -> Table:
        words = [*labels, *others]
        shares = ([*values.tolist(), together] for values, together in ((before, rest[0]), (after, rest[1])))
        return Table(("token", "before", "after"), zip(words, *shares, strict=False))

    return with_data(figure, data)


def ranked_shifts(
    values: Float[np.ndarray, " rank"], *, names: Sequence[str], notes: Sequence[str], chosen: int | None, theme: Theme
) -> go.Figure:
    """How far heads' patterns moved (Jensen-Shannon distance in bits, 0 to 1), the farthest on top; one is outlined."""
    top = float(values.max()) or 1.0
    bars = go.Bar(
        y=np.arange(len(values)),
        x=values,
        width=0.72,
        orientation="h",
        marker={
            "color": theme.roles["score"],
            "line": {"color": theme.text, "width": [2 if i == chosen else 0 for i in range(len(values))]},
        },
        text=[f"{short_number(value)}  {plain(note)}" for value, note in zip(values, notes, strict=True)],
        textposition="outside",
        textfont={"size": 11, "color": theme.text},
        cliponaxis=False,
        constraintext="none",
        hovertext=list(names),
        hovertemplate="%{hovertext}: %{x:.4~g} bits<extra></extra>",
        meta={"ranked": True},
    )
    ticks = [f"<b>{name}</b>" if i == chosen else name for i, name in enumerate(names)]
    return go.Figure(
        [bars],
        base_layout(theme)
        | {
            "height": _RANKED_ROW * len(values) + _BOTTOM + 26,
            "margin": {"l": 64, "r": 8, "t": 4, "b": _BOTTOM + 22, "pad": 4},
            "xaxis": {
                "range": [0, 1.5 * top],
                "nticks": 5,
                "title": {"text": "bits", "font": {"size": 11, "color": theme.muted}, "standoff": 4},
                **_value_axis(theme),
            },
            "yaxis": _name_axis(ticks),
            "meta": {"min_width": 330},
        },
    )


def short_share(probability: float) -> str:
    """A probability as short as a bar or a cell needs it; hover and data have the exact one."""
    return share(probability) if probability >= 1e-5 or not probability else "&lt;0.001%"


def _marker(kind: str, theme: Theme) -> dict[str, Any]:
    if kind == "after":
        return {"color": theme.roles["score"]}
    dots = {"shape": ".", "size": 5, "solidity": 0.25, "fgcolor": theme.paper, "fillmode": "overlay"}
    return {"color": theme.compare, "pattern": dots}


def _legend(passes: tuple[str, str], theme: Theme) -> str:
    return (
        f'<span style="color:{theme.compare}">▦</span> {passes[0]}   '
        f'<span style="color:{theme.roles["score"]}">■</span> {passes[1]}'
    )


def _value_axis(theme: Theme) -> dict[str, Any]:
    return {
        "gridcolor": theme.grid,
        "zeroline": True,
        "zerolinecolor": theme.frame,
        "fixedrange": True,
        "tickfont": {"size": 11, "color": theme.muted},
    }


def _name_axis(names: Sequence[str]) -> dict[str, Any]:
    return {
        "range": [len(names) - 0.5, -0.5],
        "tickvals": list(range(len(names))),
        "ticktext": list(names),
        "tickfont": {"size": 13},
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }


def _title(words: str, below: str, left: float, theme: Theme) -> dict[str, Any]:
    return {
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
        "text": f'<b>{words}</b><br><span style="font-size:12px;color:{theme.muted}">{below}</span>',
    }
