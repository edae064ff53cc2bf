from __future__ import annotations

import numpy as np
import pytest

from tests.viz.figures.samples import head, range_of, values_of
from viz.figures.chart import Cell
from viz.figures.matrices import head_matrices
from viz.figures.zoom import ZOOM_CELLS, zoomed
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
    sample, chart = matrices(300)
    part = zoomed(chart, at(row, column))
    assert not part.chart.is_reduced
    rows, columns = (slice(start, start + ZOOM_CELLS) for start in (part.row, part.column))
    assert rows.start <= row < rows.stop <= 300
    assert columns.start <= column < columns.stop <= 300
    np.testing.assert_array_equal(values_of(part.chart, 0), sample.scores[rows, columns])
    hidden = np.isneginf(sample.masked[rows, columns])
    np.testing.assert_array_equal(values_of(part.chart, 2), np.where(hidden, np.nan, sample.pattern[rows, columns]))
    assert part.chart.figure.layout.yaxis.ticktext[-1].startswith(f"{rows.stop} ")
    for panel, tile in enumerate(part.chart.grid.tiles):
        assert range_of(tile) == range_of(chart.grid.tiles[panel])  # the same colours as in the whole


def test_a_cell_of_the_part_is_one_of_the_whole():
    sample, chart = matrices(300)
    part = zoomed(chart, at(150, 20))
    curve, trace = next((i, t) for i, t in enumerate(part.chart.figure.data) if (t.meta or {}).get("panel") == 2)
    for point in range(0, len(trace.x), 53):
        cell = part.whole(part.chart.cell_at(curve, point))
        assert cell.value == sample.pattern[cell.row, cell.column]


def test_a_small_figure_is_drawn_whole():
    _, chart = matrices(30)
    assert not chart.is_reduced
    part = zoomed(chart, at(3, 3))
    assert (part.row, part.column) == (0, 0)
    assert values_of(part.chart, 0).shape == (30, 30)
