from __future__ import annotations

import numpy as np
import pytest

from tests.viz.figures.samples import head, hover_traces
from viz.figures.matrices import head_matrices
from viz.figures.strips import token_strips
from viz.figures.tiles import tile_figure
from viz.theme import LIGHT


def matrices(n, **options):
    s = head(n)
    chart = head_matrices(s.scores, s.masked, s.pattern, labels=s.labels, head="L0H0", theme=LIGHT)
    return s, tile_figure([tile.panel for tile in chart.grid.tiles], theme=LIGHT, **options) if options else chart


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_a_click_leads_back_to_its_cell(columns):
    sample, chart = matrices(7, columns=columns)
    found = {}
    for curve, trace in enumerate(chart.figure.data):
        if "panel" not in (trace.meta or {}):
            assert chart.cell_at(curve, 0) is None
            continue
        for point in range(len(trace.x)):
            cell = chart.cell_at(curve, point)
            found[cell.panel, cell.row, cell.column] = cell
    assert set(found) == {(p, r, c) for p in range(3) for r in range(7) for c in range(7)}
    for (panel, row, column), cell in found.items():
        assert cell.masked == (panel > 0 and column > row)
        expected = (sample.scores, sample.masked, sample.pattern)[panel][row, column]
        assert cell.value is None if cell.masked else cell.value == expected


@pytest.mark.parametrize("n", [161, 257, 600])
def test_a_click_on_a_block_leads_to_its_strongest_cell(n):
    sample, chart = matrices(n)
    curve, trace = next(
        (i, t) for i, t in enumerate(chart.figure.data) if (t.meta or {}) == {"panel": 2, "masked": False}
    )
    tile = chart.grid.tiles[2]
    for point in range(0, len(trace.x), 97):
        cell = chart.cell_at(curve, point)
        assert cell.value == sample.pattern[cell.row, cell.column]
        assert not cell.masked
        assert cell.row // tile.blocks.block[0] == round(trace.y[point]) - tile.y0
    assert not any((t.meta or {}).get("masked") for t in chart.figure.data)  # a masked block answers to nothing


def test_what_lies_in_no_cell_is_none():
    _, chart = matrices(3)
    assert chart.cell_at(99, 0) is None
    assert chart.cell_at(-1, 0) is None
    last = len(chart.figure.data) - 1
    assert chart.cell_at(last, 10_000) is None
    assert chart.cell_at(last, 0).panel == 2


def test_the_layer_shows_nothing_and_is_small():
    _, chart = matrices(15)
    for panel in range(3):
        for trace in hover_traces(chart, panel):
            assert trace.mode == "text"
            assert trace.text is None
            assert trace.marker.maxdisplayed == 1
            assert trace.x.dtype == trace.y.dtype == np.uint8
    _, plain = matrices(15, click=False)
    assert not hover_traces(plain, 0)


def test_strips_carry_their_values():
    q, k, v, z = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32)
    chart = token_strips(q, k, v, z, token="9 ·it", theme=LIGHT)
    for panel, values in enumerate((q, k, v, z)):
        (trace,) = hover_traces(chart, panel)
        np.testing.assert_array_equal(trace.customdata, values)
        assert len(set(trace.y)) == 1
    assert "query of 9 ·it" in chart.figure.layout.yaxis2.ticktext
    assert chart.figure.layout.height < 300
