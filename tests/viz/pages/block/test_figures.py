"""Inside a block: every number that goes into a chart is in it, zoomed or not, and outlines lie where they should."""

from __future__ import annotations

import numpy as np
import pytest

from model.steps.block import SumTable, turned
from tests.viz.figures.samples import cells, hover_traces, range_of, values_of
from viz.figures.blocks import strongest
from viz.pages.block.figure_rotation import turned_pairs
from viz.pages.block.figure_strips import Strip, block_strips, head_rows, keys_of_query, row_length, sum_of_values
from viz.pages.block.figure_weight import activation_points, is_narrow, weight_matrix
from viz.theme import DARK, LIGHT


def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def drawn(chart, panel):
    return values_of(chart, panel).reshape(-1)


def text_of(chart):
    return " ".join(str(t) for trace in chart.figure.data if (trace.meta or {}).get("texts") for t in trace.text)


@pytest.mark.parametrize("sizes", [(1, 1), (30, 90), (192, 576), (768, 3072), (1600, 6400), (263, 1009)])
def test_every_number_is_drawn_in_its_order(sizes):
    vectors = [random(n, seed=n) for n in sizes]
    chart = block_strips(
        [Strip(f"<{n}>", "input", values) for n, values in zip(sizes, vectors, strict=True)], theme=LIGHT
    )
    for panel, values in enumerate(vectors):
        numbers = drawn(chart, panel)
        np.testing.assert_array_equal(numbers[: len(values)], values)
        assert np.isnan(numbers[len(values) :]).all()
        trace = hover_traces(chart, panel)[0]
        assert list(trace.hovertext) == [str(i) for i in range(len(values))]
        assert "number %{hovertext}: %{customdata:.4~g}" in trace.hovertemplate
        assert "<1" not in trace.hovertemplate
    assert chart.min_width <= 600


def test_rows_are_of_equal_length():
    assert [row_length(n) for n in (1, 256, 768, 3072, 1600, 6400)] == [1, 256, 256, 256, 200, 256]
    assert row_length(263) == 256  # a prime: its second row ends early
    assert row_length(192, 85) == 64


@pytest.mark.parametrize(("per_cell", "n_cells"), [(64.0, (3, 9, 12)), (32.0, (6, 18, 24))])
def test_zoomed_out_a_cell_shows_the_strongest_number_of_its_block(per_cell, n_cells):
    vectors = [random(n, seed=n) for n in (192, 576, 768)]
    chart = block_strips([Strip("x", "input", values) for values in vectors], theme=LIGHT, per_cell=per_cell)
    for panel, (values, n) in enumerate(zip(vectors, n_cells, strict=True)):
        blocks = values.reshape(n, -1)
        np.testing.assert_array_equal(drawn(chart, panel), blocks[np.arange(n), np.abs(blocks).argmax(axis=1)])
        (trace,) = hover_traces(chart, panel)
        assert trace.hovertext[1] == f"{int(per_cell)}–{2 * int(per_cell) - 1}"
    assert bool(cells(chart).text) == (per_cell == 64)  # few enough for their numbers


@pytest.mark.parametrize("n", [1, 2, 5, 31])
def test_blocks_of_uneven_length_leave_nothing_out(n):
    values = np.arange(1, n + 1, dtype=np.float32)
    chart = block_strips([Strip("x", "input", values)], theme=LIGHT, per_cell=max(n / 3, 1.0))
    assert drawn(chart, 0).max() == n
    ends = [text.split("–") for text in hover_traces(chart, 0)[0].hovertext]
    assert [int(end[0]) for end in ends[1:]] == [int(end[-1]) + 1 for end in ends[:-1]]
    assert (int(ends[0][0]), int(ends[-1][-1])) == (0, n - 1)


