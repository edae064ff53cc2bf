"""All heads in one figure: every thumbnail's weights in their place, the exact ones as its data, measures as told."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.viz.figures.samples import hover_text, range_of, values_of
from viz.figures.look import CLEAR
from viz.pages.heads.figures import measure_heatmap, sheet_cells, thumbnail_sheet
from viz.theme import DARK, LIGHT, Theme


def thumbnails_of(n_layers: int, n_heads: int, side: int) -> np.ndarray:
    weights = np.tril(np.random.default_rng(1).random((n_layers, n_heads, side, side)).astype(np.float32))
    return weights / weights.sum(axis=-1, keepdims=True)


def colour_at(cells: go.Heatmap, height: int) -> str:
    """The one colour of a height: both stops around it have it, or it lies on a stop of its own."""
    stops = [(at * 255, colour) for at, colour in cells.colorscale]
    assert [at for at, _ in stops] == sorted(at for at, _ in stops)
    below = [colour for at, colour in stops if at <= height + 1e-6][-1]
    above = next(colour for at, colour in stops if at >= height - 1e-6)
    assert below == above
    return str(below)


@pytest.mark.parametrize(("n_layers", "n_heads", "side"), [(1, 1, 1), (2, 3, 5), (5, 2, 30)])
@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_every_thumbnail_lies_in_its_place(n_layers: int, n_heads: int, side: int, theme: Theme) -> None:
    weights = thumbnails_of(n_layers, n_heads, side)
    chart = thumbnail_sheet(weights, queries=np.arange(side), block=1, theme=theme)
    cells, names = chart.figure.data
    z = np.asarray(cells.z)
    assert z.dtype == np.uint8
    by_name = dict(zip(names.text, zip(names.y, names.x, strict=True), strict=True))
    for layer, head in np.ndindex(n_layers, n_heads):
        middle_row, middle_column = by_name[f"L{layer}H{head}"]
        top, left = round(middle_row - (side - 1) / 2), round(middle_column - (side - 1) / 2)
        drawn = z[top : top + side, left : left + side]
        visible = np.tri(side, dtype=bool)
        np.testing.assert_allclose(drawn[visible] / 250, weights[layer, head][visible], atol=0.5 / 250 + 1e-6)
        assert (drawn[~visible] == 252).all()
    assert (z == 255).sum() == z.size - n_layers * n_heads * side * side  # the gaps between them
    assert colour_at(cells, 0) == theme.sequential[0][1]
    assert colour_at(cells, 250) == theme.sequential[-1][1]
    assert colour_at(cells, 252) == theme.masked
    assert colour_at(cells, 255) == CLEAR
    assert chart.figure.layout.yaxis.range[0] > chart.figure.layout.yaxis.range[1]  # layer 0 on top


def test_the_sheets_data_are_the_exact_weights_with_their_keys() -> None:
    weights = thumbnails_of(2, 2, 3)
    chart = thumbnail_sheet(weights, queries=np.array([3, 7, 9]), block=4, theme=LIGHT)
    table = chart.table()
    rows = list(table.rows)
    assert table.columns == ("layer", "head", "query", "first key", "last key", "weight")
    assert len(rows) == 2 * 2 * 6
    assert rows[-1] == (1, 1, 10, 9, 10, weights[1, 1, 2, 2])  # positions from 1; the last block is cut short
    assert rows[-3] == (1, 1, 10, 1, 4, weights[1, 1, 2, 0])


@pytest.mark.parametrize(("n_heads", "cells"), [(1, 64), (144, 58), (1200, 20), (10**7, 1)])
def test_a_sheet_of_many_heads_has_small_thumbnails(n_heads: int, cells: int) -> None:
    assert sheet_cells(n_heads, most=64) == cells


def test_a_measure_of_every_head() -> None:
    values = np.array([[0.25, np.nan, 1.0], [0.0, 0.5, 0.125]])
    chart = measure_heatmap(values, title="Induction", note="share of weight", high=1.0, theme=LIGHT)
    np.testing.assert_array_equal(values_of(chart, 0), values)
    assert hover_text(chart, 0, 1, 2) == "L1H2: 0.125"
    assert hover_text(chart, 0, 0, 1) == "L0H1: not defined on this text"
    assert range_of(chart.grid.tiles[0]) == [0.0, 1.0]


def test_a_measure_without_spread_still_has_a_scale() -> None:
    chart = measure_heatmap(np.full((48, 25), np.nan), title="Entropy", note="bits", high=0.0, theme=DARK)
    assert range_of(chart.grid.tiles[0]) == [0.0, 1.0]
    assert np.isnan(values_of(chart, 0)).all()
