"""Heads side by side: what is drawn are the arrays given, on shared scales, and the row's place is exact."""

from __future__ import annotations

import numpy as np
import pytest

from tests.viz.figures.samples import cells, head, hover_text, range_of, values_of
from viz.figures.chart import Cell
from viz.figures.difference import DISTANCE_WIDTH, output_strips, pattern_difference, patterns_side_by_side
from viz.figures.labels import text_width
from viz.figures.zoom import zoomed
from viz.theme import DARK, LIGHT


def difference_of(n, **options):
    a, b = head(n, seed=1), head(n, seed=2)
    distances = np.linspace(0, 1, n)
    options = {"names": ("L0H0", "<i>"), "labels": a.labels, "theme": LIGHT} | options
    return a, b, pattern_difference(a.pattern, b.pattern, distances, **options)


@pytest.mark.parametrize("n", [1, 2, 15])
def test_two_heads_and_their_difference(n):
    a, b, chart = difference_of(n)
    later = np.triu(np.ones((n, n), bool), 1)
    for panel, expected in enumerate((a.pattern, b.pattern, a.pattern - b.pattern)):
        np.testing.assert_allclose(values_of(chart, panel), np.where(later, np.nan, expected), atol=1e-7)
    ranges = [range_of(tile) for tile in chart.grid.tiles]
    assert ranges[0] == ranges[1] == [0, 1]
    assert -ranges[2][0] == ranges[2][1] == pytest.approx(np.abs(a.pattern - b.pattern).max() or 1)


def test_notes_of_a_long_text_do_not_run_into_each_other():
    _, _, chart = difference_of(256, names=("L11H11", "L10H10"))
    traces = [trace for trace in chart.figure.data if (trace.meta or {}).get("texts")]
    words = [word for trace in traces for word in zip(trace.x, trace.text, strict=True)]
    notes = [(x, text) for x, text in words if "strongest" in text]
    assert len(notes) == 3
    starts = sorted({tile.x0 - 0.5 for tile in chart.grid.tiles})
    left, right = chart.figure.layout.xaxis.range
    pixel = (right - left) / 1080
    for x, text in notes:
        following = [start for start in starts if start > x + 1]
        if following:
            assert x + text_width(text, 12) * 0.8 * pixel < following[0], text


def test_zero_is_the_papers_colour_and_signs_have_their_own():
    a, _, _ = difference_of(4)
    same = pattern_difference(a.pattern, a.pattern, np.zeros(4), names=("a", "b"), labels=a.labels, theme=DARK)
    trace, tile = cells(same), same.grid.tiles[2]
    assert range_of(tile) == [-1, 1]
    height = trace.z[tile.y0 + 3, tile.x0] / trace.zmax
    colour = next(colour for at, colour in trace.colorscale if at == pytest.approx(height))
    assert colour == DARK.zero


@pytest.mark.parametrize("n", [3, 40, 300])
def test_a_bar_is_as_long_as_its_row_is_apart(n):
    _, _, chart = difference_of(n)
    (bars,) = [trace for trace in chart.figure.data if (trace.meta or {}).get("bars")]
    (points,) = [trace for trace in chart.figure.data if (trace.meta or {}).get("distances")]
    x = np.asarray(bars.x).reshape(-1, 5)
    lengths, tile = x[:, 1] - x[:, 0], chart.grid.tiles[2]
    assert len(lengths) == tile.n_rows
    ends = np.minimum((np.arange(tile.n_rows) + 1) * tile.blocks.block[0], n) - 1  # of a block the largest is shown
    expected = np.linspace(0, 1, n)[ends]
    np.testing.assert_allclose(np.asarray(points.customdata), expected)
    np.testing.assert_allclose(lengths / lengths[-1], expected, atol=1e-6)
    cell = (1080 - chart.figure.layout.margin.l - chart.figure.layout.margin.r) / np.ptp(
        chart.figure.layout.xaxis.range
    )
    assert lengths[-1] * cell == pytest.approx(DISTANCE_WIDTH)
    assert tile.x0 + tile.n_columns < x[:, 0].min()
    assert x[:, 1].max() <= chart.figure.layout.xaxis.range[1] == chart.figure.layout.xaxis2.range[1]


def test_hovers_name_the_tokens_where_they_stand_in_their_text():
    _, _, chart = difference_of(3, positions=[0, 4, 9])
    assert hover_text(chart, 2, 2, 1).startswith('query 10 "·must" reads key 5 "·robot":<br>L0H0 − &lt;i&gt; = ')
    assert chart.figure.layout.yaxis.ticktext == ("1 a", "5 ·robot", "10 ·must")


