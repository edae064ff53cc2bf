from __future__ import annotations

import numpy as np
import pytest

from tests.viz.figures.samples import cells, from_segment, head, head_of, hover_text, range_of, values_of
from viz.figures.blocks import REDUCED_CELLS
from viz.figures.difference import patterns_side_by_side
from viz.figures.matrices import head_matrices, qkv_matrices, weights_panel
from viz.figures.tiles import _outlines, tile_figure
from viz.text.numbers import short_number
from viz.theme import DARK, LIGHT


def matrices(sample, **options):
    """A head's matrices; with options laid out in another way."""
    chart = head_matrices(sample.scores, sample.masked, sample.pattern, labels=sample.labels, head="L3H7", theme=LIGHT)
    width = 360 if options.get("columns") == 1 else 1080
    panels = [tile.panel for tile in chart.grid.tiles]
    return tile_figure(panels, theme=LIGHT, width=width, **options) if options else chart


@pytest.mark.parametrize(("n", "columns"), [(1, 1), (1, 3), (2, 2), (15, 1), (15, 2), (15, 3), (64, 3)])
def test_every_value_is_in_the_figure(n, columns):
    sample = head(n)
    chart = matrices(sample, columns=columns)
    np.testing.assert_array_equal(values_of(chart, 0), sample.scores)
    np.testing.assert_array_equal(values_of(chart, 1), np.where(np.isneginf(sample.masked), np.nan, sample.masked))
    seen = np.where(np.isneginf(sample.masked), np.nan, sample.pattern)
    np.testing.assert_array_equal(values_of(chart, 2), seen)
    z = cells(chart).z
    masked_height = 4.0  # two scales, so the third segment
    for panel, (values, segment) in enumerate(((values_of(chart, 0), 0), (values_of(chart, 1), 0), (seen, 1))):
        tile = chart.grid.tiles[panel]
        here = z[tile.y0 : tile.y0 + n, tile.x0 : tile.x0 + n]
        assert (here[np.isnan(values)] == masked_height).all()
        colours = from_segment(here[~np.isnan(values)], *range_of(tile), segment)
        np.testing.assert_allclose(colours, values[~np.isnan(values)], atol=1e-5 * max(1, abs(range_of(tile)[1])))
    covered = sum(t.n_rows * t.n_columns for t in chart.grid.tiles)
    assert np.isfinite(z).sum() == covered  # and nothing between the panels


def test_tiles_do_not_overlap_and_stay_inside_the_axes():
    for columns in (1, 2, 3):
        chart = matrices(head(15), columns=columns)
        taken = np.zeros((500, 500), int)
        for tile in chart.grid.tiles:
            taken[tile.y0 : tile.y0 + tile.n_rows, tile.x0 : tile.x0 + tile.n_columns] += 1
        assert taken.max() == 1
        ys, xs = np.nonzero(taken)
        assert xs.max() < chart.figure.layout.xaxis.range[1]
        assert ys.max() < chart.figure.layout.yaxis.range[0]
        assert chart.figure.layout.yaxis.range[1] < 0


def test_axes_are_positions_with_the_token_as_tick_text():
    chart = matrices(head(6, labels=["a", "·robot", "·must", "·obey", "·a", "·robot"]))
    assert list(chart.figure.layout.yaxis.tickvals) == [0, 1, 2, 3, 4, 5]
    rows = ("1 a", "2 ·robot", "3 ·must", "4 ·obey", "5 ·a", "6 ·robot")
    assert chart.figure.layout.yaxis.ticktext == rows
    assert chart.figure.layout.xaxis.ticktext == rows * 3
    starts = [tile.x0 for tile in chart.grid.tiles]
    assert list(chart.figure.layout.xaxis.tickvals) == [start + i for start in starts for i in range(6)]


def test_hover_says_it_in_words():
    sample = head(12)
    chart = matrices(sample)
    assert hover_text(chart, 2, 8, 2) == f'query 9 "·a" reads key 3 "·must": {sample.pattern[8, 2]:.4g}'
    assert hover_text(chart, 0, 1, 2) == f'query 2 "·robot" against key 3 "·must": score {sample.scores[1, 2]:.4g}'
    assert hover_text(chart, 1, 8, 11) == 'masked: key 12 "·obey" comes after query 9 "·a"'


