from __future__ import annotations

import numpy as np
import pytest

from model.steps.three_steps import HeadProjection, HeadProjections, Scoring, Summing
from tests.viz.figures.samples import cells, hover_text, range_of, values_of
from viz.figures.labels import text_width
from viz.pages.three_steps.figure_map import HEAD_CELLS, LATER_VEIL, MOST_PATHS, STEP_NAMES, shown_paths, steps_map
from viz.pages.three_steps.figure_steps import (
    created_vectors,
    path_vectors,
    projection_biases,
    projection_matrices,
    score_table,
    value_table,
)
from viz.pages.three_steps.number_columns import NUMBER_WIDTH
from viz.text.numbers import cell_number, weight_text
from viz.theme import DARK, LIGHT


def numbers_of(n, *, d_model=24, d_head=8, seed=0):
    """Arrays of a made-up head over `n` tokens."""
    make = np.random.default_rng(seed)
    wide = {"x": d_model, "query": d_head, "key": d_head, "value": d_head, "z": d_head}
    return {name: make.normal(size=(n, size)).astype(np.float32) for name, size in wide.items()}


def weights_of(n, query, seed=0):
    masked = np.arange(n) > query
    weights = np.random.default_rng(seed).random(n).astype(np.float32) * ~masked
    return weights / weights.sum(), masked


def scoring_of(weights, masked):
    """A head's scores of which only the weights and the mask count."""
    nothing = np.zeros(len(weights), np.float32)
    return Scoring(nothing[:, None], nothing, nothing, masked, weights)


def labels_of(n):
    return [("·" if i else "") + ["a", "robot", "must", "obey"][i % 4] for i in range(n)]


def a_map(n=6, query=3, *, causal=True, theme=LIGHT, lit=(1, 2, 3), **sizes):
    vectors = numbers_of(n, **sizes)
    weights, masked = weights_of(n, query if causal else n)
    chart = steps_map(
        vectors,
        weights,
        labels=labels_of(n),
        query=query,
        head="L0H1",
        theme=theme,
        lit=lit,
        masked=masked if causal else None,
    )
    return chart, vectors, weights


def kind(chart, name):
    found = [trace for trace in chart.figure.data if (trace.meta or {}).get("kind") == name]
    assert len(found) == 1
    return found[0]


def text_column(chart, title):
    found = [trace for trace in chart.figure.data if (trace.meta or {}).get("numbers") == title]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(("n", "query"), [(1, 0), (6, 3), (6, 5), (16, 0)])
@pytest.mark.parametrize("causal", [True, False])
def test_the_map_holds_every_tokens_vectors(n, query, causal):
    chart, vectors, weights = a_map(n, query, causal=causal)
    for name, values in {**vectors, "weighted": weights[:, None] * vectors["value"]}.items():
        data = np.asarray(kind(chart, name).customdata).reshape(*values.shape, 3)
        np.testing.assert_allclose(data[..., 0], values)
        assert (data[..., 1] == np.arange(values.shape[1])).all()
        assert (data[..., 2] == np.arange(1, n + 1)[:, None]).all()
    np.testing.assert_array_equal(kind(chart, "weight").customdata, weights)
    assert np.isfinite(cells(chart).z).sum() == sum(values.size for values in vectors.values()) + vectors["z"].size


def test_masked_keys_have_minus_infinity_and_nothing_and_the_title_says_whether_there_is_a_mask():
    chart, _, _ = a_map(5, 2)
    assert [text for text in kind(chart, "weight").text if "∞" in text] == ["−∞ → 0%"] * 2
    titles = {causal: a_map(5, 4, causal=causal)[0].figure.layout.annotations[0].text for causal in (True, False)}
    assert "Masked self-attention" in titles[True]
    assert "Self-attention" in titles[False]
    assert not any("∞" in text for text in kind(a_map(5, 2, causal=False)[0], "weight").text)


