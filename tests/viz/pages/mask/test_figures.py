from __future__ import annotations

import re

import numpy as np
import pytest

from model.steps.masking import MaskSteps
from tests.viz.figures.samples import cells, head, head_of, hover_text, range_of, values_of
from viz.figures.blocks import CROWDED_CELLS
from viz.figures.labels import text_width
from viz.pages.mask.figures import mask_matrices, training_examples
from viz.theme import DARK, LIGHT


def matrices(sample, *, masked=None, text="−∞", theme=LIGHT, **options):
    return mask_matrices(
        MaskSteps(sample.scores * 4, sample.scores, sample.masked if masked is None else masked, sample.pattern),
        labels=sample.labels,
        notes=("every query times every key", "divided by √16 = 4"),
        masked_text=text,
        theme=theme,
        **options,
    )


def words_in(chart):
    return [word for trace in chart.figure.data if (trace.meta or {}).get("texts") for word in trace.text]


def area(chart, name):
    """The area of what a training table shows under this name, in cells (shoelace formula)."""
    (trace,) = (trace for trace in chart.figure.data if (trace.meta or {}).get("area") == name)
    x, y = np.array(trace.x, float), np.array(trace.y, float)
    return abs(np.dot(x[:-1], y[1:]) - np.dot(x[1:], y[:-1])) / 2


@pytest.mark.parametrize("n", [1, 2, 4, 5, 12, 13, 64, 160])
def test_the_four_matrices_hold_every_value(n):
    sample = head(n)
    chart = matrices(sample)
    hidden = np.triu(np.ones((n, n), bool), 1)
    np.testing.assert_array_equal(values_of(chart, 0), sample.scores * 4)
    np.testing.assert_array_equal(values_of(chart, 1), sample.scores)
    np.testing.assert_array_equal(values_of(chart, 2), np.where(hidden, np.nan, sample.scores))
    np.testing.assert_array_equal(values_of(chart, 3), np.where(hidden, np.nan, sample.pattern))
    tiles = chart.grid.tiles
    assert [tile.panel.title for tile in tiles] == ["1 Q Kᵀ", "2 Scaled", "3 Masked", "4 Softmax"]
    assert range_of(tiles[1]) == range_of(tiles[2])
    assert range_of(tiles[3]) == [0, 1]
    assert len({tile.y0 for tile in tiles}) == len({tile.x0 for tile in tiles}) == 2


@pytest.mark.parametrize(("n", "numbered"), [(1, True), (12, True), (13, False)])
def test_numbers_are_in_the_cells_up_to_twelve_tokens(n, numbered):
    text = cells(matrices(head(n))).text
    assert (text is not None) == numbered
    if numbered:
        shown = [word for row in text for word in row if word]
        assert len(shown) == 4 * n * n
        assert shown.count("−∞") == n * (n - 1) / 2
    drawn = [trace for trace in matrices(head(n)).figure.data if (trace.meta or {}).get("in_cells")]
    assert len(drawn) == numbered
    for trace in drawn:
        assert list(trace.text) == [text[y][x] for x, y in zip(trace.x, trace.y, strict=True)]
        assert set(trace.textfont.color) <= {"#000000", "#ffffff"}


def test_a_subtracted_number_is_named_and_does_not_stretch_the_scale():
    sample = head(6)
    finite = np.where(np.isneginf(sample.masked), np.float32(-1e10), sample.masked)
    chart = matrices(sample, masked=finite, text="−10¹⁰")
    assert sum(row.count("−10¹⁰") for row in cells(chart).text) == 15
    assert range_of(chart.grid.tiles[2])[1] == pytest.approx(float(np.abs(sample.scores).max()))
    assert hover_text(chart, 2, 0, 3).endswith("its score becomes −10¹⁰")
    assert any(word == "later keys become −10¹⁰" for word in words_in(chart))
    np.testing.assert_array_equal(cells(chart).z, cells(matrices(sample)).z)


