"""The mask: one text as many training examples, and a head's scores on their way to weights in four matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from viz.figures.chart import Chart
from viz.figures.data import Table
from viz.figures.frames import frame
from viz.figures.labels import hover_name, position_label, shorten, text_width, tick_indices, token_axis
from viz.figures.look import CLEAR, base_layout
from viz.figures.matrices import weights_panel
from viz.figures.panels import Panel
from viz.figures.tiles import tile_figure
from viz.text.catalogue import _
from viz.text.plotly import plain
from viz.theme import Theme, mix

if TYPE_CHECKING:
    from model.steps.masking import MaskSteps

NUMBERED_TOKENS = 12
"""Up to this many tokens every cell carries its number or its word."""
SAID_TOKENS = 4
"""Of fewer tokens the features are too narrow for more than their name above them."""
HOVERED_TOKENS = 256
"""Up to this many tokens the diagonal answers a pointer as well as the labels do."""
WIDTH, ONE_COLUMN_WIDTH = 800, 240
"""The page widths in pixels that the four matrices are laid out for, two a row and below each other."""
NUMBER_WIDTHS, NUMBER_HEIGHT = (29, 38), 34
"""The least and the largest width that a cell with a number in it asks for, and its height, in pixels."""
LEAST_TILE = 184
"""The room in pixels that a matrix's title needs."""
WORD_CELL = (46, 76)
"""The least and the largest width in pixels of a cell with a word in it."""
ROW_HEIGHT = 34
TALL_HEIGHT = 380
LEFT, RIGHT, TOP, BOTTOM = 78, 8, 46, 8
MIN_SLOTS = 6
"""Room for at least so many cells across, so that a single one does not become a wall."""


def mask_matrices(
    steps: MaskSteps,
    *,
    labels: Sequence[str],
    notes: tuple[str, str],
    masked_text: str,
    theme: Theme,
    columns: int = 2,
    click: bool = True,
) -> Chart:
    """Q Kᵀ, scaled, masked and softmax, query rows and key columns; numbers in the cells up to `NUMBERED_TOKENS`.

    `notes` say what the products are and what they are divided by. Cells above the diagonal are drawn as masked in the
    third and fourth matrix whatever number stands for them there; `masked_text` names it. Scaled and masked scores
    share one range. `columns` matrices stand in a row.
    """
    n = len(labels)
    hidden = np.triu(np.ones((n, n), dtype=bool), 1)
    largest = float(np.abs(steps.scaled).max()) or 1.0
    rows, keys = token_axis("query", labels), token_axis("key", labels)
    shared: dict[str, Any] = {"rows": rows, "columns": keys, "hover": _("query %{y} against key %{x}: %{value}")}
    limits: dict[str, Any] = {"zmin": -largest, "zmax": largest}
    panels = [
        Panel(steps.products, "1 Q Kᵀ", "score", note=notes[0], **shared),
        Panel(steps.scaled, "2 Scaled", "score", note=notes[1], **shared, **limits),
        Panel(
            np.where(hidden, np.nan, steps.masked),
            "3 Masked",
            "score",
            note=_("later keys become {score}", score=masked_text),
            masked=hidden,
            masked_text=masked_text,
            masked_hover=_("masked: key %{{x}} comes after query %{{y}}, its score becomes {score}", score=masked_text),
            **shared,
            **limits,
        ),
        weights_panel(steps.pattern, "4 Softmax", labels=labels, note=_("along each row, adds up to 1"), hidden=hidden),
    ]
    width = ONE_COLUMN_WIDTH if columns == 1 else WIDTH
    if n > NUMBERED_TOKENS:
        return tile_figure(panels, theme=theme, columns=columns, width=width, click=click)
    # As wide as the numbers need; on a wider page the cells grow in width, as in a table.
    beside = max(map(text_width, rows.ticks)) + (60 if columns > 1 else 26)  # labels and edges
    cell = np.clip((WIDTH - beside) / (2 * n), *NUMBER_WIDTHS)
    least = round(columns * max(n * cell, LEAST_TILE if columns > 1 else 0) + beside)
    return tile_figure(
        panels,
        theme=theme,
        columns=columns,
        width=least,
        cell_height=NUMBER_HEIGHT,
        numbers=True,
        click=click,
        min_width=least,
    )


