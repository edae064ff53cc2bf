from __future__ import annotations

import re

import numpy as np
import pytest

from model.logits.sampling import Shortlist
from viz.figures.blocks import starts_of, strongest
from viz.figures.labels import shorten, text_width
from viz.figures.next_token import next_token_bars
from viz.pages.generation.figures import MOST_TOKENS, cache_stack, shown_tokens
from viz.text.plotly import plain
from viz.theme import DARK, LIGHT


def stack(n_layers=2, d_head=10, n_pos=5, position=2, theme=LIGHT, labels=None, predicted="·robot"):
    rng = np.random.default_rng(0)
    n_read = position - shown_tokens(n_pos, position).start + 1
    q = rng.normal(size=(n_layers, d_head)).astype(np.float32)
    k, v = (rng.normal(size=(n_layers, n_read, d_head)).astype(np.float32) for _ in range(2))
    labels = labels or [f"·w{i}" for i in range(n_pos)]
    chart = cache_stack(q, k, v, labels=labels, position=position, head=1, predicted=predicted, theme=theme)
    return chart, q, k, v


def outlines(chart, name):
    trace = next(trace for trace in chart.figure.data if (trace.meta or {}).get("outlines") == name)
    return sum(x is None for x in trace.x)


@pytest.mark.parametrize("n_layers", [1, 6, 12, 48])
@pytest.mark.parametrize("d_head", [1, 7, 64])
@pytest.mark.parametrize(("n_pos", "position"), [(1, 0), (5, 0), (5, 2), (40, 39), (1024, 700)])
def test_every_cell_is_the_strongest_of_its_piece(n_layers, d_head, n_pos, position):
    chart, q, k, v = stack(n_layers, d_head, n_pos, position)
    values = np.asarray(chart.figure.data[0].customdata)
    starts = starts_of(d_head, {1: 8, 6: 6, 12: 4, 48: 1}[n_layers])
    size = len(starts)
    n_read = k.shape[1]
    for layer in range(n_layers):
        rows = values[layer * (size + 2) :][:size]
        assert np.isnan(rows[:, 0 : 4 * (n_read - 1) : 4]).all()  # no query is kept
        np.testing.assert_array_equal(rows[:, 4 * (n_read - 1)], strongest(q[layer], starts))
        np.testing.assert_array_equal(rows[:, 1::4].T, strongest(k[layer], starts))
        np.testing.assert_array_equal(rows[:, 2::4].T, strongest(v[layer], starts))
    assert outlines(chart, "new") == 3 * n_layers
    assert outlines(chart, "cached") == 2 * n_layers * (n_read - 1)
    assert chart.figure.layout.height < 760


def test_a_cell_says_which_dimensions_it_is_the_strongest_of():
    chart, *_ = stack(n_layers=12, d_head=7)
    rows = [row.partition("head 1, ")[2] for row in chart.figure.layout.yaxis2.ticktext[:5]]
    assert rows == [*(f"strongest of dimensions {a}–{a + 1}" for a in (0, 2, 4)), "dimension 6", ""]


@pytest.mark.parametrize(
    ("n_pos", "position", "shown"),
    [(1, 0, (0, 1)), (9, 3, (0, 9)), (100, 2, (0, MOST_TOKENS)), (100, 99, (86, 100)), (100, 50, (37, 51))],
)
def test_a_long_text_is_shown_around_the_iteration(n_pos, position, shown):
    assert shown_tokens(n_pos, position) == range(*shown)
    assert position in shown_tokens(n_pos, position)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_hover_names_every_vector_and_where_it_comes_from(theme):
    chart, *_ = stack(theme=theme, labels=["<b>", "·robot", "·must", "x", "y"])
    columns = chart.figure.layout.xaxis2.ticktext
    assert columns[1] == 'key of 1 "&lt;b&gt;", from the cache'
    assert columns[8:11] == tuple(f'{kind} of 3 "·must", computed now' for kind in ("query", "key", "value"))
    assert chart.figure.layout.yaxis2.ticktext[0] == "layer 0, head 1, strongest of dimensions 0–1"
    assert chart.figure.layout.xaxis.ticktext[2] == "<b>3 ·must</b>"
    assert any(annotation.text == "<b>·robot</b>" for annotation in chart.figure.layout.annotations)


@pytest.mark.parametrize(
    ("n", "predicted", "anchor"),
    [
        (1, ".", "center"),
        (1, "·extraordinary", "left"),
        (4, "·robot", "center"),
        (14, "·a", "center"),
        (14, "<eot>" * 3, "right"),
    ],
)
def test_the_predicted_token_stands_over_its_arrow_where_there_is_room(n, predicted, anchor):
    q, kv = np.zeros((2, 8), np.float32), np.ones((2, n, 8), np.float32)
    labels = [f"·{i}" for i in range(n)]
    chart = cache_stack(q, kv, kv, labels=labels, position=n - 1, head=0, predicted=predicted, theme=LIGHT)
    shown = f"<b>{plain(shorten(predicted))}</b>"
    (words,) = [a for a in chart.figure.layout.annotations if a.text == shown]
    assert words.xanchor == anchor


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="no match"):
        cache_stack(
            np.zeros((2, 4)),
            np.zeros((2, 2, 4)),
            np.zeros((2, 2, 4)),
            labels=["a", "b", "c"],
            position=2,
            head=0,
            predicted="",
            theme=LIGHT,
        )