def test_a_shared_range_is_that_of_the_strongest_number():
    strips = [Strip("a", "input", np.array([1.0, -3.0])), Strip("b", "score", np.array([0.5, 0.0]))]
    own, shared = block_strips(strips, theme=DARK), block_strips(strips, theme=DARK, shared=True)
    assert [range_of(tile) for tile in shared.grid.tiles] == [[-3, 3], [-3, 3]]
    assert range_of(own.grid.tiles[1]) == [-0.5, 0.5]
    zeros = block_strips([Strip("a", "input", np.zeros(3))], theme=DARK, shared=True)
    assert range_of(zeros.grid.tiles[0]) == [-1, 1]


@pytest.mark.parametrize(("n", "mark", "boxes"), [(192, (64, 96), 1), (768, (128, 192), 1), (768, (240, 280), 2)])
def test_the_outline_covers_the_marked_numbers(n, mark, boxes):
    chart = block_strips([Strip("z", "score", random(n))], theme=LIGHT, mark=mark)
    (tile,) = chart.grid.tiles
    marks = chart.figure.layout.shapes[1:]
    assert len(marks) == boxes
    covered = [
        round((box.y0 + 0.5 - tile.y0) * tile.n_columns + x)
        for box in marks
        for x in range(round(box.x0 + 0.5 - tile.x0), round(box.x1 + 0.5 - tile.x0))
    ]
    assert covered == list(range(*mark))


@pytest.mark.parametrize(("n_heads", "d_head"), [(1, 30), (12, 64), (5, 7)])
def test_heads_are_rows_and_the_chosen_one_is_outlined(n_heads, d_head):
    parts = [
        (name, scale, random(n_heads, d_head, seed=i)) for i, (name, scale) in enumerate((("q", "query"), ("k", "key")))
    ]
    chart = head_rows(parts, head=n_heads - 1, theme=LIGHT)
    for panel, (_, _, values) in enumerate(parts):
        np.testing.assert_array_equal(values_of(chart, panel), values)
        tile = chart.grid.tiles[panel]
        box = chart.figure.layout.shapes[2 + panel]
        assert (box.y0, box.y1) == (tile.y0 + n_heads - 1.5, tile.y0 + n_heads - 0.5)
        assert box.x1 - box.x0 == d_head


def test_the_query_lies_over_the_keys_it_meets():
    q, k, keys = random(8), random(2, 8, seed=1), np.array([0, 3])
    chart = keys_of_query(q, k, keys=keys, query=4, labels=list("abcde"), theme=LIGHT)
    np.testing.assert_array_equal(values_of(chart, 0), q[None])
    np.testing.assert_array_equal(values_of(chart, 1), k)
    assert chart.figure.layout.yaxis.ticktext == ("5 e", "1 a", "4 d")


def table(n_rest, theme=LIGHT):
    values, weights = random(4, 8), np.array([0.5, 0.2, 0.0004, 0.0996], np.float32)
    weighted, rest = weights[:, None] * values, random(8, seed=3) * 0.01
    total = weighted.sum(axis=0) + (rest if n_rest else 0)
    keys = np.array([0, 2, 3, 5])
    rows = SumTable(keys, values, values, weights, weighted, n_rest, 0.2, rest, total)
    chart = sum_of_values(rows, z=total + np.float32(1e-7), labels=["<s>", *"abcde"], theme=theme)
    return chart, values, weighted, rest, total


def test_the_table_has_values_weights_weighted_values_and_their_sum():
    chart, values, weighted, _, total = table(0)
    for panel, expected in enumerate((values, weighted, (total + np.float32(1e-7))[None], total[None])):
        np.testing.assert_array_equal(values_of(chart, panel), expected)
    tiles = chart.grid.tiles
    assert range_of(tiles[0]) == range_of(tiles[1])  # so a small weight is pale
    assert range_of(tiles[2]) == range_of(tiles[3])
    assert chart.figure.layout.yaxis.ticktext == ("1 &lt;s&gt;", "3 b", "4 c", "6 e", "z")
    words = text_of(chart)
    assert all(share in words for share in ("50%", "20%", "<0.1%", "10%", "weight"))
    (texts,) = [trace for trace in chart.figure.data if (trace.meta or {}).get("texts")]
    beside = [(y, text.strip()) for y, text in zip(texts.y, texts.text, strict=True) if "%" in text]
    assert beside == [(0, "50%"), (1, "20%"), (2, "<0.1%"), (3, "10%")]