@pytest.mark.parametrize("lit", [(1,), (2,), (3,), (1, 2, 3)])
def test_the_step_in_hand_stands_out(lit):
    chart, _, _ = a_map(lit=lit)
    bold = [
        step
        for step, name in STEP_NAMES.items()
        if any(a.text == f"<b>{name}</b>" for a in chart.figure.layout.annotations)
    ]
    assert bold == list(lit)
    veils = [shape for shape in chart.figure.layout.shapes if shape.opacity == LATER_VEIL]
    assert len(veils) == {1: 3, 2: 2, 3: 0}[max(lit)]


def test_a_long_strip_shows_the_strongest_of_each_block():
    chart, vectors, _ = a_map(3, 1, d_head=64, d_model=768)
    data = np.asarray(kind(chart, "key").customdata).reshape(3, HEAD_CELLS, 3)
    blocks = vectors["key"].reshape(3, HEAD_CELLS, 4)
    np.testing.assert_allclose(np.abs(data[..., 0]), np.abs(blocks).max(axis=2))
    for token, cell in np.ndindex(3, HEAD_CELLS):
        assert vectors["key"][token, int(data[token, cell, 1])] == data[token, cell, 0]
    assert "the strongest here" in kind(chart, "key").hovertemplate


def test_of_a_long_text_the_paths_read_most_are_drawn():
    weights, masked = weights_of(500, 300)
    paths = shown_paths(weights, masked, 300)
    assert len(paths) == MOST_PATHS
    assert paths[-4:] == (300, 301, 302, 303)
    assert set(np.argsort(-weights)[:10].tolist()) <= set(paths)
    assert len(shown_paths(*weights_of(500, 0), 0)) == MOST_PATHS
    chart, _, _ = a_map(500, 300)
    assert "16 of 500" in chart.figure.layout.annotations[0].text
    assert len(chart.figure.layout.xaxis.ticktext) == MOST_PATHS


def test_a_map_of_arrays_that_do_not_match_is_refused():
    vectors = numbers_of(3)
    with pytest.raises(ValueError, match="no match"):
        steps_map(vectors, np.ones(2, np.float32), labels=labels_of(3), query=0, head="L0H0", theme=LIGHT)


@pytest.mark.parametrize(("d_model", "d_head"), [(24, 8), (30, 30), (768, 64), (1600, 64), (768, 768)])
def test_created_vectors_shows_every_number(d_model, d_head):
    rows = numbers_of(1, d_model=d_model, d_head=d_head)
    chart = created_vectors(*(rows[name][0] for name in ("x", "query", "key", "value")), token="1 <b>", theme=DARK)
    for panel, name in enumerate(("x", "query", "key", "value")):
        np.testing.assert_array_equal(values_of(chart, panel).ravel()[: rows[name].size], rows[name][0])
    if d_model == 768:
        assert hover_text(chart, 0, 1, 3).startswith("input, dimension 256 + 3: ")


def test_a_heads_matrices_and_biases():
    make = np.random.default_rng(1)
    weights = make.normal(size=(3, 24, 8)).astype(np.float32)
    parts = HeadProjections(*(HeadProjection(weight, weight[0]) for weight in weights))
    chart = projection_matrices(parts, head="L1H2", theme=LIGHT)
    biases = projection_biases(parts, theme=LIGHT)
    for panel in range(3):
        np.testing.assert_array_equal(values_of(chart, panel), weights[panel])
        np.testing.assert_array_equal(values_of(biases, panel), weights[panel, :1])
    assert hover_text(chart, 1, 5, 3) == f"from x 5 to key 3: {weights[1, 5, 3]:.4g}"


def test_every_tokens_vectors():
    rows = numbers_of(7)
    chart = path_vectors(*(rows[name] for name in ("x", "query", "key", "value")), labels=labels_of(7), theme=LIGHT)
    for panel, name in enumerate(("x", "query", "key", "value")):
        np.testing.assert_array_equal(values_of(chart, panel), rows[name])


