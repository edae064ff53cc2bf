"""The lens's table has the guesses it was given, in their places; the contributions are drawn as they are."""

from __future__ import annotations

import numpy as np
import pytest

from model.logits.direct import DirectLogits
from tests.viz.figures.samples import cells, range_of, values_of
from viz.pages.lens.figure_contributions import head_contributions, other_contributions
from viz.pages.lens.figure_table import LensRow, lens_table
from viz.theme import DARK, LIGHT, colour_at, ink_on

SHARES = np.array([[0.6, 0.2], [0.9, 0.00000001]])


def table(theme=LIGHT):
    rows = [
        LensRow("embeddings", ["·a", "·b"], SHARES[0].tolist(), 1, 0.2, 2, 1.5),
        LensRow("layer 0 = output", ["·b", "<i>"], SHARES[1].tolist(), 0, 0.9, 1, 0.25),
    ]
    return lens_table(rows, final="·b", position='2 "·it"', theme=theme)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_each_guess_stands_in_its_cell_with_its_probability(theme):
    chart = table(theme)
    np.testing.assert_allclose(cells(chart).z, SHARES, rtol=1e-6)
    words = next(trace for trace in chart.figure.data if (trace.meta or {}).get("guesses"))
    assert list(zip(words.x, words.y, words.text, strict=True)) == [
        (0, 0, "·a 60.0%"),
        (1, 0, "<b>·b</b> 20.0%"),
        (0, 1, "<b>·b</b> 90.0%"),
        (1, 1, "&lt;i&gt; &lt;0.001%"),
    ]
    assert len(chart.figure.layout.shapes) == 2  # the final guess, outlined in both rows
    outlined = [(round((box.x0 + box.x1) / 2), round((box.y0 + box.y1) / 2)) for box in chart.figure.layout.shapes]
    assert outlined == [(1, 0), (0, 1)]
    inks = [ink_on(colour_at(theme.sequential, share)) for share in (0.6, 0.2, 0.9)]
    assert list(words.textfont.color)[:3] == inks
    columns = {trace.meta["column"]: list(trace.text) for trace in chart.figure.data if "column" in (trace.meta or {})}
    assert columns == {"probability": ["20.0%", "90.0%"], "its rank": ["2", "1"], "entropy, bits": ["1.50", "0.25"]}
    assert list(chart.figure.layout.yaxis.ticktext) == ["embeddings", "layer 0 = output"]


def test_the_tables_numbers_can_be_taken_away():
    rows = [tuple(row) for row in table().table().rows]
    assert rows[0] == ("embeddings", 1, "·a", 0.6, 1.5, 0.2, 2)
    assert rows[3] == ("layer 0 = output", 2, "<i>", 0.00000001, 0.25, 0.9, 1)


@pytest.mark.parametrize(("n_layers", "n_heads"), [(1, 1), (3, 5), (48, 25)])
def test_every_head_has_its_cell(n_layers, n_heads):
    heads = np.random.default_rng(0).normal(size=(n_layers, n_heads))
    chart = head_contributions(heads, token="·a", theme=LIGHT)
    np.testing.assert_allclose(values_of(chart, 0), heads, rtol=1e-6)
    low, high = range_of(chart.grid.tiles[0])
    assert low == -high == -np.abs(heads).max()


def test_all_else_has_its_bar():
    parts = DirectLogits(
        ids=np.array([7]),
        embed=np.array([3.0]),
        pos_embed=np.array([-4.0]),
        heads=np.zeros((2, 3, 1)),
        attn_bias=np.array([[0.1], [0.2]]),
        mlps=np.array([[1.0], [-2.0]]),
        unembed_bias=np.array([5.0]),
        logits=np.array([3.3]),
    )
    chart = other_contributions(parts, theme=DARK)
    wide, biases = chart.figure.data
    np.testing.assert_array_equal(wide.y, [3.0, -4.0, 1.0, -2.0, 5.0])
    np.testing.assert_array_equal(biases.y, [0.1, 0.2])
    np.testing.assert_array_equal(biases.x, [2, 3])
    assert list(chart.figure.layout.xaxis.ticktext) == ["token", "<br>position", "0", "1", "<br>last bias"]
    assert wide.hovertext[3] == "MLP of layer 1"


@pytest.mark.parametrize(("theme", "other"), [(LIGHT, "dark"), (DARK, "pale")])
def test_the_note_names_the_colours_of_both_signs(theme, other):
    chart = head_contributions(np.array([[1.0, -1.0]]), token="·a", theme=theme)
    assert chart.grid.tiles[0].panel.note == f"pink raises it, {other} lowers it"