def test_the_tokens_without_a_row_are_one_row_together():
    chart, values, weighted, rest, _ = table(1234, DARK)
    assert np.isnan(values_of(chart, 0)[4]).all()
    np.testing.assert_array_equal(values_of(chart, 0)[:4], values)
    np.testing.assert_array_equal(values_of(chart, 1), np.vstack([weighted, rest]))
    assert "1,234 others" in chart.figure.layout.yaxis.ticktext
    masked = [trace for trace in hover_traces(chart, 0) if trace.meta["masked"]]
    assert "1,234 other tokens" in masked[0].hovertemplate


@pytest.mark.parametrize("shape", [(1, 1), (30, 90), (7, 5), (192, 576), (768, 768), (3072, 768)])
@pytest.mark.parametrize("n_parts", [1, 3])
def test_a_weight_matrix_in_squares(shape, n_parts):
    parts = [(f"to {i}", "value", random(*shape, seed=i)) for i in range(n_parts)]
    chart = weight_matrix(parts, theme=LIGHT)
    edge = -(-max(shape[0], shape[1] * n_parts) // 96)
    squares = [np.arange(0, n, edge) for n in shape]
    for panel, (_, _, weights) in enumerate(parts):
        np.testing.assert_array_equal(values_of(chart, panel), strongest(weights, *squares))
        assert np.abs(values_of(chart, panel)).max() == np.abs(weights).max()
    assert f"{shape[0]:,} × {shape[1]:,}" in text_of(chart)
    assert ("the strongest of" in text_of(chart)) == (edge > 1)
    assert is_narrow(parts[0][2]) == (shape[0] >= shape[1])


def test_every_number_before_and_after_the_activation_function_is_a_point():
    before, after = random(70), random(70, seed=1)
    (trace,) = activation_points(before, after, theme=LIGHT).figure.data
    np.testing.assert_array_equal(trace.x, before)
    np.testing.assert_array_equal(trace.y, after)
    assert list(trace.customdata[:, 0]) == list(range(70))
    linear = random(70, seed=2)
    (trace,) = activation_points(before, after, linear=linear, theme=LIGHT).figure.data
    np.testing.assert_array_equal(trace.customdata[:, 1], linear)


@pytest.mark.parametrize("n_pairs", [1, 4, 32])
def test_a_turned_pair_is_an_arrow_turned_by_its_angle(n_pairs):
    before, angles = random(2 * n_pairs), np.linspace(3.0, 0.01, n_pairs, dtype=np.float32)
    after = turned(before, angles)
    chart = turned_pairs(before, after, angles, theme=LIGHT)
    _circles, was, now, names, words = chart.figure.data
    shown = [int(name.removeprefix("pair ")) for name in names.text]
    assert shown[0] == 0
    assert shown[-1] == n_pairs - 1
    for place, pair in enumerate(shown):
        x, y = (np.array([float(trace[axis][3 * place + 1]) for trace in (was, now)]) for axis in "xy")
        x = x - np.float64(was.x[3 * place])
        np.testing.assert_allclose(np.hypot(x, y), 1, atol=1e-6)
        difference = np.arctan2(y[1], x[1]) - np.arctan2(y[0], x[0]) - angles[pair]
        np.testing.assert_allclose(np.cos(difference), 1, atol=1e-5)
        np.testing.assert_allclose(now.customdata[3 * place + 1][1:], [after[pair], after[pair + n_pairs]], rtol=1e-5)
    assert words.text[0] == "172°"
    assert len(list(chart.table().rows)) == n_pairs