def a_score_table(n, query, *, causal=True, d_head=8):
    rows = numbers_of(n, d_head=d_head)
    products = rows["query"][query] * rows["key"]
    weights, masked = weights_of(n, query if causal else n)
    sums = products.sum(axis=1)
    chart = score_table(
        rows["query"][query],
        rows["key"],
        Scoring(products, sums, sums / 2, masked, weights),
        labels=labels_of(n),
        query=query,
        divisor="√4 = 2",
        theme=LIGHT,
    )
    return chart, rows, products, weights


@pytest.mark.parametrize(("n", "query"), [(1, 0), (6, 3), (6, 5)])
@pytest.mark.parametrize("causal", [True, False])
def test_the_score_table_spells_out_each_score(n, query, causal):
    chart, rows, products, weights = a_score_table(n, query, causal=causal)
    np.testing.assert_array_equal(values_of(chart, 0), rows["key"])
    np.testing.assert_array_equal(values_of(chart, 1), products)
    np.testing.assert_array_equal(values_of(chart, 2)[0], rows["query"][query])
    np.testing.assert_array_equal(values_of(chart, 3)[0], products[weights.argmax()])
    sums = [f"{value:.2f}".replace("-", "−") for value in products.sum(axis=1)]
    assert list(text_column(chart, "Sum").text) == sums
    assert list(text_column(chart, "Scaled").text) == [
        cell_number(value) for value in (products.sum(axis=1) / 2).tolist()
    ]
    assert list(text_column(chart, "Share").text) == [weight_text(weight) for weight in weights.tolist()]
    if causal and query < n - 1:
        assert list(text_column(chart, "Masked").text)[query + 1 :] == ["−∞"] * (n - 1 - query)
    else:
        assert not [trace for trace in chart.figure.data if (trace.meta or {}).get("numbers") == "Masked"]


def test_numbers_lie_inside_the_figure_and_are_left_out_where_rows_are_too_many():
    chart, *_ = a_score_table(6, 3)
    low, high = chart.figure.layout.xaxis.range
    assert chart.figure.layout.xaxis2.range == chart.figure.layout.xaxis.range
    assert all(low <= x <= high for trace in chart.figure.data if (trace.meta or {}).get("texts") for x in trace.x)
    assert chart.min_width > 4 * NUMBER_WIDTH * 0.7
    thinned = text_column(a_score_table(100, 50)[0], "Sum")
    assert 0 < len(thinned.text) < 100
    long, *_ = a_score_table(1024, 700)
    assert not [trace for trace in long.figure.data if (trace.meta or {}).get("numbers")]


def test_of_a_long_text_the_chosen_rows_are_drawn_with_all_their_numbers_and_the_file_has_every_key():
    n, query, rows = 300, 200, (7, 8, 200, 201)
    vectors, (weights, masked) = numbers_of(n), weights_of(n, query)
    products, weighted = vectors["query"][query] * vectors["key"], weights[:, None] * vectors["value"]
    sums, shared = products.sum(axis=1), {"labels": labels_of(n), "rows": rows, "theme": LIGHT}
    scoring = Scoring(products, sums, sums / 2, masked, weights)
    scores = score_table(vectors["query"][query], vectors["key"], scoring, query=query, divisor="2", **shared)
    values = value_table(
        vectors["value"],
        scoring,
        Summing(weighted, weighted.sum(axis=0)),
        vectors["z"][query],
        token="201 ·robot",
        **shared,
    )
    np.testing.assert_array_equal(values_of(scores, 1), products[list(rows)])
    np.testing.assert_array_equal(values_of(scores, 3)[0], products[weights.argmax()])
    assert list(text_column(scores, "Share").text) == [weight_text(weights[row].item()) for row in rows]
    assert list(text_column(scores, "Masked").text)[-1] == "−∞"
    np.testing.assert_array_equal(values_of(values, 1)[:3], weighted[list(rows[:3])])
    np.testing.assert_array_equal(values_of(values, 3)[0], weighted.sum(axis=0))
    assert scores.figure.layout.yaxis.ticktext[2] == f"201 {labels_of(n)[200]}"
    for chart in (scores, values):
        assert len(list(chart.table().rows)) == n * vectors["key"].shape[1]


