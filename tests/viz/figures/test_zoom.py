from __future__ import annotations

import numpy as np
import pytest

from tests.viz.figures.samples import head, values_of
from viz.figures.clicks import Cell, cell_at
from viz.figures.matrices import head_matrices
from viz.figures.zoom import ZOOM_CELLS, is_reduced, zoomed
from viz.theme import LIGHT


def matrices(n):
    sample = head(n)
    return sample, head_matrices(
        sample.scores, sample.masked, sample.pattern, labels=sample.labels, head="L0H0", theme=LIGHT
    )


def at(row, column):
    return Cell(panel=0, title="Scores", row=row, column=column, masked=False, value=0.0)


@pytest.mark.parametrize(("row", "column"), [(0, 0), (200, 7), (299, 299)])
def test_each_cell_around_one_is_there_with_its_own_value(row, column):
    sample, figure = matrices(300)
    part = zoomed(figure, at(row, column))
    assert not is_reduced(part.figure)
    rows, columns = (slice(start, start + ZOOM_CELLS) for start in (part.row, part.column))
    assert rows.start <= row < rows.stop <= 300
    assert columns.start <= column < columns.stop <= 300
    np.testing.assert_array_equal(values_of(part.figure, 0), sample.scores[rows, columns])
    hidden = np.isneginf(sample.masked[rows, columns])
    np.testing.assert_array_equal(values_of(part.figure, 2), np.where(hidden, np.nan, sample.pattern[rows, columns]))
    assert part.figure.layout.yaxis.ticktext[-1].startswith(f"{rows.stop} ")
    for panel, tile in enumerate(part.figure.layout.meta["tiles"]):
        assert tile["range"] == figure.layout.meta["tiles"][panel]["range"]  # the same colours as in the whole


def test_a_cell_of_the_part_is_one_of_the_whole():
    sample, figure = matrices(300)
    part = zoomed(figure, at(150, 20))
    curve, trace = next((i, t) for i, t in enumerate(part.figure.data) if (t.meta or {}).get("panel") == 2)
    for point in range(0, len(trace.x), 53):
        cell = part.whole(cell_at(part.figure, curve, point))
        assert cell.value == sample.pattern[cell.row, cell.column]


def test_a_small_figure_is_drawn_whole():
    _, figure = matrices(30)
    assert not is_reduced(figure)
    part = zoomed(figure, at(3, 3))
    assert (part.row, part.column) == (0, 0)
    assert values_of(part.figure, 0).shape == (30, 30)