def test_text_is_shown_as_typed_everywhere():
    chart = matrices(head(2, labels=["<b>x</b>", "&amp;"]))
    assert chart.figure.layout.yaxis.ticktext == ("1 &lt;b&gt;x&lt;/b&gt;", "2 &amp;amp;")
    assert "<b>x" not in hover_text(chart, 0, 0, 0)


def test_a_pair_shares_one_scale():
    a, b = head(6, seed=1), head(6, seed=2)
    chart = patterns_side_by_side((a.pattern, b.pattern), names=("L0H1", "L3H7"), labels=a.labels, theme=DARK)
    assert [range_of(t) for t in chart.grid.tiles] == [[0.0, 1.0], [0.0, 1.0]]
    lower = np.tril_indices(6)
    np.testing.assert_array_equal(values_of(chart, 1)[lower], b.pattern[lower])
    panel = weights_panel(a.pattern, "a", labels=a.labels, note="no mask", hidden=None)
    np.testing.assert_array_equal(values_of(tile_figure([panel], theme=DARK), 0), a.pattern)


def test_numbers_in_cells():
    sample = head(4)
    text = cells(matrices(sample, numbers=True)).text
    shown = [cell for row in text for cell in row if cell]
    assert shown.count("−∞") == 6
    assert text[0][0] == f"{sample.scores[0, 0]:.2f}".replace("-", "−")
    assert len(shown) == 3 * 16


