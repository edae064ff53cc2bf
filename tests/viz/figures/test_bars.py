from __future__ import annotations

import numpy as np
import pytest

from tests.viz.figures.samples import head
from viz.figures.bars import head_colours, token_bars
from viz.theme import DARK, LIGHT


def bars_of(chart, kind, *, masked=False, head=0):
    wanted = {"kind": kind, "head": head, "masked": masked}
    return next((trace for trace in chart.figure.data if trace.meta == wanted), None)


@pytest.mark.parametrize("n", [1, 2, 15, 64, 1024])
@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_every_key_has_its_bars(n, where):
    sample = head(n)
    query = {"first": 0, "middle": n // 2, "last": n - 1}[where]
    chart = token_bars(sample.scores[query], sample.pattern[query], labels=sample.labels, query=query, theme=LIGHT)
    seen = bars_of(chart, "score")
    np.testing.assert_array_equal(seen.x, np.arange(query + 1))
    np.testing.assert_array_equal(seen.y, sample.scores[query, : query + 1])
    np.testing.assert_array_equal(bars_of(chart, "weight").y, sample.pattern[query, : query + 1])
    assert [i for i, width in zip(seen.x, seen.marker.line.width, strict=True) if width] == [query]
    hidden = bars_of(chart, "score", masked=True)
    if query < n - 1:
        np.testing.assert_array_equal(hidden.y, sample.scores[query, query + 1 :])
        assert "masked" in hidden.hovertemplate
        assert hidden.marker.pattern.shape == ("/" if n <= 160 else None)
    else:
        assert hidden is None
    assert len(chart.figure.data) <= 3
    low, high = chart.figure.layout.yaxis.range
    assert low <= sample.scores[query].min()
    assert high >= sample.scores[query].max()
    assert chart.figure.layout.yaxis2.range[1] >= sample.pattern[query].max()


def test_two_heads_differ_by_more_than_colour():
    a, b = head(9, seed=1), head(9, seed=2)
    chart = token_bars(
        np.stack([a.scores[4], b.scores[4]]),
        np.stack([a.pattern[4], b.pattern[4]]),
        labels=a.labels,
        query=4,
        theme=DARK,
        names=("L0H1", "<i>"),
    )
    first, second = (bars_of(chart, "weight", head=i) for i in (0, 1))
    np.testing.assert_array_equal(second.y, b.pattern[4, :5])
    assert first.offset + first.width == pytest.approx(second.offset)
    assert second.marker.pattern.shape == "."
    assert first.hovertemplate.startswith('L0H1: query 5 "·a" reads key %{x}')
    assert all("&lt;i&gt;" in annotation.text for annotation in chart.figure.layout.annotations)


@pytest.mark.parametrize(("n", "most"), [(15, 15), (64, 64), (1024, 60)])
def test_ticks_are_thinned(n, most):
    sample = head(n)
    chart = token_bars(sample.scores[0], sample.pattern[0], labels=sample.labels, query=0, theme=LIGHT)
    assert len(chart.figure.layout.xaxis.tickvals) <= most
    narrow = token_bars(sample.scores[0], sample.pattern[0], labels=sample.labels, query=0, theme=LIGHT, width=358)
    assert len(narrow.figure.layout.xaxis.tickvals) <= 22


@pytest.mark.parametrize("value", [0.0, -2.0, 3e38, 1e-30])
def test_extreme_scores(value):
    scores = np.full(4, value, np.float32)
    chart = token_bars(scores, np.full(4, 0.25, np.float32), labels=list("abcd"), query=3, theme=LIGHT)
    low, high = chart.figure.layout.yaxis.range
    assert np.isfinite([low, high]).all()
    assert low < high


def test_numbers_over_the_bars_are_written_as_everywhere():
    scores, weights = np.array([-10.78, 2.0, 0.0]), np.array([0.9556, 0.004, 0.0404])
    chart = token_bars(scores, weights, labels=list("abc"), query=2, theme=LIGHT)
    over = {trace.meta["kind"]: trace.text for trace in chart.figure.data}
    assert over["score"] == ("−10.78", "2.00", "0.00")
    assert over["weight"] == ("96%", "0.4%", "4.0%")


def test_labels_are_escaped_and_hover_names_every_key():
    chart = token_bars(np.zeros(2), np.array([1.0, 0.0]), labels=["<b>", "<b>"], query=0, theme=LIGHT)
    assert chart.figure.layout.xaxis.ticktext == ("1 &lt;b&gt;", "2 &lt;b&gt;")
    assert "&lt;b&gt;" in chart.figure.layout.annotations[0].text


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="no match"):
        token_bars(np.zeros(3), np.zeros(3), labels=["a"], query=0, theme=LIGHT)


def test_a_narrow_screen_scrolls_to_the_query_where_the_labels_would_overlap():
    for n, least in ((6, 340), (186, 500)):
        sample = head(n)
        chart = token_bars(sample.scores[2], sample.pattern[2], labels=sample.labels, query=2, theme=LIGHT)
        assert chart.figure.layout.meta["in_view"] == 2
        assert least <= chart.min_width <= 640
        assert (chart.min_width - 60) / len(chart.figure.layout.xaxis.tickvals) >= 12


def test_the_title_names_the_query_and_each_heads_bars_have_its_colour():
    sample = head(9)
    chart = token_bars(
        np.stack([sample.scores[4]] * 4), np.stack([sample.pattern[4]] * 4), labels=sample.labels, query=4, theme=LIGHT
    )
    titles = [annotation.text.split("<br>")[0] for annotation in chart.figure.layout.annotations]
    assert titles == [f"<b>{kind} of query 5 ·a</b>" for kind in ("Scores", "Weights")]
    drawn = [bars_of(chart, "weight", head=i).marker.color for i in range(4)]
    assert drawn == list(head_colours(LIGHT))
