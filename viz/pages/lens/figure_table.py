"""The logit lens as a table: the likeliest next tokens after every layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from viz.figures.change import short_share
from viz.figures.data import Table, with_data
from viz.figures.frames import frame
from viz.figures.labels import shorten, text_width
from viz.figures.look import base_layout
from viz.text.plotly import plain
from viz.theme import Theme, colour_at, ink_on

_LENS_ROW, _LENS_TOP = 30, 44
_GUESS, _NUMBER = 118, 78
"""Widths in pixels of a column of guesses and of a column of numbers."""


def lens_table(
    shares: Float[np.ndarray, "row rank"],
    *,
    guesses: Sequence[Sequence[str]],
    is_final: np.ndarray,
    rows: Sequence[str],
    entropy: Float[np.ndarray, " row"],
    final_rank: Int[np.ndarray, " row"],
    final_share: Float[np.ndarray, " row"],
    final: str,
    position: str,
    theme: Theme,
) -> go.Figure:
    """A row for each place the lens reads: its likeliest next tokens with their probability, shaded by it.

    `is_final` (row, rank) marks the guesses that are the model's final one, `final`; on the right stand that token's
    probability and rank (1: the top guess) and the row's entropy in bits. `position` names the token read.
    """
    n_rows, n_guesses = shares.shape
    ends = np.arange(n_guesses) + 0.5
    cells = go.Heatmap(
        z=shares.astype(np.float32),
        colorscale=[list(stop) for stop in theme.sequential],
        zmin=0.0,
        zmax=1.0,
        showscale=False,
        xgap=3,
        ygap=3,
        hovertext=[
            [f'{row}: "{plain(word)}" {p:.4g}' for word, p in zip(words, line, strict=True)]
            for row, words, line in zip(rows, guesses, shares.tolist(), strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        meta={"cells": True},
    )
    places = [(row, rank) for row in range(n_rows) for rank in range(n_guesses)]
    inks = [ink_on(colour_at(theme.sequential, min(max(float(shares[place]), 0.0), 1.0))) for place in places]
    words = go.Scatter(
        x=[rank for _, rank in places],
        y=[row for row, _ in places],
        text=[_guess(guesses[row][rank], shares[row, rank], bool(is_final[row, rank])) for row, rank in places],
        mode="text",
        textfont={"size": 12, "color": inks},
        hoverinfo="skip",
        meta={"guesses": True},
    )
    outlined = [
        frame((rank - 0.485, rank + 0.485), (row - 0.44, row + 0.44), line=theme.text, layer="above")
        for row, rank in places
        if is_final[row, rank]
    ]
    unit = _NUMBER / _GUESS
    columns = (
        ("probability", [short_share(p) for p in final_share.tolist()]),
        ("its rank", [f"{rank:,}" for rank in final_rank.tolist()]),
        ("entropy, bits", [f"{bits:.2f}" for bits in entropy.tolist()]),
    )
    traces: list[Any] = [cells, words]
    headings = [(rank, f"{_ordinal(rank + 1)} guess", "center") for rank in range(n_guesses)]
    for i, (heading, texts) in enumerate(columns):
        at = ends[-1] + unit * (i + 1)
        traces.append(_number_column(at, texts, heading, theme))
        headings.append((at, heading, "right"))
    end = ends[-1] + unit * len(columns) + 0.06
    left = max(text_width(row, 13) for row in rows) + 22
    width = left + _GUESS * (end + 0.5)
    final_at = ends[-1] + unit * 2
    annotations = [_heading(x, 0, text, anchor, theme, theme.muted) for x, text, anchor in headings]
    annotations.append(
        _heading(final_at, 18, f"<b>final guess {plain(shorten(final))}</b>", "right", theme, theme.text)
    )
    annotations.append(_heading(-0.5, 18, f"<b>The next-token guess after {position}</b>", "left", theme, theme.text))
    figure = go.Figure(
        traces,
        base_layout(theme)
        | {
            "height": round(_LENS_ROW * n_rows + _LENS_TOP + 8),
            "margin": {"l": left, "r": 4, "t": _LENS_TOP, "b": 8, "pad": 0},
            "xaxis": {"range": [-0.5, end], "visible": False, "fixedrange": True},
            "yaxis": {
                "range": [n_rows - 0.5, -0.5],
                "tickvals": list(range(n_rows)),
                "ticktext": list(rows),
                "tickfont": {"size": 13},
                "ticks": "",
                "ticklabelstandoff": 6,
                "showgrid": False,
                "zeroline": False,
                "showline": False,
                "fixedrange": True,
            },
            "shapes": outlined,
            "annotations": annotations,
            "meta": {"min_width": round(0.92 * width)},
        },
    )

    def data() -> Table:
        titles = ("read at", "rank", "token", "probability", "entropy, bits", "final token's probability", "its rank")
        lines = zip(
            rows, guesses, shares.tolist(), entropy.tolist(), final_share.tolist(), final_rank.tolist(), strict=True
        )
        return Table(
            titles,
            (
                (row, rank, word, p, bits, own, place)
                for row, words_here, line, bits, own, place in lines
                for rank, (word, p) in enumerate(zip(words_here, line, strict=True), start=1)
            ),
        )

    return with_data(figure, data)


def _guess(label: str, probability: float, final: bool) -> str:
    word = plain(shorten(label, 10))
    return f"{f'<b>{word}</b>' if final else word} {short_share(float(probability))}"


def _ordinal(number: int) -> str:
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"


def _number_column(at: float, texts: Sequence[str], kind: str, theme: Theme) -> go.Scatter:
    return go.Scatter(
        x=[at] * len(texts),
        y=list(range(len(texts))),
        text=list(texts),
        mode="text",
        textposition="middle left",
        textfont={"size": 12, "color": theme.text},
        hoverinfo="skip",
        cliponaxis=False,
        meta={"column": kind},
    )


def _heading(x: float, up: int, text: str, anchor: str, theme: Theme, colour: str) -> dict[str, Any]:
    return {
        "x": x,
        "xanchor": anchor,
        "yref": "paper",
        "y": 1,
        "yanchor": "bottom",
        "yshift": up + 3,
        "text": text,
        "showarrow": False,
        "font": {"size": 11 if up == 0 else 13, "color": colour},
    }
