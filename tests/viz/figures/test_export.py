"""What is taken away of a figure: its exact numbers with positions and labels, a page without a network, file names."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plotly import graph_objects as go

from model.logits.sampling import Shortlist
from model.network.parameters import block_matrices
from model.steps.three_steps import Scoring, Summing
from tests.models import random_network
from tests.viz.figures.samples import head
from viz.figures.bars import token_bars
from viz.figures.change import ranked_shifts
from viz.figures.chart import Chart
from viz.figures.data import Table
from viz.figures.difference import pattern_difference
from viz.figures.export import chart_config, file_name, to_csv, to_html
from viz.figures.matrices import head_matrices, qkv_matrices
from viz.figures.next_token import next_token_bars
from viz.figures.strips import token_strips
from viz.pages.block.figure_strips import Strip, block_strips
from viz.pages.block.figure_weight import activation_points
from viz.pages.generation.figures import cache_stack
from viz.pages.lens.figure_contributions import head_contributions
from viz.pages.mask.figures import training_examples
from viz.pages.three_steps.figure_map import steps_map
from viz.pages.three_steps.figure_steps import created_vectors, path_vectors, score_table, value_table
from viz.pages.weights.figure_stack import stack_diagram
from viz.theme import DARK, LIGHT

RANDOM = np.random.default_rng(0)
FORMULAS = "=+-@\t\r＝＋－＠"


def rows_of(chart: Chart) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(chart.table).decode("utf-8-sig"), newline="")))


def column(rows: list[dict[str, str]], name: str) -> np.ndarray:
    return np.array([np.float32(row[name] or "nan") for row in rows], np.float32)


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("n", [1, 3, 20])
def test_a_heads_matrices_are_all_there_to_the_last_digit(n: int) -> None:
    h = head(n)
    rows = rows_of(head_matrices(h.scores, h.masked, h.pattern, labels=h.labels, head="L0H0", theme=LIGHT))
    places = [(int(row["query"]), int(row["key"])) for row in rows]
    assert places == [(q + 1, k + 1) for q in range(n) for k in range(n)]
    assert [row["key label"] for row in rows[:n]] == h.labels  # equal words at their own positions
    assert [row["query label"] for row in rows[::n]] == h.labels
    hidden = np.triu(np.ones((n, n), bool), 1)
    np.testing.assert_array_equal(column(rows, "Scores").reshape(n, n), h.scores)
    for title, expected in (("Masked scores", h.masked), ("Weights", h.pattern)):
        values = column(rows, title).reshape(n, n)
        np.testing.assert_array_equal(np.isnan(values), hidden)
        np.testing.assert_array_equal(values[~hidden], expected[~hidden].astype(np.float32))


def test_bars_of_many_keys_name_every_key() -> None:
    n, query = 60, 40
    h = head(n)
    scores, weights = h.scores[[query, 3]], h.pattern[[query, 3]]
    bars = token_bars(scores, weights, labels=h.labels, query=query, names=["L0H1", "L2H3"], theme=LIGHT)
    rows = rows_of(bars)
    assert [(int(row["key"]), row["key label"]) for row in rows] == list(enumerate(h.labels, start=1))
    for i, name in enumerate(("L0H1", "L2H3")):
        np.testing.assert_array_equal(column(rows, f"score {name}"), scores[i])
        np.testing.assert_array_equal(column(rows, f"weight {name}"), weights[i].astype(np.float32))
    assert [row["masked"] for row in rows] == ["no"] * (query + 1) + ["yes"] * (n - query - 1)


def test_every_number_of_a_matrix_that_is_drawn_in_blocks() -> None:
    q = numbers(2, 300)
    rows = rows_of(qkv_matrices(q, q, q, labels=["a", "b"], theme=LIGHT))
    np.testing.assert_array_equal(column(rows, "Values v"), q.ravel())
    assert [row["dimension of the head"] for row in rows[298:302]] == ["298", "299", "0", "1"]


@given(st.text(st.characters(codec="utf-8"), max_size=6))
def test_no_text_becomes_a_formula_and_numbers_stay_numbers(text: str) -> None:
    rows = [(text, np.float32(-0.1), -1e-9, None)]
    written = rows_of(Chart(go.Figure(), lambda: Table(("=title", "a", "b", "c"), rows), 300))[0]
    assert list(written.values()) == [f"'{text}" if text.startswith(tuple(FORMULAS)) else text, "-0.1", "-1e-09", ""]
    assert next(iter(written)) == "'=title"


def test_typed_text_is_in_the_file_as_it_was_typed() -> None:
    labels = ["=1+2", "-3", "@x", '+"a,b"', "<b>&amp;", "א"]
    h = head(len(labels), labels=labels)
    rows = rows_of(head_matrices(h.scores, h.masked, h.pattern, labels=labels, head="L0H0", theme=LIGHT))
    assert [row["key label"] for row in rows[: len(labels)]] == ["'=1+2", "'-3", "'@x", '\'+"a,b"', "<b>&amp;", "א"]


def test_vectors_of_one_and_of_every_token() -> None:
    q, k, v = numbers(3, 5), numbers(3, 5), numbers(3, 5)
    rows = rows_of(qkv_matrices(q, k, v, labels=["a", "b", "a"], theme=LIGHT))
    assert list(rows[0]) == ["token", "token label", "dimension of the head", "Queries q", "Keys k", "Values v"]
    np.testing.assert_array_equal(column(rows, "Keys k"), k.ravel())
    rows = rows_of(token_strips(q[0], k[0], v[0], k[1], token="1 a", theme=LIGHT))
    assert [row["panel"] for row in rows[::5]] == ["query of 1 a", "key of 1 a", "value of 1 a", "output z of 1 a"]
    np.testing.assert_array_equal(column(rows, "value"), np.concatenate([q[0], k[0], v[0], k[1]]))
    long = numbers(700)  # drawn in several lines, and zoomed out
    rows = rows_of(block_strips([Strip("+ bias", "query", long)], theme=LIGHT))
    np.testing.assert_array_equal(column(rows, "value"), long)
    assert {row["vector"] for row in rows} == {"'+ bias"}
    rows = rows_of(block_strips([Strip("x", "input", long)], theme=LIGHT, per_cell=70))
    assert [(row["from"], row["to"]) for row in rows[:2]] == [("0", "69"), ("70", "139")]
    rows = rows_of(created_vectors(long, q[0], k[0], v[0], token="1 a", theme=LIGHT))
    np.testing.assert_array_equal(column(rows, "value"), np.concatenate([long, q[0], k[0], v[0]]))


def test_the_three_steps() -> None:
    n, d = 4, 6
    q, k, z = numbers(d), numbers(n, d), numbers(d)
    masked, labels = np.arange(n) > 2, ["a", "b", "a", "c"]
    weights = np.array([0.2, 0.3, 0.5, 0], np.float32)
    sums = (q * k).sum(1)
    shared, scoring = {"labels": labels, "theme": LIGHT}, Scoring(q * k, sums, sums / 2, masked, weights)
    rows = rows_of(score_table(q, k, scoring, query=2, divisor="2", **shared))
    assert [(row["key"], row["key label"], row["dimension"]) for row in rows[d : d + 2]] == [
        ("2", "b", "0"),
        ("2", "b", "1"),
    ]
    np.testing.assert_array_equal(column(rows, "q × k").reshape(n, d), q * k)
    np.testing.assert_array_equal(column(rows, "scaled")[::d], sums / 2)
    assert [row["masked"] for row in rows[::d]] == ["no", "no", "no", "yes"]
    rows = rows_of(value_table(k, scoring, Summing(weights[:, None] * k, z), z, token="3 a", **shared))
    np.testing.assert_array_equal(column(rows, "weight × value").reshape(n, d), weights[:, None] * k)
    np.testing.assert_array_equal(column(rows, "sum z")[:d], z)
    vectors = {"x": numbers(n, 40), "query": k, "key": k, "value": k, "z": k}
    rows = rows_of(steps_map(vectors, weights, labels=labels, query=2, head="L0H0", theme=LIGHT, masked=masked))
    for name, expected in (("x", vectors["x"]), ("weighted", weights[:, None] * k), ("weight", weights)):
        np.testing.assert_array_equal(column([row for row in rows if row["vector"] == name], "value"), expected.ravel())


def test_next_tokens_and_the_cache() -> None:
    own = np.array([0.5, 0.25])
    chart = next_token_bars(
        Shortlist(np.array([7, 8]), own, own, np.array([1.0, 0.0]), np.array([True, False]), 9, 0.25, 0.0, 0.25),
        labels=["=a", "b"], logits=2 * own, chosen=0, actual=None, after="1 a", theme=LIGHT,
    )  # fmt: skip
    rows = rows_of(chart)
    assert [row["token"] for row in rows] == ["'=a", "b", "all others"]
    assert [row["kept"] for row in rows] == ["yes", "no", ""]
    np.testing.assert_array_equal(column(rows, "own probability"), [0.5, 0.25, 0.25])
    k, v = numbers(2, 3, 4), numbers(2, 3, 4)
    stack = cache_stack(numbers(2, 4), k, v, labels=["a", "b", "c"], position=2, head=1, predicted="d", theme=LIGHT)
    for vector, expected in (("key", k[:, 1]), ("value", v[:, 1])):
        rows = [row for row in rows_of(stack) if (row["token"], row["vector"]) == ("2", vector)]
        np.testing.assert_array_equal(column(rows, "value"), expected.ravel())
        assert [(row["layer"], row["token label"], row["dimension"]) for row in rows[3:5]] == [
            ("0", "b", "3"),
            ("1", "b", "0"),
        ]


def test_charts_without_matrices_have_their_numbers_too() -> None:
    before = numbers(7)
    rows = rows_of(activation_points(before, before / 2, theme=LIGHT))
    np.testing.assert_array_equal(column(rows, "before"), before)
    np.testing.assert_array_equal(column(rows, "after"), before / 2)
    network = random_network()
    shapes = {name: tuple(tensor.shape) for name, tensor in network.named_parameters() if tensor.ndim == 2}
    rows = rows_of(stack_diagram(shapes, block_matrices(network, 0), n_layers=2, layer=0, theme=LIGHT))
    assert {row["tensor"]: row["shape"] for row in rows} == {
        name: f"{shape[0]} × {shape[1]}" for name, shape in shapes.items()
    }
    rows = rows_of(training_examples(["a", "<b>", "=c"], theme=LIGHT))
    assert [(row["last token read"], row["its label"]) for row in rows] == [("a", "<b>"), ("<b>", "'=c"), ("'=c", "")]
    shifts = ranked_shifts(np.array([0.4, 0.1]), names=["L3H7", "L2H0"], notes=["x", ""], chosen=None, theme=LIGHT)
    assert [(row["head"], row["distance, bits"]) for row in rows_of(shifts)] == [("L3H7", "0.4"), ("L2H0", "0.1")]


@pytest.mark.parametrize("label", ["<b>" + "x" * 60 + "&amp;</b> %{y}", "0" * 50, '9 "a"', "a<br>b"])
def test_a_long_token_with_markup_in_it_is_written_exactly(label: str) -> None:
    h = head(2, labels=[label, "a"])
    charts = [
        head_matrices(h.scores, h.masked, h.pattern, labels=h.labels, head="L0H0", theme=LIGHT),
        token_bars(h.scores[1], h.pattern[1], labels=h.labels, query=1, theme=LIGHT),
        pattern_difference(h.pattern, h.pattern, np.zeros(2), names=("a", "b"), labels=h.labels, theme=LIGHT),
        qkv_matrices(h.scores, h.scores, h.scores, labels=h.labels, theme=LIGHT),
        path_vectors(h.scores, h.scores, h.scores, h.scores, labels=h.labels, theme=LIGHT),
    ]
    for chart in charts:
        rows = rows_of(chart)
        titles = [title for title in rows[0] if title.endswith(" label")]
        assert titles
        for title in titles:
            assert {row[title] for row in rows if row[title]} == {label, "a"}, title
    named = head_contributions(np.zeros((1, 1)), token=label, theme=LIGHT)
    assert list(rows_of(named)[0])[-1] == f'Heads, to the logit of "{label}"'


def test_the_page_needs_no_network_and_keeps_typed_text_as_text() -> None:
    h = head(2, labels=["</script><img src=x>", "a"])
    chart = head_matrices(h.scores, h.masked, h.pattern, labels=h.labels, head="L0H0", theme=DARK)
    page = to_html(chart, title="Weights of <b>", note="“</p><script>”", name="headlight-x").decode()
    outside = re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.DOTALL)
    assert "<title>Weights of &lt;b&gt;</title>" in outside
    assert "“&lt;/p&gt;&lt;script&gt;”" in outside
    assert "<img" not in outside
    assert not re.search(r"<(?:script|link|img|iframe)[^>]*\b(?:src|href)=", page)
    assert "default-src 'none'" in page  # and a browser would fetch nothing even if told to
    assert "Plotly.newPlot" in page
    assert f"background: {DARK.paper}" in page


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_saved_picture_has_the_pages_ground(theme) -> None:
    h = head(2)
    chart = head_matrices(h.scores, h.masked, h.pattern, labels=h.labels, head="", theme=theme)
    assert chart.figure.layout.paper_bgcolor == theme.paper


def test_names_of_files() -> None:
    assert file_name("mask_steps", ["L3H7"]) == "headlight-L3H7-mask-steps"
    assert file_name("../a b", []) == "headlight-..-a-b"
    config = chart_config("headlight-L3H7-bars")
    assert config["toImageButtonOptions"] == {"format": "svg", "filename": "headlight-L3H7-bars"}
    assert not config["showSendToCloud"]
    assert not config["plotlyServerURL"]
