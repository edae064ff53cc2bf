"""The page Mask: four matrices of the head, the training examples, the rows in words, and the article's own numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, load_model
from model.steps import masking
from model.trace.trace import Trace, run_trace
from tests.viz.decode import array, charts, panel_values, strip_data, tile
from tests.viz.navigation import go_to
from viz.pages.mask.page import INFINITY, SUBTRACTED, percent, row_in_words

SHOWN = {"infinity": INFINITY, "1e10": SUBTRACTED}
OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"
CHARTS = {"training", "mask_steps", "article_steps"}
LONG = "a robot must obey the orders given it by a human being, and a robot"


def traced(text: str) -> Trace:
    model = load_model(EMBEDDED)
    return run_trace(model.network, model.tokenizer.encode(text)[: model.config.n_ctx])


def assert_fine(app: AppTest) -> None:
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]


def said(app: AppTest) -> str:
    """Everything the page says, without the signs that escape and isolate typed words."""
    words = "\n".join(element.value for element in [*app.markdown, *app.caption])
    return words.replace("\\", "").replace("\u2068", "").replace("\u2069", "")


def choose(app: AppTest, key: str, value: str) -> AppTest:
    return app.segmented_control(key=key).set_value(value).run()


@pytest.mark.parametrize("text", ["a", TEXT, LONG])
@pytest.mark.parametrize("value", ["infinity", "1e10"])
def test_the_four_matrices_are_the_heads_own(open_app: OpenApp, text: str, value: str) -> None:
    app = choose(open_app("mask", text=text, layer="2", head="1"), "mask_value", value)
    assert_fine(app)
    trace = traced(text)
    seen = np.tril(np.ones((trace.n_pos, trace.n_pos), bool))
    expected = (
        trace.attn_scores(2, 1, scaled=False),
        trace.attn_scores(2, 1),
        np.where(seen, trace.attn_scores(2, 1), np.nan),
        np.where(seen, trace.pattern(2, 1), np.nan),
    )
    drawn = charts(app)
    assert set(drawn) == CHARTS
    for panel, values in enumerate(expected):
        np.testing.assert_allclose(panel_values(drawn["mask_steps"], panel), values, rtol=1e-5, atol=1e-5)
    text_in_cells = drawn["mask_steps"]["data"][0].get("text")
    assert (text_in_cells is not None) == (trace.n_pos <= 12)
    if text == TEXT:
        assert sum(row.count(SHOWN[value]) for row in text_in_cells) == 15
    assert "largest difference 0. Both become 0" in said(app)
    assert "model’s own pass left; largest difference" in said(app)
    assert "not drawn in the article" in said(app)


def test_each_example_reads_its_beginning_and_its_label_follows(open_app: OpenApp) -> None:
    app = open_app("mask", text=TEXT)
    sentences = next(trace for trace in charts(app)["training"]["data"] if (trace.get("meta") or {}).get("examples"))
    told = sentences["hovertemplate"].removesuffix("<extra></extra>")
    parts = list(zip(array(sentences["text"]), array(sentences["customdata"]), array(sentences["y"]), strict=True))
    assert [told.replace("%{text}", text).replace("%{customdata}", label) for text, label, _ in parts[:6]] == [
        'reads 1 "a"<br>its label: 2 "·robot"',
        'reads 1 "a" to 2 "·robot"<br>its label: 3 "·must"',
        'reads 1 "a" to 3 "·must"<br>its label: 4 "·obey"',
        'reads 1 "a" to 4 "·obey"<br>its label: 5 "·a"',
        'reads 1 "a" to 5 "·a"<br>its label: 6 "·robot"',
        'reads 1 "a" to 6 "·robot"<br>its label: not in the text',
    ]
    assert [y for *_, y in parts] == [0, 1, 2, 3, 4, 5] * 2
    assert "6 tokens are 6 training examples" in said(app)


def test_every_row_is_said_in_words(open_app: OpenApp) -> None:
    app = open_app("mask", text="a robot must", layer="1", head="3", query="2")
    row = traced("a robot must").pattern(1, 3)[1, :2]
    words = row_in_words(row, lambda key: f"**{('a', '·robot')[key]}**")
    assert said(app).count(words) == 2  # the chosen token's row, and in the list
    assert "1. While processing **a**, 100% of the attention is on **a**." in said(app)
    assert "\n3. While processing **·must**" in said(app)


def test_the_rows_of_a_longer_text_are_a_table(open_app: OpenApp) -> None:
    app = open_app("mask", text=LONG)
    assert_fine(app)
    table = app.dataframe[0].value
    assert list(table["Query"]) == list(range(1, len(strip_data(app)["labels"]) + 1))
    assert table["In words"][0].replace("\u2068", "").replace("\u2069", "").startswith("While processing a, 100%")


def test_sentences_name_at_most_three_and_tell_equal_tokens_apart() -> None:
    def name(key: int) -> str:
        return "abcde"[key]

    even = row_in_words(np.array([0.1, 0.4, 0.05, 0.3, 0.15]), name)
    assert (
        even == "While processing e, 40% of the attention is on b, 30% on d and 15% on e; the other 2 tokens share 15%."
    )
    assert (
        row_in_words(np.array([0.48, 0.52]), name) == "While processing b, 48% of the attention is on a and 52% on b."
    )
    assert row_in_words(np.array([0.9985, 0.0015]), name) == (
        "While processing b, over 99% of the attention is on a; the other token gets under 1%."
    )
    assert [percent(share) for share in (0, 0.001, 0.006, 0.994, 0.996, 1)] == [
        "0%",
        "under 1%",
        "1%",
        "99%",
        "over 99%",
        "100%",
    ]


@pytest.mark.parametrize("value", ["infinity", "1e10"])
def test_the_articles_example_comes_out_as_printed(open_app: OpenApp, value: str) -> None:
    app = choose(open_app("mask", text=TEXT), "mask_value", value)
    assert_fine(app)
    assert "Fixed numbers" in said(app)
    drawn = charts(app)
    numbers = drawn["article_steps"]["data"][0]["text"]
    shown = [tile(drawn["article_steps"], panel).of(numbers).tolist() for panel in range(4)]
    assert shown[0] == [[f"{score:.2f}" for score in row] for row in masking.ARTICLE_SCORES]
    assert shown[2][0][1:] == [SHOWN[value]] * 3
    assert shown[3] == [
        ["1.00", "0", "0", "0"],
        ["0.48", "0.52", "0", "0"],
        ["0.31", "0.35", "0.34", "0"],
        ["0.25", "0.26", "0.23", "0.26"],
    ]
    assert "| must | 0.48 0.52 | 0.48 0.52 | 0.42 0.58 |" in said(app)
    assert "largest difference 0." in said(app)
    assert "d_head = 16" in said(app)
    assert "2. While processing **must**, 48% of the attention is on **robot** and 52% on **must**." in said(app)


def test_every_head_and_another_model(open_app: OpenApp) -> None:
    app = open_app("mask", text=TEXT, model="tiny")
    for layer in range(2):
        for head in range(3):
            app.segmented_control(key="first_layer").set_value(layer)
            app.segmented_control(key="first_head").set_value(head).run()
            assert_fine(app)
            assert f"##### L{layer}H{head} on your text" in [element.value for element in app.markdown]
    assert "divide by √10 = 3.162" in said(app)


def test_the_mask_value_survives_a_change_of_page(open_app: OpenApp) -> None:
    app = choose(open_app("mask", text=TEXT), "mask_value", "1e10")
    go_to(app, "compare")
    go_to(app, "mask")
    assert_fine(app)
    assert app.segmented_control(key="mask_value").value == "1e10"


HARD_TEXTS = [
    "     ",
    "a\0b",
    "مرحبا بالعالم",
    "<b>x</b> &amp; <br>",
    "**x** `y` $z$ | --- | # :red[y]",
    "one\ntwo\n\n",
    "a " * 400,
]


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_hard_texts_are_shown(open_app: OpenApp, text: str) -> None:
    app = open_app("mask", layer="3", head="1")
    app.session_state["focus"] = app.session_state["focus"].with_text(text)
    app.run()
    assert_fine(app)
    assert set(charts(app)) == CHARTS


def test_an_empty_text_asks_for_one(open_app: OpenApp) -> None:
    app = open_app("mask", text="")
    assert not app.exception
    assert not charts(app)
    assert len(app.error) == 1
