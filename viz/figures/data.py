"""The numbers behind a figure as a table: exact, with positions and labels, however small or coarse they are drawn.

A figure function that knows its numbers better than the drawing shows them says so with `with_data`; the table is made
only when somebody asks for it. Of any other figure the table holds what is drawn: bars, cells and points.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool

from viz.figures.labels import Axis
from viz.figures.panels import Panel

_TOKEN = re.compile(r'(\d+) "(.*)"', re.DOTALL)
_MARKUP = re.compile(r"</?(?:b|i|sup|sub|span)\b[^>]*>")
_ISOLATES = str.maketrans("", "", "\u2068\u2069")


@dataclass(frozen=True)
class Table:
    """Column titles, and rows of as many cells: a text, a number, or None where there is no number."""

    columns: tuple[str, ...]
    rows: Iterable[Sequence[Any]]


def with_data(figure: go.Figure, data: Callable[[], Table]) -> go.Figure:
    """`figure`, knowing its own numbers. They stay with the Python object: nothing more is sent to the browser."""
    figure._table = data
    return figure


def data_of(figure: go.Figure) -> Table:
    """The figure's numbers."""
    data: Callable[[], Table] | None = getattr(figure, "_table", None)
    return data() if data is not None else _drawn(figure)


def panels_table(panels: Sequence[Panel]) -> Table:
    """Every cell of every panel's whole matrix, even where it is drawn in blocks; no number where it is masked.

    Panels over the same rows and columns get a column of numbers each, others follow each other.
    """
    values = [_shown(panel) for panel in panels]
    sides = [[_Side.of(panel.rows, "row"), _Side.of(panel.columns, "column")] for panel in panels]
    if all(side == sides[0] for side in sides):
        head = (*sides[0][0].columns(), *sides[0][1].columns(), *(panel.title for panel in panels))
        return Table(head, _side_by_side(values, *sides[0]))
    shared = [_Side.joined([side[i] for side in sides], general) for i, general in enumerate(("row", "column"))]
    rows = (
        (panel.title, *row)
        for panel, matrix, (down, across) in zip(panels, values, sides, strict=True)
        for row in _side_by_side([matrix], shared[0].at(down.places), shared[1].at(across.places))
    )
    return Table(("panel", *shared[0].columns(), *shared[1].columns(), "value"), rows)


def axis_table(axis: Axis, columns: Mapping[str, np.ndarray], masked: Bool[np.ndarray, " row"] | None = None) -> Table:
    """A row for each position of `axis`: its number, its label and its value in each of `columns`; `masked` is said."""
    side = _Side.of(axis, "row")
    said = {**columns} if masked is None else {**columns, "masked": masked}
    rows = zip(side.cells(), *map(numbers, said.values()), strict=True)
    return Table((*side.columns(), *said), ((*place, *rest) for place, *rest in rows))


def vectors_table(vectors: Iterable[tuple[str, np.ndarray]]) -> Table:
    """Named vectors one after the other, a row for each number."""
    rows = ((name, i, value) for name, values in vectors for i, value in enumerate(numbers(values)))
    return Table(("vector", "dimension", "value"), rows)


def keys_table(axis: Axis, by_cell: Mapping[str, np.ndarray], by_key: Mapping[str, np.ndarray]) -> Table:
    """A row for each key of `axis` and each dimension: `by_cell` holds (key, dimension) or, the same for every key,
    (dimension,) numbers; `by_key` one a key, which is repeated."""
    side = _Side.of(axis, "row")
    shape = (len(axis), max(values.shape[-1] for values in by_cell.values()))
    cells = [np.broadcast_to(values, shape) for values in by_cell.values()]

    def rows() -> Iterator[Sequence[Any]]:
        for i, (place, *own) in enumerate(zip(side.cells(), *map(numbers, by_key.values()), strict=True)):
            for dimension, values in enumerate(zip(*(numbers(matrix[i]) for matrix in cells), strict=True)):
                yield (*place, dimension, *values, *own)

    return Table((*side.columns(), "dimension", *by_cell, *by_key), rows())


@dataclass(frozen=True)
class _Side:
    """One side of a matrix: its title, the number and the label of each position, and whether any has a label."""

    title: str
    places: tuple[tuple[int, str], ...]
    labelled: bool

    @classmethod
    def of(cls, axis: Axis, general: str) -> _Side:
        names = (name or tick for name, tick in zip(axis.names, axis.ticks, strict=True))
        places = tuple(_place(name, i + axis.first) for i, name in enumerate(names))
        return cls(axis.title or general, places, any(label for _, label in places))

    @classmethod
    def joined(cls, sides: Sequence[_Side], general: str) -> _Side:
        titles = {side.title for side in sides}
        return cls(titles.pop() if len(titles) == 1 else general, (), any(side.labelled for side in sides))

    def at(self, places: tuple[tuple[int, str], ...]) -> _Side:
        return _Side(self.title, places, self.labelled)

    def columns(self) -> tuple[str, ...]:
        return (self.title, f"{self.title} label") if self.labelled else (self.title,)

    def cells(self) -> list[tuple[Any, ...]]:
        return [place if self.labelled else place[:1] for place in self.places]


