"""The whole network as a stack: embeddings below, its blocks above each other, the scores on top; sizes on everything.

Drawn from shapes and one text trace a colour, in pixels: (0, 0) is the lower left corner, y goes up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import plotly.graph_objects as go

from viz.figures.chart import Chart
from viz.figures.data import Table
from viz.figures.frames import Span, frame
from viz.figures.look import CLEAR, base_layout
from viz.text.catalogue import _
from viz.theme import Theme, mix

if TYPE_CHECKING:
    from model.network.parameters import BlockMatrix

WIDTH, MIN_WIDTH = 400, 340
UNIT = 15
"""Pixels of a matrix' side for as many rows or columns as a vector has numbers."""
RATIOS = (0.3, 4.5)
"""A side is drawn at least and at most so many units long; its true size is written beside it."""
_CHOSEN_HEIGHT, _OTHER_HEIGHT, _DOTS_HEIGHT, _GAP = 124, 30, 26, 6
_LEFT, _RIGHT = 30, WIDTH - 12
_CORNER = (9, 9)

Shapes = Mapping[str, Sequence[int]]


@dataclass
class _Drawing:
    """Shapes and words as they come."""

    theme: Theme
    shapes: list[dict[str, Any]] = field(default_factory=list)
    words: dict[str, list[tuple[float, float, str, str, int]]] = field(default_factory=dict)
    arrows: list[dict[str, Any]] = field(default_factory=list)

    def box(self, x: Span, y: Span, fill: str, line: str, width: float = 1, *, corner: Span | None = None) -> None:
        self.shapes.append(frame(x, y, line=line, width=width, fill=fill, corner=corner))

    def word(self, x: float, y: float, text: str, colour: str, place: str = "middle center", size: int = 12) -> None:
        self.words.setdefault(colour, []).append((x, y, text, place, size))

    def arrow(self, x: float, y0: float, y1: float) -> None:
        self.arrows.append(
            {"x": x, "y": y1, "ax": x, "ay": y0, "axref": "x", "ayref": "y", "showarrow": True, "text": ""}
            | {"arrowhead": 2, "arrowsize": 1, "arrowwidth": 2, "arrowcolor": self.theme.muted}
        )


class Group(NamedTuple):
    """Matrices of a block drawn side by side: their name, their rows, and each one's role and columns."""

    name: str
    n_rows: int
    parts: Sequence[tuple[str, int]]


def stack_diagram(shapes: Shapes, matrices: Sequence[BlockMatrix], *, n_layers: int, layer: int, theme: Theme) -> Chart:
    """The stack of a network with tensors of these `shapes` (a block's without `h.N.`), `matrices` in each block.

    Of the blocks, the first, the last and the one at `layer` are drawn, the last one open with its matrices; how many
    are in between is written.
    """
    if not 0 <= layer < n_layers:
        raise ValueError(f"layer {layer} of {n_layers}: there is none")
    drawing = _Drawing(theme)
    y = _embeddings(drawing, shapes, 4)
    drawing.arrow(WIDTH / 2, y, y + 20)
    top = _blocks(drawing, _groups(matrices), n_layers, layer, y + 24)
    drawing.arrow(WIDTH / 2, top, top + 20)
    height = _output(drawing, shapes, top + 24)
    figure = go.Figure(_texts(drawing), _layout(drawing, height))
    return Chart(
        figure,
        lambda: Table(("tensor", "shape"), ((name, " × ".join(map(str, shape))) for name, shape in shapes.items())),
        MIN_WIDTH,
    )


def _embeddings(drawing: _Drawing, shapes: Shapes, y: float) -> float:
    """The token matrix, and beside it that of positions where there is one; the height they reach."""
    theme, high = drawing.theme, 54
    fill = mix(theme.zero, theme.roles["input"], 0.3)
    for x, name, what, cut in ((40, "wte", "tokens", True), (230, "wpe", "positions", False)):
        if f"{name}.weight" not in shapes:
            drawing.word(x, y + 28, _("positions turn q and k"), theme.muted, "middle right", 12)
            return y + high + 6
        rows, columns = shapes[f"{name}.weight"]
        tall = high if cut else high * 0.62
        drawing.box((x, x + 2 * UNIT), (y, y + tall), fill, theme.roles["input"], 1.5)
        if cut:  # far taller than there is room for
            across, middle = (x - 3, x + 2 * UNIT + 3), y + tall / 2
            drawing.box(across, (middle - 3, middle + 3), theme.paper, theme.paper)
            for edge in (middle - 3, middle + 3):
                drawing.box(across, (edge, edge), theme.paper, theme.muted)
        drawing.word(x + 2 * UNIT + 8, y + 40, f"<b>{name}</b>: {what}", theme.inks["input"], "middle right", 13)
        drawing.word(x + 2 * UNIT + 8, y + 22, f"{rows:,} × {columns:,}", theme.text, "middle right", 12)
    drawing.word(203, y + 28, "+", theme.text, size=20)
    return y + high + 6


