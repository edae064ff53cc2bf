"""Self-attention as a map: a path for each token, its vectors where they arise, the three steps across all paths.

One heatmap holds every strip; x cells are the unit across, pixels the unit up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from viz.figures.blocks import Blocks, to_blocks
from viz.figures.chart import Chart
from viz.figures.data import Table, numbers
from viz.figures.frames import frame, veil
from viz.figures.labels import position_label, share_text, text_width
from viz.figures.look import base_layout
from viz.figures.panels import ROW_WIDTH
from viz.figures.scales import composite_scale, to_segment, value_range
from viz.text.catalogue import _
from viz.text.plotly import plain
from viz.theme import Theme, mix

MOST_PATHS = 16
MASKED_PATHS = 3
"""Of a longer text so many paths are drawn: the chosen token's, those it reads most, and a few masked ones."""
HEAD_CELLS, INPUT_CELLS = 16, 24
STEP_COLUMN, PATH_WIDTH, LEAST_PATH_WIDTH = 136, 104, 46
LEAST_STEP_COLUMN = 96
"""In pixels, for the names of the steps and of the strips side by side."""
STRIP, SIDE = 14, 10
LINES = {"x": 0, "query": 56, "key": 76, "value": 96, "weighted": 206, "z": 268}
"""Where each kind of vector lies, in pixels from the figure's lower edge."""
FRAME, CORNER, SCORE_LINE, TOP = (32, 240), 9, 158, 302
BANDS = {1: (34, 121), 2: (121, 188), 3: (188, 239)}
STEP_NAMES = {1: "1  Create<br>\u2002\u2002q, k, v", 2: "2  Score", 3: "3  Sum"}
"""On a narrow screen the column of names is narrow too: the longest is two lines, beside the letters of its strips."""
LATER_VEIL, MASKED_VEIL = 0.5, 0.6
"""How much of the paper covers the steps that come after those that are lit, and the masked paths: they recede, and can
still be read."""
_ROLES = {"x": "input", "query": "query", "key": "key", "value": "value", "weighted": "value", "z": "score"}
_WORDS = {"weighted": "weight × value", "z": "head output z"}


@dataclass(frozen=True)
class _Place:
    """Which paths are drawn, and how wide they are in cells; a cell takes `cell` pixels at the nominal width."""

    paths: tuple[int, ...]
    pitch: int
    cell: float
    start: float
    end: float

    def centre(self, path: int) -> float:
        return (self.paths.index(path) + 0.5) * self.pitch - 0.5


def steps_map(
    vectors: dict[str, Float[np.ndarray, "pos _"]],
    weights: Float[np.ndarray, " key"],
    *,
    labels: Sequence[str],
    query: int,
    head: str,
    theme: Theme,
    lit: Collection[int] = (1, 2, 3),
    masked: Bool[np.ndarray, " key"] | None = None,
) -> Chart:
    """The token paths through one head while the token at `query` is processed; the steps in `lit` stand out.

    `vectors` has `x`, `query`, `key`, `value` and `z` of every token (rows), `weights` what the query gives each key.
    `masked` marks keys the query may not read; None is self-attention without a mask. A strip of more than
    `HEAD_CELLS` numbers (x: `INPUT_CELLS`) shows the strongest of each block. Of a long text `MOST_PATHS` are drawn.
    """
    n = len(labels)
    if len(weights) != n or not 0 <= query < n or any(len(rows) != n for rows in vectors.values()):
        raise ValueError(f"{n} labels, {len(weights)} weights, query {query}: no match")
    hidden = np.zeros(n, bool) if masked is None else masked
    paths = shown_paths(weights, hidden, query)
    kinds = {name: rows[list(paths)] for name, rows in vectors.items()}
    kinds["weighted"] = weights[list(paths), None] * kinds["value"]
    strips = {
        name: to_blocks(rows, max_cells=INPUT_CELLS if name == "x" else HEAD_CELLS) for name, rows in kinds.items()
    }
    place = _place(paths, max(blocks.values.shape[1] for blocks in strips.values()))
    traces = [_cells(strips, place, theme), *_hovers(strips, place), _arrows(place, query, theme)]
    traces.append(_shares(weights, hidden, place, theme))
    layout, min_width = _layout(weights, masked, labels, query, head, lit, place, theme)
    vectors_and_weights = kinds | {"weight": weights[list(paths), None]}
    return Chart(go.Figure(traces, layout), lambda: _table(paths, labels, vectors_and_weights), min_width)