@pytest.mark.parametrize("n", [5, 300])
def test_a_click_on_a_distance_chooses_the_key_that_differs_most(n):
    a, b, chart = difference_of(n)
    curve = next(i for i, trace in enumerate(chart.figure.data) if (trace.meta or {}).get("distances"))
    cell = chart.cell_at(curve, 1)
    assert cell.row == 2 * chart.grid.tiles[0].blocks.block[0] - 1  # of a block the row that is farthest apart
    assert cell.column == np.abs(a.pattern - b.pattern)[cell.row].argmax()
    assert cell.value == pytest.approx(np.linspace(0, 1, n)[cell.row])
    for other, point in ((0, 0), (-1, 0), (99, 0), (curve, 10_000)):
        assert chart.cell_at(other, point) is None


def test_after_minus_before():
    a, b, chart = difference_of(4, minus_first=True)
    drawn = values_of(chart, 2)
    np.testing.assert_allclose(drawn[3], (b.pattern - a.pattern)[3], atol=1e-7)
    assert "&lt;i&gt; − L0H0 = " in hover_text(chart, 2, 3, 0)


def test_several_heads_share_one_scale():
    heads = [head(9, seed=seed) for seed in range(4)]
    chart = patterns_side_by_side(
        [one.pattern for one in heads],
        names=["L0H0", "L0H1", "L2H3", "mean of L2's 4 heads"],
        labels=heads[0].labels,
        theme=LIGHT,
    )
    for panel, one in enumerate(heads):
        drawn = values_of(chart, panel)
        np.testing.assert_array_equal(drawn[~np.isnan(drawn)], one.pattern[np.tri(9, dtype=bool)])
    assert {tuple(range_of(tile)) for tile in chart.grid.tiles} == {(0, 1)}


def test_outputs_share_a_range_for_z_and_one_for_results():
    rng = np.random.default_rng(0)
    outputs = [("L0H0", rng.normal(size=8), rng.normal(size=600) * 3), ("mean", None, rng.normal(size=600))]
    chart = output_strips(outputs, theme=LIGHT)
    tiles = chart.grid.tiles
    assert range_of(tiles[0]) == range_of(tiles[2])
    assert range_of(tiles[1]) == range_of(tiles[3]) == [-np.abs(outputs[0][2]).max(), np.abs(outputs[0][2]).max()]
    np.testing.assert_array_equal(values_of(chart, 0)[0], outputs[0][1])
    assert np.isnan(values_of(chart, 2)).all()
    assert "a mean has no z" in hover_text(chart, 2, 0, 3)
    assert np.isin(values_of(chart, 1), outputs[0][2]).all()


@pytest.mark.parametrize(("n", "row"), [(5, 0), (5, 4), (300, 299)])
def test_the_band_lies_on_its_row(n, row):
    _, _, chart = difference_of(n)
    rows = chart.grid.rows()
    layout, tile = chart.figure.layout, chart.grid.tiles[0]
    rows_end = layout.height - layout.margin.b  # the last row touches the plot's lower edge
    expected = rows_end - (tile.n_rows - row // tile.blocks.block[0]) * rows.height
    assert rows.edge(row) == pytest.approx(expected)
    assert rows.edge(n) is None or rows.block > 1
    assert rows.edge(n + rows.block) is None


def test_the_band_of_a_part_lies_on_its_row_or_is_not_there():
    _, _, chart = difference_of(300)
    part = zoomed(chart, Cell(2, "Difference", 200, 100, False, 0.0))
    rows, layout = part.rows, part.chart.figure.layout
    last = part.row + part.chart.grid.tiles[0].n_rows - 1
    assert rows.edge(last) == pytest.approx(layout.height - layout.margin.b - rows.height)
    assert [rows.edge(row) for row in (part.row - 1, last + 1)] == [None, None]


def test_a_part_of_a_large_difference_is_drawn_cell_by_cell():
    a, b, chart = difference_of(300)
    part = zoomed(chart, Cell(2, "Difference", 200, 100, False, 0.0))
    drawn = values_of(part.chart, 2)
    expected = (a.pattern - b.pattern)[part.row : part.row + drawn.shape[0], part.column : part.column + drawn.shape[1]]
    np.testing.assert_allclose(drawn, expected, atol=1e-6)