def _blocks(drawing: _Drawing, groups: Sequence[Group], n_layers: int, layer: int, bottom: float) -> float:
    """The frame with the blocks; the height it reaches."""
    theme = drawing.theme
    y, below = bottom + 8, -1
    for number in sorted({0, layer, n_layers - 1}):
        between = number - below - 1
        if between:
            drawing.word(WIDTH / 2, y + _DOTS_HEIGHT / 2 - 3, f"⋮  {between} more", theme.muted)
            y += _DOTS_HEIGHT
        high = _CHOSEN_HEIGHT if number == layer else _OTHER_HEIGHT
        chosen = number == layer
        fill = mix(theme.zero, theme.roles["query"], 0.08 if chosen else 0.03)
        line, width = (theme.text, 2) if chosen else (theme.frame, 1)
        drawing.box((_LEFT, _RIGHT), (y, y + high), fill, line, width, corner=_CORNER)
        if chosen:
            drawing.word(_LEFT + 10, y + high - 15, f"<b>block {number}</b>", theme.text, "middle right", 13)
            _matrices(drawing, groups, y)
        else:
            drawing.word(_LEFT + 10, y + high / 2, f"block {number}", theme.muted, "middle right")
            _matrices(drawing, groups, y, small=True)
        y += high + _GAP
        below = number
    top = y - _GAP + 26
    drawing.box((_LEFT - 10, _RIGHT + 10), (bottom, top), CLEAR, theme.roles["query"], 2, corner=_CORNER)
    plural = "block" if n_layers == 1 else "blocks"
    drawing.word(_LEFT, top - 13, f"<b>{n_layers} {plural}</b>", theme.inks["query"], "middle right", 13)
    return top


def _matrices(drawing: _Drawing, groups: Sequence[Group], y: float, *, small: bool = False) -> None:
    """The matrices in the order in which a vector meets them, in proportion; named where there is room."""
    theme, unit = drawing.theme, 4 if small else UNIT
    d_model = groups[0].n_rows
    for i, (name, rows, parts) in enumerate(groups):
        columns = sum(n for _role, n in parts)
        tall, wide = (unit * min(max(n / d_model, RATIOS[0]), RATIOS[1]) for n in (rows, columns))
        x = _LEFT + 110 + i * 60 if small else _LEFT + 46 + i * 89
        middle = y + (_OTHER_HEIGHT / 2 if small else 72)
        left, half = x - wide / 2, tall / 2
        for role, n in parts:
            colour = theme.roles[role]
            right = left + wide * n / columns
            fill = mix(theme.zero, colour, 0.3)
            drawing.box((left, right), (middle - half, middle + half), fill, colour, 1 if small else 1.5)
            left = right
        if not small:
            drawing.word(x, y + 26, f"<b>{name}</b>", theme.inks[parts[0][0]])
            drawing.word(x, y + 11, f"{rows:,} × {columns:,}", theme.text, size=11)


def _output(drawing: _Drawing, shapes: Shapes, y: float) -> float:
    """The last norm and the output matrix; the height they reach."""
    theme = drawing.theme
    name = "lm_head" if "lm_head.weight" in shapes else "wte"
    rows, columns = shapes[f"{name}.weight"]
    again = "" if name == "lm_head" else " again"
    drawing.word(
        WIDTH / 2, y + 10, f"<b>ln_f</b>, then <b>{name}</b>{again}, turned over", theme.inks["input"], size=13
    )
    drawing.word(WIDTH / 2, y + 27, f"{columns:,} × {rows:,}: a score for each token", theme.text)
    return y + 38


def _groups(matrices: Sequence[BlockMatrix]) -> list[Group]:
    """A block's matrices as they are drawn: q, k and v in one group, and all that widens a vector in the MLP."""
    groups: dict[str, list[BlockMatrix]] = {}
    for matrix in matrices:
        groups.setdefault("qkv" if matrix.role in ("query", "key", "value") else matrix.role, []).append(matrix)
    roles = {"out": "score", "mlp_in": "value", "mlp_out": "value"}
    return [
        Group(
            _together([matrix.name for matrix in members]),
            members[0].weight.shape[0],
            [(roles.get(matrix.role, matrix.role), matrix.weight.shape[1]) for matrix in members],
        )
        for members in groups.values()
    ]


def _together(names: list[str]) -> str:
    """Names of matrices in one: `attn.c_attn` for its three parts, `q, k, v_proj` for three matrices."""
    if len(names) == 1 or len({name.partition(" ")[0] for name in names}) == 1:
        return names[0].partition(" ")[0]
    parts = [name.rpartition(".")[2].partition("_") for name in names]
    return f"{', '.join(first for first, _bar, _rest in parts)}_{parts[0][2]}"


def _texts(drawing: _Drawing) -> list[go.Scatter]:
    traces = []
    for colour, found in drawing.words.items():
        x, y, text, place, size = (list(part) for part in zip(*found, strict=True))
        traces.append(
            go.Scatter(
                x=x,
                y=y,
                text=text,
                mode="text",
                textposition=place,
                textfont={"size": size, "color": colour},
                hoverinfo="skip",
                cliponaxis=False,
            )
        )
    return traces


def _layout(drawing: _Drawing, height: float) -> dict[str, Any]:
    hidden = {"visible": False, "fixedrange": True}
    return base_layout(drawing.theme) | {
        "height": round(height) + 8,
        "margin": {"l": 0, "r": 0, "t": 4, "b": 4, "pad": 0},
        "xaxis": {"range": [0, WIDTH], **hidden},
        "yaxis": {"range": [0, height], **hidden},
        "shapes": drawing.shapes,
        "annotations": drawing.arrows,
    }
