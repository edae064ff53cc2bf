"""The logit lens as a table: the likeliest next tokens after every layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz.figures.chart import Chart
from viz.figures.data import Table
from viz.figures.frames import frame
from viz.figures.labels import shorten, text_width
from viz.figures.look import base_layout
from viz.text.catalogue import _
from viz.text.numbers import entropy_text, short_probability
from viz.text.plotly import plain
from viz.theme import Theme, colour_at, ink_on

_LENS_ROW, _LENS_TOP = 30, 44
_GUESS, _NUMBER = 118, 78
"""Widths in pixels of a column of guesses and of a column of numbers."""


@dataclass(frozen=True)
class LensRow:
    """One place where the lens reads: its likeliest next tokens, and how the model's final guess does there.

    `final` is that guess's place among the guesses (from 0; None if it is none of them), `final_rank` its rank among
    all tokens (1: the top guess), `entropy` in bits.
    """

    name: str
    guesses: Sequence[str]
    shares: Sequence[float]
    final: int | None
    final_share: float
    final_rank: int
    entropy: float


def lens_table(rows: Sequence[LensRow], *, final: str, position: str, theme: Theme) -> Chart:
    """A row for each place the lens reads: its likeliest next tokens with their probability, shaded by it.

    The model's final guess, whose label is `final`, is outlined; on the right stand its probability and rank and the
    row's entropy. `position` names the token read, as plotly markup.
    """
    n_guesses = len(rows[0].guesses)
    shares = np.array([row.shares for row in rows])
    unit = _NUMBER / _GUESS
    ends = [n_guesses - 0.5 + unit * column for column in (1, 2, 3)]
    columns = [
        (_("probability"), [plain(short_probability(row.final_share)) for row in rows]),
        (_("its rank"), [f"{row.final_rank:,}" for row in rows]),
        (_("entropy, bits"), [entropy_text(row.entropy) for row in rows]),
    ]
    traces = [_cells(rows, shares, theme), _words(rows, shares, theme)]
    traces += [_number_column(at, texts, title, theme) for at, (title, texts) in zip(ends, columns, strict=True)]
    headings: list[tuple[float, str, str]] = [(rank, text, "center") for rank, text in enumerate(_ordinals(n_guesses))]
    headings += [(at, title, "right") for at, (title, _texts) in zip(ends, columns, strict=True)]
    titles = [
        (ends[1], _("final guess {token}", token=plain(shorten(final))), "right"),
        (-0.5, _("The next-token guess after {token}", token=position), "left"),
    ]
    end = ends[-1] + 0.06
    left = max(text_width(row.name, 13) for row in rows) + 22
    layout = base_layout(theme) | {
        "height": round(_LENS_ROW * len(rows) + _LENS_TOP + 8),
        "margin": {"l": left, "r": 4, "t": _LENS_TOP, "b": 8, "pad": 0},
        "xaxis": {"range": [-0.5, end], "visible": False, "fixedrange": True},
        "yaxis": {
            "range": [len(rows) - 0.5, -0.5],
            "tickvals": list(range(len(rows))),
            "ticktext": [row.name for row in rows],
            "tickfont": {"size": 13},
            "ticks": "",
            "ticklabelstandoff": 6,
            "showgrid": False,
            "zeroline": False,
            "showline": False,
            "fixedrange": True,
        },
        "shapes": list(_outlines(rows, theme)),
        "annotations": [
            *(_heading(x, 0, text, anchor, theme.muted) for x, text, anchor in headings),
            *(_heading(x, 18, f"<b>{text}</b>", anchor, theme.text) for x, text, anchor in titles),
        ],
    }
    return Chart(go.Figure(traces, layout), lambda: _table(rows), round(0.92 * (left + _GUESS * (end + 0.5))))


def _table(rows: Sequence[LensRow]) -> Table:
    """Every guess of every row, with the row's own numbers."""
    titles = ("read at", "rank", "token", "probability", "entropy, bits", "final token's probability", "its rank")
    guesses = (
        (row.name, rank, word, p, row.entropy, row.final_share, row.final_rank)
        for row in rows
        for rank, (word, p) in enumerate(zip(row.guesses, row.shares, strict=True), start=1)
    )
    return Table(titles, guesses)


def _cells(rows: Sequence[LensRow], shares: Float[np.ndarray, "row rank"], theme: Theme) -> go.Heatmap:
    return go.Heatmap(
        z=shares.astype(np.float32),
        colorscale=[list(stop) for stop in theme.sequential],
        zmin=0.0,
        zmax=1.0,
        showscale=False,
        xgap=3,
        ygap=3,
        hovertext=[
            [f'{row.name}: "{plain(word)}" {p:.4g}' for word, p in zip(row.guesses, row.shares, strict=True)]
            for row in rows
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        meta={"cells": True},
    )


def _words(rows: Sequence[LensRow], shares: Float[np.ndarray, "row rank"], theme: Theme) -> go.Scatter:
    """Each guess with its probability, in an ink that can be read on its cell."""
    places = list(np.ndindex(shares.shape))
    texts = []
    for row, rank in places:
        word = plain(shorten(rows[row].guesses[rank], 10))
        word = f"<b>{word}</b>" if rows[row].final == rank else word
        texts.append(f"{word} {plain(short_probability(float(shares[row, rank])))}")
    return go.Scatter(
        x=[rank for row, rank in places],
        y=[row for row, rank in places],
        text=texts,
        mode="text",
        textfont={
            "size": 12,
            "color": [ink_on(colour_at(theme.sequential, min(max(float(shares[at]), 0.0), 1.0))) for at in places],
        },
        hoverinfo="skip",
        meta={"guesses": True},
    )


def _outlines(rows: Sequence[LensRow], theme: Theme) -> Iterator[dict[str, Any]]:
    """A frame around the final guess, wherever it is among the guesses."""
    for y, row in enumerate(rows):
        if row.final is not None:
            across = (row.final - 0.485, row.final + 0.485)
            yield frame(across, (y - 0.44, y + 0.44), line=theme.text, layer="above")


def _ordinals(n: int) -> list[str]:
    """The headings of `n` columns of guesses."""
    first = [_("1st guess"), _("2nd guess"), _("3rd guess")]
    return [*first, *(_("{rank}th guess", rank=rank) for rank in range(4, n + 1))][:n]


def _number_column(at: float, texts: Sequence[str], title: str, theme: Theme) -> go.Scatter:
    return go.Scatter(
        x=[at] * len(texts),
        y=list(range(len(texts))),
        text=list(texts),
        mode="text",
        textposition="middle left",
        textfont={"size": 12, "color": theme.text},
        hoverinfo="skip",
        cliponaxis=False,
        meta={"column": title},
    )


def _heading(x: float, up: int, text: str, anchor: str, colour: str) -> dict[str, Any]:
    """A heading that stands `up` pixels above the table's upper edge."""
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
