"""The numbers behind a figure as a table: exact, with positions and labels, however small or coarse they are drawn.

A table takes arrays, numbers and texts as typed, never what was made of them for the eye.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool

from viz.figures.labels import Axis
from viz.figures.panels import Panel


@dataclass(frozen=True)
class Table:
    """Column titles, and rows of as many cells: a text, a number, or None where there is no number."""

    columns: tuple[str, ...]
    rows: Iterable[Sequence[Any]]


def panels_table(panels: Sequence[Panel]) -> Table:
    """Every cell of every panel's whole matrix, even where it is drawn in blocks; no number where it is masked.

    Panels over the same rows and columns get a column of numbers each, others follow each other.
    """
    values = [_shown(panel) for panel in panels]
    sides = [[_Side.of(panel.rows, "row"), _Side.of(panel.columns, "column")] for panel in panels]
    if all(side == sides[0] for side in sides):
        head = (*sides[0][0].columns(), *sides[0][1].columns(), *(panel.name or panel.title for panel in panels))
        return Table(head, _side_by_side(values, *sides[0]))
    shared = [_Side.joined([side[i] for side in sides], general) for i, general in enumerate(("row", "column"))]
    rows = (
        (panel.name or panel.title, *row)
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
    places: tuple[tuple[int | None, str], ...]
    labelled: bool

    @classmethod
    def of(cls, axis: Axis, general: str) -> _Side:
        places = tuple(axis.places())
        return cls(axis.title or general, places, any(label for _, label in places))

    @classmethod
    def joined(cls, sides: Sequence[_Side], general: str) -> _Side:
        titles = {side.title for side in sides}
        return cls(titles.pop() if len(titles) == 1 else general, (), any(side.labelled for side in sides))

    def at(self, places: tuple[tuple[int | None, str], ...]) -> _Side:
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


def _shown(panel: Panel) -> np.ndarray:
    """A panel's numbers, NaN where the drawing has none."""
    hidden = ~np.isfinite(panel.values)
    return np.where(hidden if panel.masked is None else hidden | panel.masked, np.nan, panel.values)


def _side_by_side(values: Sequence[np.ndarray], down: _Side, across: _Side) -> Iterator[Sequence[Any]]:
    others = across.cells()
    for row, place in enumerate(down.cells()):
        lines = [numbers(matrix[row]) for matrix in values]
        yield from ((*place, *other, *cells) for other, *cells in zip(others, *lines, strict=True))