def training_examples(labels: Sequence[str], *, theme: Theme) -> Chart:
    """One text as training examples: row i reads the tokens 1 to i (green), its label is token i + 1 (pink).

    The text ends where the last row's label would be: its cell stays open. Words are in the cells up to
    `NUMBERED_TOKENS`; above, the same table with its words along the sides.
    """
    n = len(labels)
    worded = n <= NUMBERED_TOKENS
    wide = 1.0 if worded else n / NUMBERED_TOKENS  # the label column's width in cells
    left = n - 0.5 + 0.4 * wide
    column = (left, left + wide)
    traces = [
        _area(_stairs(n, below=True), _pale("input", theme), "features"),
        _area(_stairs(n, below=False), theme.masked, "hidden", hatch=theme.masked_ink),
        _area(_box(column, n - 1), _pale("score", theme), "labels"),
        _area(_box(column, n, start=n - 1), CLEAR, "open"),
    ]
    cell = _cell_width(labels) if worded else 0.0
    if worded:
        traces += _words(labels, column, cell, theme)
    else:
        shown = [row for row in tick_indices(n, TALL_HEIGHT / 16) if row < n - 1]
        names = [position_label(row + 1, labels[row + 1]) for row in shown]
        traces.append(_texts([column[1]] * len(shown), shown, names, theme.text, place="middle right"))
    traces.append(_hover(labels, sum(column) / 2))
    layout, min_width = _layout(labels, column, cell, theme)

    def table() -> Table:
        return Table(
            ("example", "last token read", "its label"),
            ((row + 1, label, labels[row + 1] if row + 1 < n else "") for row, label in enumerate(labels)),
        )

    return Chart(go.Figure(traces, layout), table, min_width)


def _pale(role: str, theme: Theme) -> str:
    return mix(theme.zero, theme.roles[role], 0.2 if theme.kind == "light" else 0.3)


def _stairs(n: int, *, below: bool) -> tuple[list[float], list[float]]:
    """The outline of the cells up to the diagonal, or of those beyond it."""
    corner = (-0.5, n - 0.5) if below else (n - 0.5, -0.5)
    xs, ys = [corner[0], -0.5], [corner[1], -0.5]
    for row in range(n):
        xs += [row + 0.5, row + 0.5]
        ys += [row - 0.5, row + 0.5]
    return [*xs, corner[0]], [*ys, corner[1]]


def _box(column: tuple[float, float], end: int, start: int = 0) -> tuple[list[float], list[float]]:
    (left, right), top, bottom = column, start - 0.5, end - 0.5
    return [left, right, right, left, left], [top, top, bottom, bottom, top]


def _area(outline: tuple[list[float], list[float]], colour: str, name: str, hatch: str = "") -> go.Scatter:
    """A filled outline; `name` says in its meta what it stands for."""
    options: dict[str, Any] = {"fillcolor": colour}
    if hatch:
        options = {"fillpattern": {"shape": "/", "size": 6, "solidity": 0.1, "fgcolor": hatch, "bgcolor": colour}}
    return go.Scatter(
        x=np.array(outline[0], np.float32),
        y=np.array(outline[1], np.float32),
        mode="lines",
        line={"width": 0},
        fill="toself",
        hoverinfo="skip",
        meta={"area": name},
        **options,
    )


def _cell_width(texts: Sequence[str]) -> float:
    """Pixels for a cell that holds the longest of these words, as far as `WORD_CELL` allows."""
    return float(np.clip(max(text_width(plain(text), 13) for text in texts) + 14, *WORD_CELL))


def _fitting(text: str, room: float) -> str:
    """As much of `text` as `room` pixels hold."""
    limit = next((size for size in range(len(text), 1, -1) if text_width(plain(shorten(text, size)), 13) <= room), 1)
    return plain(shorten(text, limit))


def _words(labels: Sequence[str], column: tuple[float, float], cell: float, theme: Theme) -> list[go.Scatter]:
    """The word of every cell: what a row reads, paler what it does not see, and its label."""
    n, middle = len(labels), sum(column) / 2
    tokens = [_fitting(label, cell - 8) for label in labels]
    seen = [(x, y) for y in range(n) for x in range(y + 1)]
    hidden = [(x, y) for y in range(n) for x in range(y + 1, n)]
    layers = [
        _texts([x for x, _ in cells], [y for _, y in cells], [tokens[x] for x, _ in cells], colour)
        for cells, colour in ((seen, theme.text), (hidden, theme.masked_ink))
    ]
    said = [*(f"<b>{token}</b>" for token in tokens[1:]), "?"]
    return [*layers, _texts([middle] * n, list(range(n)), said, theme.text)]


def _texts(
    x: Sequence[float], y: Sequence[float], text: Sequence[str], colour: str, place: str = "middle center"
) -> go.Scatter:
    return go.Scatter(
        x=list(x),
        y=list(y),
        text=list(text),
        mode="text",
        textposition=place,
        textfont={"size": 13 if place == "middle center" else 12, "color": colour},
        hoverinfo="skip",
        cliponaxis=False,
        meta={"texts": True},
    )