def _table(paths: Sequence[int], labels: Sequence[str], vectors: dict[str, Float[np.ndarray, "path _"]]) -> Table:
    """Every number of the drawn paths, also those that a strip shows only the strongest of."""
    rows = (
        (path + 1, labels[path], name, i, value)
        for name, of_paths in vectors.items()
        for path, values in zip(paths, of_paths, strict=True)
        for i, value in enumerate(numbers(values))
    )
    return Table(("token", "token label", "vector", "dimension", "value"), rows)


def shown_paths(
    weights: Float[np.ndarray, " key"], hidden: Bool[np.ndarray, " key"], query: int, most: int = MOST_PATHS
) -> tuple[int, ...]:
    """The positions (from 0) that are drawn: up to `most` all, else the query, the next masked ones, those it reads."""
    if len(weights) <= most:
        return tuple(range(len(weights)))
    chosen = {query, *np.flatnonzero(hidden)[:MASKED_PATHS].tolist()}
    by_weight = (key for key in np.argsort(-weights, kind="stable").tolist() if key not in chosen)
    return tuple(sorted([*chosen, *islice(by_weight, most - len(chosen))]))


def _place(paths: tuple[int, ...], strip: int) -> _Place:
    pitch = strip + max(3, strip // 5)
    room = ROW_WIDTH - 8 - STEP_COLUMN - SIDE
    cell = min(PATH_WIDTH, room / len(paths)) / pitch
    return _Place(paths, pitch, cell, -0.5 - STEP_COLUMN / cell, -0.5 + (room + SIDE) / cell)


def _cells(strips: dict[str, Blocks], place: _Place, theme: Theme) -> go.Heatmap:
    """All strips as one heatmap: a line of cells for each kind, nothing between them."""
    names = list(dict.fromkeys(_ROLES[name] for name in strips))
    stops, top = composite_scale(names, theme)
    lines = sorted(LINES, key=LINES.__getitem__)
    z = np.full((2 * len(lines) - 1, place.pitch * len(place.paths)), np.nan, np.float32)
    for line, name in enumerate(lines):
        blocks = strips[name]
        scaled_by = strips["value"] if name == "weighted" else blocks  # pale where the weight is small
        low, high = value_range(scaled_by.values, _ROLES[name], None, None)
        heights = to_segment(blocks.values, low, high, names.index(_ROLES[name]))
        for row, path in enumerate(place.paths):
            start = _first_cell(blocks, place, path)
            z[2 * line, start : start + heights.shape[1]] = heights[row]
    edges = [edge for name in lines for edge in (LINES[name], LINES[name] + STRIP)]
    scale = {"colorscale": stops, "zmin": 0.0, "zmax": top, "showscale": False, "hoverinfo": "skip"}
    return go.Heatmap(z=z, x0=0, dx=1, y=np.array(edges), meta={"cells": True}, **scale)


def _first_cell(blocks: Blocks, place: _Place, path: int) -> int:
    return place.paths.index(path) * place.pitch + (place.pitch - blocks.values.shape[1]) // 2


def _hovers(strips: dict[str, Blocks], place: _Place) -> Iterator[go.Scatter]:
    """Invisible points that tell each cell's value, as over tiles (see `viz.figures.clicks`)."""
    for name, blocks in strips.items():
        n_cells = blocks.values.shape[1]
        starts = np.array([_first_cell(blocks, place, path) for path in place.paths])
        positions = np.repeat(np.array(place.paths) + 1, n_cells)
        data = np.stack([blocks.values.ravel(), blocks.columns.ravel(), positions], axis=1).astype(np.float32)
        strongest = _(", the strongest here") if blocks.reduced else ""
        yield go.Scatter(
            x=(starts[:, None] + np.arange(n_cells)).ravel().astype(np.int16),
            y=np.full(blocks.values.size, LINES[name] + STRIP // 2, np.int16),
            customdata=data,
            mode="text",
            marker={"maxdisplayed": 1},
            hovertemplate=f"{_WORDS.get(name, name)} of token %{{customdata[2]}}, dimension %{{customdata[1]}}: "
            f"%{{customdata[0]:.4~g}}{strongest}<extra></extra>",
            showlegend=False,
            meta={"kind": name},
        )


def _arrows(place: _Place, query: int, theme: Theme) -> go.Scatter:
    colours = [theme.text if path == query else theme.frame for path in place.paths]
    return go.Scatter(
        x=[place.centre(path) for path in place.paths],
        y=[TOP - 6] * len(place.paths),
        mode="markers",
        marker={"symbol": "triangle-up", "size": 10, "color": colours},
        hoverinfo="skip",
        showlegend=False,
    )


def _shares(weights: np.ndarray, hidden: np.ndarray, place: _Place, theme: Theme) -> go.Scatter:
    """The percentages of step 2; a masked key has a score of minus infinity, and so nothing."""
    shares = [float(weights[path]) for path in place.paths]
    size = max(11.0, min(19.0, place.pitch * place.cell / 4.2))
    return go.Scatter(
        x=[place.centre(path) for path in place.paths],
        y=[SCORE_LINE] * len(shares),
        text=[
            f"−∞ → {share_text(0)}" if hidden[path] else share_text(share)
            for path, share in zip(place.paths, shares, strict=True)
        ],
        mode="text",
        textfont={
            "size": [11.0 if hidden[path] else size for path in place.paths],
            "color": [mix(theme.muted, theme.ink("score"), min(1.0, 4 * share)) for share in shares],
        },
        customdata=shares,
        hovertemplate="weight %{customdata:.4~g}<extra></extra>",
        showlegend=False,
        meta={"kind": "weight"},
    )


def _layout(
    weights: np.ndarray,
    masked: np.ndarray | None,
    labels: Sequence[str],
    query: int,
    head: str,
    lit: Collection[int],
    place: _Place,
    theme: Theme,
) -> tuple[dict[str, Any], int]:
    """Axes, shapes and names; and the least width in pixels."""
    ticks = [position_label(path, labels[path]) for path in place.paths]
    longest = max(text_width(tick) for tick in ticks)
    rotated = longest > place.pitch * place.cell
    bottom = longest + 12 if rotated else 24
    axis = {"showgrid": False, "zeroline": False, "showline": False, "ticks": ""}
    least = LEAST_PATH_WIDTH if rotated else max(LEAST_PATH_WIDTH, round(longest))
    whole = (place.end - place.start) * place.cell + 8  # the nominal width
    needed = max(STEP_COLUMN + SIDE + 8 + least * len(place.paths), whole * LEAST_STEP_COLUMN / STEP_COLUMN)
    layout = base_layout(theme) | {
        "height": round(TOP + 28 + bottom),
        "margin": {"l": 4, "r": 4, "t": 22, "b": bottom, "pad": 2},
        "xaxis": {
            "range": [place.start, place.end],
            "tickvals": [place.centre(path) for path in place.paths],
            "ticktext": [f"<b>{t}</b>" if p == query else t for p, t in zip(place.paths, ticks, strict=True)],
            "tickangle": -90 if rotated else 0,
            "tickfont": {"size": 12, "color": theme.text},
            **axis,
        },
        "yaxis": {"range": [-6, TOP], "showticklabels": False, **axis},
        "shapes": [*_lines(weights, masked, query, lit, place, theme), *_veils(masked, lit, place, theme)],
        "annotations": list(_names(masked is not None, len(labels), head, lit, place, theme)),
        "meta": {"in_view": place.centre(query)},
    }
    return layout, round(needed)


def _lines(
    weights: np.ndarray, masked: np.ndarray | None, query: int, lit: Collection[int], place: _Place, theme: Theme
) -> Iterator[dict[str, Any]]:
    """The frame, the paths, the lines between the steps, and who meets whom in the steps that are lit."""
    end = place.centre(place.paths[-1]) + place.pitch / 2 + (SIDE - 2) / place.cell
    left, colour = place.start + 2 / place.cell, theme.roles["key" if masked is None else "score"]
    yield frame((left, end), FRAME, line=colour, width=2.5, corner=(CORNER / place.cell, CORNER))
    for path in place.paths:
        x = place.centre(path)
        strong = {"color": theme.text, "width": 2} if path == query else {"color": theme.frame, "width": 1.2}
        for y0, y1 in ((STRIP, SCORE_LINE - 12), (SCORE_LINE + 12, TOP - 10)):
            yield {"type": "line", "x0": x, "x1": x, "y0": y0, "y1": y1, "line": strong, "layer": "below"}
    for step in (1, 2):
        y = BANDS[step][1]
        line = {"color": theme.frame, "width": 1.2, "dash": "dot"}
        yield {"type": "line", "x0": left, "x1": end, "y0": y, "y1": y, "line": line, "layer": "below"}
    ends = {2: ("query", SCORE_LINE - 12, "score"), 3: ("weighted", LINES["z"], "value")}
    for step in sorted(set(lit) & set(ends)):
        name, y, role = ends[step]
        for path in place.paths:
            share = float(weights[path])
            if masked is not None and masked[path]:
                continue
            sides = (query, path) if step == 2 else (path, query)
            yield {
                "type": "line",
                "x0": place.centre(sides[0]),
                "x1": place.centre(sides[1]),
                "y0": LINES[name] + STRIP,
                "y1": y,
                "line": {"color": theme.roles[role], "width": 1 + 2.5 * share, "dash": "dot"},
                "opacity": 0.25 + 0.75 * share,
                "layer": "below",
            }


def _veils(masked: np.ndarray | None, lit: Collection[int], place: _Place, theme: Theme) -> Iterator[dict[str, Any]]:
    """Paper over what comes after the steps that are lit, and over the masked paths."""
    left, right = (
        place.centre(path) + place.pitch / 2 * side for path, side in ((place.paths[0], -1), (place.paths[-1], 1))
    )
    for step, (low, high) in BANDS.items():
        if step > max(lit):
            yield veil((left, right), (low, high - 1), paper=theme.paper, opacity=LATER_VEIL)
    if max(lit) < max(BANDS):
        yield veil((left, right), (FRAME[1] + 2, TOP), paper=theme.paper, opacity=LATER_VEIL)
    later = [path for path in place.paths if masked is not None and masked[path]]
    if later:
        left = place.centre(later[0]) - place.pitch / 2
        for low, high in ((-4, FRAME[0] - 2), BANDS[1], BANDS[3], (FRAME[1] + 2, TOP)):
            yield veil((left, right), (low + 1, high - 1), paper=theme.paper, opacity=MASKED_VEIL)


def _names(
    masked: bool, n: int, head: str, lit: Collection[int], place: _Place, theme: Theme
) -> Iterator[dict[str, Any]]:
    """The map's title, the steps' names and the letter of each line of strips."""
    at = {"x": place.start, "showarrow": False, "xanchor": "left", "yanchor": "middle", "align": "left"}
    part = f" · {len(place.paths)} of {n:,} tokens: those it reads most" if len(place.paths) < n else ""
    kind, colour = (_("Masked self-attention"), "score") if masked else ("Self-attention", "key")
    note = f'<span style="color:{theme.muted};font-size:12px">  {plain(head)}{part}</span>'
    title = at | {"y": TOP, "yshift": 12, "font": {"size": 14, "color": theme.ink(colour)}}
    yield title | {"text": f"<b>{kind}</b>{note}"}
    for step, name in STEP_NAMES.items():
        bold = step in lit
        font = {"size": 13, "color": theme.text if bold else theme.muted}
        y = SCORE_LINE if step == 2 else (BANDS[step][1] + BANDS[step][0]) / 2 + 4
        yield at | {"xshift": 10, "y": y, "text": f"<b>{name}</b>" if bold else name, "font": font}
    for name, letter in {"x": "x", "query": "q", "key": "k", "value": "v", "weighted": "w × v", "z": "z"}.items():
        font = {"size": 13, "color": theme.ink(_ROLES[name])}
        right = place.start + (STEP_COLUMN - 6) / place.cell
        yield (
            at
            | {"x": right, "xanchor": "right", "y": LINES[name] + STRIP / 2, "text": f"<b>{letter}</b>"}
            | {"font": font}
        )