@pytest.mark.parametrize(("n", "columns", "widest"), [(1, 2, 480), (5, 2, 540), (8, 2, 800), (12, 2, 815), (4, 1, 245)])
def test_numbered_cells_are_never_narrower_than_their_numbers(n, columns, widest):
    sample = head_of(np.full((n, n), -98.76, np.float32))
    chart = matrices(sample, columns=columns)
    room = chart.min_width - chart.figure.layout.margin.l - chart.figure.layout.margin.r
    across = chart.figure.layout.xaxis.range[1] - chart.figure.layout.xaxis.range[0]
    (numbers,) = (trace for trace in chart.figure.data if (trace.meta or {}).get("in_cells"))
    assert room / across >= text_width("−98.76", numbers.textfont.size)
    assert chart.min_width <= widest
    assert len({tile.x0 for tile in chart.grid.tiles}) == columns


@pytest.mark.parametrize("value", [0.0, 1e30])
def test_constant_scores(value):
    chart = matrices(head_of(np.full((3, 3), value, np.float32)), theme=DARK)
    assert np.isfinite(range_of(chart.grid.tiles[1])).all()


def test_long_texts_are_drawn_in_blocks():
    chart = matrices(head(1024))
    block = -(-1024 // CROWDED_CELLS)
    assert all(tile.n_rows == -(-1024 // block) <= CROWDED_CELLS for tile in chart.grid.tiles)
    assert sum("strongest of" in word for word in words_in(chart)) == 4


@pytest.mark.parametrize("n", [1, 2, 4, 12, 13, 60, 1024])
def test_row_i_reads_the_tokens_up_to_i_and_its_label_is_the_next(n):
    labels = head(n).labels
    chart = training_examples(labels, theme=LIGHT)
    assert area(chart, "features") == n * (n + 1) / 2
    assert area(chart, "hidden") == n * (n - 1) / 2
    column = 1 if n <= 12 else n / 12
    assert area(chart, "labels") == pytest.approx(column * (n - 1))
    assert area(chart, "open") == pytest.approx(column)
    (points,) = (trace for trace in chart.figure.data if (trace.meta or {}).get("examples"))
    assert len(points.text) == len(points.x) == (2 * n if n <= 256 else n)
    for row in range(n - 1):
        assert points.customdata[row] == f'{row + 2} "{labels[row + 1]}"'
    assert points.customdata[n - 1] == "not in the text"
    assert chart.figure.layout.yaxis.ticktext[0].strip() == "example 1"
    assert len(chart.figure.layout.xaxis.tickvals) <= 60
    assert chart.figure.layout.height <= 560
    assert 300 <= chart.min_width <= 1110


def test_words_of_the_articles_table():
    chart = training_examples(["robot", "must", "obey", "orders"], theme=LIGHT)
    seen, hidden, labels = (trace for trace in chart.figure.data if (trace.meta or {}).get("texts"))
    rows = [[word for word, y in zip(seen.text, seen.y, strict=True) if y == row] for row in range(4)]
    assert rows == [["robot"], ["robot", "must"], ["robot", "must", "obey"], ["robot", "must", "obey", "orders"]]
    assert len(hidden.text) == 6
    assert list(labels.text) == ["<b>must</b>", "<b>obey</b>", "<b>orders</b>", "?"]


def test_an_open_label_and_long_or_marked_up_words():
    chart = training_examples(["<b>x</b>", "&amp;", "日本語日本語日本語日本語"], theme=DARK)
    words = words_in(chart)
    assert words[-1] == "?"
    assert "&lt;b&gt;x&lt;/b&gt;" in words
    assert "<b>&amp;amp;</b>" in words
    assert any(word.startswith("日本") and word.endswith("…") for word in words)


def test_same_inputs_same_figure():
    labels = head(20).labels
    first, second = (training_examples(labels, theme=DARK) for _ in range(2))
    assert first.figure.to_json() == second.figure.to_json()
    assert matrices(head(9)).figure.to_json() == matrices(head(9)).figure.to_json()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 13])
def test_the_titles_of_the_examples_do_not_meet(n):
    chart = training_examples(head(n, labels=["a"] * n).labels, theme=LIGHT)
    features, label = chart.figure.layout.annotations[:2]
    (low, high), margin = chart.figure.layout.xaxis.range, chart.figure.layout.margin
    cell = (chart.min_width - margin.l - margin.r) / (high - low)
    words = [re.sub("<.*?>", "", title.text) for title in (features, label)]
    assert features.x * cell + text_width(words[0], 14) < label.x * cell - text_width(words[1], 14) / 2