def _hover(labels: Sequence[str], middle: float) -> go.Scatter:
    """Points over the diagonal and the labels that say each example in words."""
    n = len(labels)
    names = [hover_name(row, label) for row, label in enumerate(labels)]
    read = [names[0], *(f"{names[0]} to {name}" for name in names[1:])]
    rows, beside = np.arange(n, dtype=np.int16), np.full(n, middle, np.float32)
    # In a long text the labels alone have points: their words are most of what this figure sends.
    x, places = (beside, 1) if n > HOVERED_TOKENS else (np.concatenate([rows, beside]), 2)
    return go.Scatter(
        x=x,
        y=np.tile(rows, places),
        text=read * places,
        customdata=[*names[1:], _("not in the text")] * places,
        mode="markers",
        marker={"size": 18, "opacity": 0},
        hovertemplate="reads %{text}<br>its label: %{customdata}<extra></extra>",
        meta={"examples": True},
    )


def _layout(
    labels: Sequence[str], column: tuple[float, float], cell: float, theme: Theme
) -> tuple[dict[str, Any], int]:
    """Rows from the top, positions above the words or, without words in the cells, the tokens below;
    and the least width in pixels."""
    n, worded = len(labels), bool(cell)
    across = max(column[1] + 0.5, MIN_SLOTS)
    height = ROW_HEIGHT * n if worded else TALL_HEIGHT
    ticks = tick_indices(n, n if worded else 50)
    tokens = [position_label(i, labels[i]) for i in ticks]
    bottom = BOTTOM if worded else 12 + max(text_width(token) for token in tokens)
    right = RIGHT if worded else 16 + max(text_width(position_label(i, labels[i])) for i in range(1, n))
    more = _(": what the row reads") if n >= SAID_TOKENS else ""
    plain_axis = {"showgrid": False, "zeroline": False, "ticks": "", "tickfont": {"size": 12, "color": theme.muted}}
    lines = [_line(at, -0.5, at, n - 0.5, theme) for at in np.arange(n + 1) - 0.5] if worded else []
    lines += (
        [_line(x, at, y, at, theme) for at in np.arange(n + 1) - 0.5 for x, y in ((-0.5, n - 0.5), column)]
        if worded
        else []
    )
    frames = [
        frame(across_cells, (-0.5, n - 0.5), line=theme.frame, layer="above")
        for across_cells in ((-0.5, n - 0.5), column)
    ]
    layout = base_layout(theme) | {
        "height": round(height + TOP + bottom),
        "margin": {"l": LEFT, "r": round(right), "t": TOP, "b": round(bottom), "pad": 0},
        "xaxis": {
            "range": [-0.5, across - 0.5],
            "tickvals": ticks,
            "ticktext": [str(i + 1) for i in ticks] if worded else tokens,
            "tickangle": 0 if worded else -90,
            "side": "top" if worded else "bottom",
            **plain_axis,
        },
        "yaxis": {
            "range": [n - 0.5, -0.5],
            "tickvals": tick_indices(n, n if worded else TALL_HEIGHT / 16),
            "ticktext": [f"example {i + 1} " for i in tick_indices(n, n if worded else TALL_HEIGHT / 16)],
            **plain_axis,
        },
        "shapes": [*lines, *frames],
        "annotations": [
            _title(f"<b>Features</b>{more}", theme.ink("input"), -0.5, "left", 22 if worded else 4),
            _title("<b>Label</b>", theme.ink("score"), sum(column) / 2, "center", 22 if worded else 4),
            _title("position ", theme.muted, -0.5, "right", *((2, 1, 12) if worded else (-22, 0, 12))),
        ],
    }
    return layout, round(LEFT + RIGHT + across * cell) if worded else 420


def _title(
    text: str, colour: str, x: float, anchor: str, shift: float, y: float = 1, size: float = 14
) -> dict[str, Any]:
    """Words `shift` pixels above the table's upper (`y` = 1) or lower edge."""
    place = {"x": x, "xanchor": anchor, "y": y, "yref": "paper", "yshift": shift, "yanchor": "bottom"}
    return {"text": text, "showarrow": False, "font": {"size": size, "color": colour}, **place}


def _line(x0: float, y0: float, x1: float, y1: float, theme: Theme) -> dict[str, Any]:
    return {"type": "line", "x0": x0, "y0": y0, "x1": x1, "y1": y1, "line": {"color": theme.frame, "width": 1}}