def bars(final, kept=None, tempered=None, own=None, **options):
    final = np.asarray(final, float)
    settings = {
        "chosen": 0,
        "actual": None,
        "n_rest": 0,
        "rest": (0.0, 0.0, 0.0),
        "after": "3 ·must",
        "theme": LIGHT,
    } | options
    n_rest, rest = settings.pop("n_rest"), settings.pop("rest")
    short = Shortlist(
        np.arange(len(final)),
        final if own is None else np.asarray(own),
        final if tempered is None else np.asarray(tempered),
        final,
        np.ones(len(final), bool) if kept is None else np.asarray(kept),
        n_rest,
        *rest,
    )
    return next_token_bars(
        short, labels=[f"·{i}" for i in range(len(final))], logits=np.arange(len(final), dtype=float), **settings
    )


def bar(chart, *, kept, rest=False):
    return next((t for t in chart.figure.data if t.meta == {"kept": kept, "rest": rest}), None)


def test_what_survives_is_coloured_and_as_long_as_it_is_drawn_with_and_the_rest_is_hatched():
    chart = bars([0.6, 0.4, 0.0], [True, True, False], [0.5, 0.3, 0.2], [0.4, 0.3, 0.2], chosen=1, actual=2)
    seen, cut = bar(chart, kept=True), bar(chart, kept=False)
    np.testing.assert_array_equal(seen.x, [0.6, 0.4])
    np.testing.assert_array_equal(cut.x, [0.2])
    assert cut.marker.pattern.shape == "/"
    assert seen.marker.line.width == (0, 2)
    assert "chosen" in seen.text[1]
    assert "in the text" in cut.text[0]
    marks = next(t for t in chart.figure.data if t.meta == {"own": True})
    np.testing.assert_array_equal(marks.x, [0.4, 0.3])
    np.testing.assert_array_equal(marks.y, [0, 1])
    assert "cut; 20.0% before the cuts" in cut.hovertext[0]
    told = "the model's own probability 40.0%<br>drawn with 60.0%"
    assert seen.hovertext[0] == f'"·0"<br>logit 0<br>{told}'


def test_no_upright_line_runs_through_the_words():
    chart = bars([0.6, 0.4, 0.0], [True, True, False], [0.5, 0.3, 0.2], [0.4, 0.41, 0.3])
    marks = next(t for t in chart.figure.data if t.meta == {"own": True})
    assert list(bar(chart, kept=True).text) == ["60.0%<b>  ◀ chosen</b>", ""]
    assert list(bar(chart, kept=False).text) == [""]
    np.testing.assert_array_equal(marks.x, [0.4, 0.41, 0.3])
    assert list(marks.text) == ["", "40.0%<b></b>", "20.0% cut<b></b>"]


@pytest.mark.parametrize(("first", "chosen", "actual"), [(0.9997, 0, 0), (0.9997, 0, 1), (0.5, 0, 1), (0.3, 0, None)])
def test_there_is_room_for_the_words_behind_each_bar(first, chosen, actual):
    chart = bars([first, 0.29 * first], chosen=chosen, actual=actual)
    margin = chart.figure.layout.margin
    scale = (chart.min_width - margin.l - margin.r) / chart.figure.layout.xaxis.range[1]
    seen = bar(chart, kept=True)
    for length, text in zip(seen.x, seen.text, strict=True):
        assert (chart.figure.layout.xaxis.range[1] - length) * scale >= text_width(re.sub("</?b>", "", text))


def test_all_others_are_one_bar_drawn_to_scale_where_it_fits():
    chart = bars([0.5, 0.2], n_rest=98, rest=(0.3, 0.2, 0.1))
    np.testing.assert_array_equal(bar(chart, kept=True, rest=True).x, [0.2])
    cut = bar(chart, kept=False, rest=True)
    np.testing.assert_array_equal(cut.x, [0.1])
    assert cut.base == 0.2
    assert cut.text == ("20.0% and 10.0% cut",)
    assert "98 other tokens" in cut.hovertext[0]
    assert chart.figure.layout.yaxis.ticktext[2] == "all others"


def test_a_bar_that_is_too_long_says_so_and_carries_its_number():
    chart = bars([0.02, 0.01], n_rest=98, rest=(0.97, 0.97, 0.0), chosen=None)
    rest = bar(chart, kept=True, rest=True)
    assert rest.x[0] < chart.figure.layout.xaxis.range[1]
    assert rest.text == ("",)
    (words,) = [a for a in chart.figure.layout.annotations if "longer than drawn" in a.text]
    assert (words.text, words.x, words.y) == ("97.0%, longer than drawn ▸", rest.x[0], 2)
    assert words.bgcolor == LIGHT.paper
    assert rest.marker.line.width == 2
    assert chart.figure.layout.yaxis.ticktext[2] == "<b>all others</b>"


def test_a_vocabulary_of_one():
    assert len(bars([1.0]).figure.data) == 1


@pytest.mark.parametrize(("chosen", "actual"), [(0, 2), (2, 0), (1, 1), (2, 1)])
def test_what_is_chosen_and_what_follows_are_marked_on_their_own_bars(chosen, actual):
    texts = bar(bars([0.5, 0.3, 0.2], chosen=chosen, actual=actual), kept=True).text
    assert [rank for rank, text in enumerate(texts) if "chosen" in text] == [chosen]
    assert [rank for rank, text in enumerate(texts) if "in the text" in text] == [actual]
