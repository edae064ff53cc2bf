"""Before and after: the bars have the probabilities that were given, the ranking its bits."""

from __future__ import annotations

import re

import numpy as np
import pytest

from viz.figures.change import next_token_change, ranked_shifts
from viz.theme import DARK, LIGHT

BEFORE, AFTER = np.array([0.5, 0.2, 0.0]), np.array([0.1, 0.3, 0.00002])


def bars(**changes):
    options = {
        "labels": ["·a", "<b>", "·a"],
        "n_rest": 7,
        "rest": (0.3, 0.59998),
        "position": '9 "·it"',
        "theme": LIGHT,
    }
    return next_token_change(BEFORE, AFTER, **{**options, **changes})


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_every_token_has_its_two_bars(theme):
    before, after = bars(theme=theme).figure.data
    assert (before.meta["kind"], after.meta["kind"]) == ("before", "after")
    np.testing.assert_array_equal(before.x, [0.5, 0.2, 0.0, 0.3])
    np.testing.assert_array_equal(after.customdata, [0.1, 0.3, 0.00002, 0.59998])
    assert after.x[3] < 0.59998  # longer than the scale of the named ones
    assert after.text[3].endswith("▸")
    assert list(before.text)[:3] == ["50.0%", "20.0%", "0.0%"]
    assert before.marker.color != after.marker.color
    assert before.marker.pattern.shape == "."  # not by colour alone


def test_labels_are_shown_as_typed_and_equal_tokens_stay_apart():
    chart = bars()
    assert list(chart.figure.layout.yaxis.ticktext) == ["·a", "&lt;b&gt;", "·a", "7 others"]
    assert list(chart.figure.layout.yaxis.tickvals) == [0, 1, 2, 3]
    assert len(bars(n_rest=0, rest=(0.0, 0.0)).figure.data[0].x) == 3
    assert chart.min_width <= 390


def test_its_numbers_can_be_taken_away():
    table = bars().table()
    assert table.columns == ("token", "before", "after")
    assert [tuple(row) for row in table.rows] == [
        ("·a", 0.5, 0.1),
        ("<b>", 0.2, 0.3),
        ("·a", 0.0, 0.00002),
        ("7 others", 0.3, 0.59998),
    ]


def test_the_ranking_marks_the_chosen_head():
    values = np.array([0.4, 0.1, 0.0])
    names = ["L3H7", "L2H0", "L9H9"]
    chart = ranked_shifts(values, names=names, notes=["row 9 ·it", "", ""], chosen=1, theme=LIGHT)
    (ranked,) = chart.figure.data
    np.testing.assert_array_equal(ranked.x, values)
    assert list(ranked.marker.line.width) == [0, 2, 0]
    assert chart.figure.layout.yaxis.ticktext == ("L3H7", "<b>L2H0</b>", "L9H9")
    assert ranked.text[0] == "0.4  row 9 ·it"
    still = ranked_shifts(np.zeros(1), names=["L1H0"], notes=[""], chosen=None, theme=DARK)
    assert still.figure.layout.xaxis.range == (0, 1.5)


def test_each_pass_has_its_name_in_its_colour_and_in_its_hovers():
    chart = bars(passes=("first text", "second text"))
    before, after = chart.figure.data
    assert "%{hovertext} first text:" in before.hovertemplate
    assert "%{hovertext} second text:" in after.hovertemplate
    legend = chart.figure.layout.annotations[0].text
    for bar, name in ((before, "first text"), (after, "second text")):
        assert re.search(f'color:{bar.marker.color}">.</span> {name}', legend)


def test_distances_are_told_in_bits():
    chart = ranked_shifts(np.array([0.4]), names=["L3H7"], notes=[""], chosen=None, theme=LIGHT)
    assert "bits" in chart.figure.data[0].hovertemplate
    assert chart.figure.layout.xaxis.title.text == "bits"