@pytest.mark.parametrize(("n", "query", "d_head"), [(1, 0, 8), (6, 3, 8), (300, 200, 8), (5, 4, 300)])
def test_the_value_table_shows_the_sum_beside_the_models_own(n, query, d_head):
    rows = numbers_of(n, d_head=d_head)
    weights, masked = weights_of(n, query)
    weighted = weights[:, None] * rows["value"]
    chart = value_table(
        rows["value"],
        scoring_of(weights, masked),
        Summing(weighted, weighted.sum(axis=0)),
        rows["z"][query],
        labels=labels_of(n),
        token="4 <b>",
        theme=DARK,
    )
    if max(n, d_head) <= 256:
        np.testing.assert_array_equal(values_of(chart, 0), rows["value"])
        np.testing.assert_array_equal(values_of(chart, 1)[: query + 1], weighted[: query + 1])
        assert np.isnan(values_of(chart, 1)[query + 1 :]).all()
        np.testing.assert_array_equal(values_of(chart, 2)[0], rows["z"][query])
        np.testing.assert_array_equal(values_of(chart, 3)[0], weighted.sum(axis=0))
        assert [text.strip() for text in text_column(chart, "Weight").text] == [
            weight_text(weight) for weight in weights.tolist()
        ]
    tiles = chart.grid.tiles
    assert range_of(tiles[0]) == range_of(tiles[1])  # as pale as its weight is small
    assert range_of(tiles[2]) == range_of(tiles[3])


def test_a_weighted_strip_is_as_pale_as_its_weight():
    rows = numbers_of(2)
    table = value_table(
        rows["value"],
        scoring_of(np.array([0.25, 0.75], np.float32), np.zeros(2, bool)),
        Summing(np.array([[0.25], [0.75]], np.float32) * rows["value"], rows["z"][1]),
        rows["z"][1],
        labels=labels_of(2),
        token="2 ·robot",
        theme=LIGHT,
    )
    tiles, z = table.grid.tiles, cells(table).z
    full, pale = (z[tile.y0 : tile.y0 + 2, tile.x0 : tile.x0 + 8] - 0.5 for tile in tiles[:2])
    np.testing.assert_allclose(pale, np.array([[0.25], [0.75]]) * full, atol=1e-6)


@pytest.mark.parametrize("n", [1, 5, 16, 40])
def test_the_names_of_the_steps_keep_their_column_on_a_narrow_screen(n):
    chart = a_map(n=n, query=0)[0]
    layout = chart.figure.layout
    low, high = layout.xaxis.range
    pixels = (chart.min_width - layout.margin.l - layout.margin.r) / (high - low)
    assert pixels * (-0.5 - low) > text_width("1 Create", 12) + text_width("w × v", 12)


def test_lines_fan_from_the_query_in_step_2_and_meet_at_it_in_step_3():
    for step, end in ((2, "x0"), (3, "x1")):
        chart, *_ = a_map(6, 3, lit=(step,))
        assert chart.figure.layout.xaxis.ticktext[3] == "<b>4 ·obey</b>"
        assert sum(tick.startswith("<b>") for tick in chart.figure.layout.xaxis.ticktext) == 1
        at = chart.figure.layout.xaxis.tickvals[3]
        lines = [shape for shape in chart.figure.layout.shapes if shape.type == "line" and shape.opacity is not None]
        assert len(lines) == 4  # the masked keys have none
        assert {line[end] for line in lines} == {at}