def numbers(values: Any) -> list[Any]:
    """The values one by one; None where there is no number. A float32 stays one: it is written with its own digits."""
    array = np.asarray(values)
    if array.dtype.kind == "b":
        return ["yes" if value else "no" for value in array]
    if array.dtype.kind != "f":
        return array.tolist()
    return [value if known else None for value, known in zip(array, np.isfinite(array).tolist(), strict=True)]


def as_typed(text: str) -> str:
    """A label out of a figure without plotly's markup and the marks that keep directions apart."""
    return html.unescape(_MARKUP.sub("", text.replace("<br>", " "))).translate(_ISOLATES).strip(" ")


def _shown(panel: Panel) -> np.ndarray:
    """A panel's numbers, NaN where the drawing has none."""
    hidden = ~np.isfinite(panel.values)
    return np.where(hidden if panel.masked is None else hidden | panel.masked, np.nan, panel.values)


def _side_by_side(values: Sequence[np.ndarray], down: _Side, across: _Side) -> Iterator[Sequence[Any]]:
    others = across.cells()
    for row, place in enumerate(down.cells()):
        lines = [numbers(matrix[row]) for matrix in values]
        yield from ((*place, *other, *cells) for other, *cells in zip(others, *lines, strict=True))


def _place(name: str, number: int) -> tuple[int, str]:
    text = as_typed(name)
    if token := _TOKEN.fullmatch(text):
        return int(token[1]), token[2]
    return (int(text), "") if text.isdecimal() else (number, text)


def _drawn(figure: go.Figure) -> Table:
    """What a figure draws, trace by trace: bars, cells and points that answer a pointer; without any, its words."""
    told = [trace for trace in figure.data if trace.hoverinfo != "skip"] or figure.data
    columns = ("kind", "x", "x label", "y", "y label", "value", "text")
    return Table(columns, (row for trace in told for row in _trace_rows(trace, figure.layout)))


def _trace_rows(trace: Any, layout: Any) -> Iterator[Sequence[Any]]:
    meta = trace.meta if isinstance(trace.meta, Mapping) else {}
    kind = ", ".join(str(value) for value in meta.values() if isinstance(value, str)) or trace.type
    across, down = (_tick_names(layout, letter, trace[f"{letter}axis"] or letter) for letter in "xy")
    for x, y, value, text in _cells(trace) if trace.type == "heatmap" else _points(trace):
        yield kind, x, across.get(x, ""), y, down.get(y, ""), value, as_typed(text)


def _tick_names(layout: Any, letter: str, axis: str) -> dict[float, str]:
    """What the ticks of an axis say (`x2` is the layout's `xaxis2`), by their place."""
    found = layout[f"{letter}axis{axis[1:]}"]
    if found.tickvals is None or found.ticktext is None:
        return {}
    return {float(at): as_typed(text) for at, text in zip(found.tickvals, found.ticktext, strict=True)}


def _cells(trace: Any) -> Iterator[tuple[Any, Any, Any, str]]:
    """Column, row and value of a heatmap's cells: its customdata if it has one for every cell, as z may be scaled."""
    z = np.asarray(trace.z)
    values = np.asarray(trace.customdata) if np.shape(trace.customdata) == z.shape else z
    for row, column in np.argwhere(np.isfinite(values)).tolist():
        yield column, row, values[row, column], ""


def _points(trace: Any) -> Iterator[tuple[Any, Any, Any, str]]:
    """Place, value (the first number that goes with a point; a bar's length) and words of a trace's points."""
    n = len(trace.x)
    lengths = (trace.x if trace.orientation == "h" else trace.y) if trace.type == "bar" else None
    given = lengths if trace.customdata is None else trace.customdata
    values = [None] * n if given is None else numbers(np.asarray(given).reshape(n, -1)[:, 0])
    words = trace.hovertext if trace.hovertext is not None else trace.text
    texts = [words or ""] * n if words is None or isinstance(words, str) else words
    for x, y, value, text in zip(trace.x, trace.y, values, texts, strict=True):
        if x is not None and y is not None:
            yield x, y, value, str(text)