def test_qkv_have_their_own_colours_and_ranges():
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(5, 8)).astype(np.float32) * s for s in (1, 10, 0.1))
    chart = qkv_matrices(q, k, v, labels=list("abcde"), theme=LIGHT)
    for panel, values in enumerate((q, k, v)):
        np.testing.assert_array_equal(values_of(chart, panel), values)
        largest = float(np.abs(values).max())
        assert range_of(chart.grid.tiles[panel]) == [-largest, largest]
    z = cells(chart).z
    first = [tile.x0 for tile in chart.grid.tiles]
    assert [int(z[0, x] // 2) for x in first] == [0, 1, 2]
    assert hover_text(chart, 1, 4, 7) == f'key of 5 "e", dimension 7: {k[4, 7]:.4g}'


@pytest.mark.parametrize("value", [0.0, 1.0, -3e38, 1e-40])
def test_constant_and_huge_scores(value):
    sample = head_of(np.full((5, 5), value, np.float32))
    chart = matrices(sample)
    np.testing.assert_array_equal(values_of(chart, 0), sample.scores)
    z = cells(chart).z
    assert np.nanmin(z) >= 0
    assert np.nanmax(z) <= cells(chart).zmax
    assert np.isfinite(range_of(chart.grid.tiles[0])).all()


@pytest.mark.parametrize("n", [161, 256, 1024])
def test_long_texts_are_drawn_in_blocks_and_say_so(n):
    sample = head(n)
    chart = matrices(sample)
    tile = chart.grid.tiles[2]
    block = -(-n // REDUCED_CELLS)
    assert tile.n_rows <= REDUCED_CELLS
    assert tile.blocks.block == (block, block)
    words = [text for trace in chart.figure.data if (trace.meta or {}).get("texts") for text in trace.text]
    assert sum("strongest" in text for text in words) == 3
    lower = np.where(np.triu(np.ones((n, n), bool), 1), 0, sample.pattern)
    strongest = lower[5 * block : 6 * block, 2 * block : 3 * block]
    assert values_of(chart, 2)[5, 2] == strongest.max()
    row, column = np.unravel_index(strongest.argmax(), strongest.shape)
    row, column = row + 5 * block, column + 2 * block
    said = hover_text(chart, 2, 5, 2)
    assert said.startswith(f'query {row + 1} "{sample.labels[row]}" reads key {column + 1} "{sample.labels[column]}": ')
    assert said.endswith(f"the strongest of {block} × {block}")
    assert len(chart.figure.to_json()) < 900_000


def test_colours_in_few_bytes_are_the_same_colours():
    sample = head(80)
    np.testing.assert_array_equal(values_of(matrices(sample), 0), sample.scores)
    exact, few = cells(matrices(sample, numbers=True)), cells(matrices(sample))
    assert few.z.dtype == np.int16
    gaps = np.isnan(exact.z)
    np.testing.assert_allclose(few.z[~gaps] / few.zmax * (exact.zmax + 1), exact.z[~gaps], atol=2e-4)
    assert (few.z[gaps] == few.zmax).all()
    assert few.colorscale[-1] == (1, "rgba(0,0,0,0)")
    for place, colour in exact.colorscale:
        assert (pytest.approx(place * exact.zmax / (exact.zmax + 1)), colour) in few.colorscale


@pytest.mark.parametrize("n", [1, 8, 15, 64, 300])
def test_sizes(n):
    row, stack = matrices(head(n)), matrices(head(n), columns=1)
    assert 150 <= row.figure.layout.height <= 560
    assert 400 <= stack.figure.layout.height <= 1700
    assert 300 <= row.min_width <= 1080
    assert stack.min_width <= 360
    widest = max(len(f.figure.layout.xaxis.tickvals) for f in (row, stack))
    assert widest <= 3 * 40


def test_words_are_one_trace_in_their_colours_and_a_click_pales_none():
    chart = matrices(head(6))
    (trace,) = [trace for trace in chart.figure.data if (trace.meta or {}).get("texts")]
    colours = dict(zip(trace.text, trace.textfont.color, strict=True))
    assert colours["<b>Scores</b>"] == LIGHT.ink("score")
    assert colours["query "] == LIGHT.muted
    assert chart.figure.layout.clickmode == "event"  # not "select", which pales all but the clicked


def test_same_inputs_same_figure():
    assert matrices(head(9)).figure.to_json() == matrices(head(9)).figure.to_json()


def test_wrong_shapes_are_refused():
    sample = head(3)
    with pytest.raises(ValueError, match="labels for"):
        head_matrices(sample.scores, sample.masked, sample.pattern, labels=["a"], head="L0H0", theme=LIGHT)


def area(xs, ys):
    """The area inside an outline (shoelace formula)."""
    return abs(np.dot(xs, np.roll(ys, -1)) - np.dot(ys, np.roll(xs, -1))) / 2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_hatching_covers_exactly_the_masked_cells(seed):
    rng = np.random.default_rng(seed)
    masks = [
        np.triu(np.ones((9, 9), bool), 1),
        rng.random((9, 9)) < 0.5,
        rng.random((1, 9)) < 0.5,
        np.ones((9, 1), bool),
    ]
    for masked in masks:
        covered = sum(area(*np.array(right + left[::-1]).T) for right, left in _outlines(masked))
        assert covered == masked.sum()
    assert len(_outlines(masks[0])) == 1


def test_only_one_panel_alone_has_tools_to_zoom():
    tools = {"zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"}
    sample = head(6)
    assert tools <= set(matrices(sample).figure.layout.modebar.remove)
    alone = tile_figure([weights_panel(sample.pattern, "Weights", labels=sample.labels)], theme=LIGHT)
    assert not tools & set(alone.figure.layout.modebar.remove)


def test_each_panel_has_its_own_title_and_the_ends_of_its_own_range():
    chart = matrices(head(6))
    (texts,) = [trace for trace in chart.figure.data if (trace.meta or {}).get("texts")]
    words = list(zip(texts.x, texts.text, strict=True))
    for tile, title in zip(chart.grid.tiles, ("Scores", "Masked scores", "Weights"), strict=True):
        assert (tile.x0 - 0.5, f"<b>{title}</b>") in words
        ends = [x for x, text in words if text == f" {short_number(tile.high)}" and tile.x0 - 0.5 <= x]
        assert ends
        assert min(ends) < tile.x0 + tile.n_columns + 2
    assert "L3H7, before the mask" in texts.text
