"""A head's weights alone: the arrays in the figures and the words on them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.viz.figures.samples import head, hover_text, values_of
from viz.figures.bars import token_bars
from viz.pages.attention.figures import share_matrix
from viz.theme import DARK, LIGHT


@pytest.mark.parametrize("n", [1, 2, 17, 300])
def test_bars_hold_the_weights_of_the_keys_that_count(n):
    sample, query = head(n), n - 1 - n // 3
    chart = token_bars(
        None,
        sample.pattern[query],
        labels=sample.labels,
        query=query,
        note="by word",
        theme=DARK,
        unit="word",
        width=640,
    )
    (bars,) = chart.figure.data
    np.testing.assert_array_equal(bars.x, np.arange(query + 1))
    np.testing.assert_array_equal(bars.y, sample.pattern[query, : query + 1])
    assert f"<b>Weights of word {query + 1} " in chart.figure.layout.annotations[0].text
    assert "by word" in chart.figure.layout.annotations[0].text
    assert chart.min_width <= 360


def test_a_hidden_key_has_no_bar_and_no_cell():
    sample, later = head(5), np.triu(np.ones((5, 5), bool), 1)
    hidden = later.copy()
    hidden[1:, 0] = True
    chart = token_bars(None, sample.pattern[3], labels=sample.labels, query=3, note="", theme=LIGHT, masked=hidden[3])
    assert list(chart.figure.data[0].x) == [1, 2, 3]
    matrix = share_matrix(sample.pattern, labels=sample.labels, head="L0H1", note="n", theme=LIGHT, hidden=hidden)
    np.testing.assert_allclose(values_of(matrix, 0), np.where(hidden, np.nan, sample.pattern))
    assert matrix.grid.tiles[0].panel.title == "Weights of L0H1"
    assert matrix.grid.tiles[0].note == "n"
    assert hover_text(matrix, 0, 3, 0).startswith('query 4 "·obey" does not count key 1 "a"')
    plain = share_matrix(sample.pattern, labels=sample.labels, head="L0H1", note="n", theme=LIGHT)
    np.testing.assert_allclose(values_of(plain, 0), np.where(later, np.nan, sample.pattern))


def test_typed_markup_is_shown_as_typed():
    chart = token_bars(None, np.array([1.0]), labels=["<b>"], query=0, note="<i>", theme=LIGHT, unit="token")
    assert "token 1 &lt;b&gt;" in chart.figure.layout.annotations[0].text
    assert "&lt;i&gt;" in chart.figure.layout.annotations[0].text


def test_what_does_not_match_is_refused():
    with pytest.raises(ValueError, match=r"weights \(1, 2\), 1 labels, query 0"):
        token_bars(None, np.array([0.5, 0.5]), labels=["a"], query=0, note="", theme=LIGHT)
