"""Each page draws the model's own numbers, for every choice its controls allow, and says what it cannot show."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, load_model
from model.trace.trace import run_trace
from tests.viz.decode import charts, panel_range, panel_values, strip_data
from tests.viz.navigation import go_to
from viz.state.examples import EXAMPLES

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"


def assert_fine(app: AppTest) -> None:
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]


def test_the_attention_page_draws_the_models_numbers(open_app: OpenApp) -> None:
    app = open_app(text=TEXT, layer="1", head="2", query="5")
    assert_fine(app)
    model = load_model(EMBEDDED)
    trace = run_trace(model.network, model.tokenizer.encode(TEXT))
    drawn = charts(app)

    for panel, expected in enumerate((trace.attn_scores(1, 2), trace.masked_scores(1, 2), trace.pattern(1, 2))):
        values = panel_values(drawn["matrices"], panel)
        visible = ~np.isnan(values)
        assert visible.sum() == (36 if panel == 0 else 21)  # the mask hides the 15 pairs above the diagonal
        np.testing.assert_allclose(values[visible], expected[visible], atol=1e-5)

    for panel, expected in enumerate((trace.q, trace.k, trace.v, trace.z)):
        np.testing.assert_allclose(panel_values(drawn["vectors"], panel), expected[1, 2, 4:5], atol=1e-5)


def test_the_strip_is_given_the_tokens_and_the_chosen_one(open_app: OpenApp) -> None:
    data = strip_data(open_app(text=TEXT, layer="0", head="0", query="5"))
    assert data["labels"] == ["a", "·robot", "·must", "·obey", "·a", "·robot"]
    assert data["heads"] == ["L0H0"]
    assert data["command"]["query"] == 4


def test_markup_is_escaped_once_in_a_figures_titles(open_app: OpenApp) -> None:
    app = open_app(text="<<<<", query="1")
    titles = [text for trace in charts(app)["vectors"]["data"] for text in trace.get("text") or []]
    assert f"<b>query of 1 {strip_data(app)['labels'][0].replace('<', '&lt;')}</b>" in titles


def test_queries_keys_and_values_of_every_token(open_app: OpenApp) -> None:
    app = open_app(text=TEXT, layer="2", head="1")
    control = next(c for c in app.segmented_control if c.label == "Matrices of this head")
    control.set_value("Queries, keys, values").run()
    assert_fine(app)
    model = load_model(EMBEDDED)
    trace = run_trace(model.network, model.tokenizer.encode(TEXT))
    for panel, expected in enumerate((trace.q, trace.k, trace.v)):
        np.testing.assert_allclose(panel_values(charts(app)["qkv"], panel), expected[2, 1], atol=1e-5)


def test_two_heads_side_by_side(open_app: OpenApp) -> None:
    app = open_app("compare", text=TEXT, layer="0", head="1", compare="L2H3", query="4")
    assert_fine(app)
    model = load_model(EMBEDDED)
    trace = run_trace(model.network, model.tokenizer.encode(TEXT))
    drawn = charts(app)["pair"]
    for panel, head in enumerate(((0, 1), (2, 3))):
        values = panel_values(drawn, panel)
        visible = ~np.isnan(values)
        np.testing.assert_allclose(values[visible], trace.pattern(*head)[visible], atol=1e-5)
    for panel in (0, 1):
        assert panel_range(drawn, panel) == pytest.approx((0, 1), abs=1e-5)
    assert strip_data(app)["heads"] == ["L0H1", "L2H3"]
    assert strip_data(app)["command"]["query"] == 3


def test_every_head_of_the_embedded_model_can_be_chosen(open_app: OpenApp) -> None:
    app = open_app(text=TEXT)
    config = load_model(EMBEDDED).config
    for layer in range(config.n_layers):
        next(c for c in app.segmented_control if c.label == "Layer").set_value(layer).run()
        for head in range(config.n_heads):
            next(c for c in app.segmented_control if c.label == "Head").set_value(head).run()
            assert_fine(app)
            assert strip_data(app)["heads"] == [f"L{layer}H{head}"]
    assert app.query_params["layer"] == str(config.n_layers - 1)


def test_a_smaller_model_clamps_the_choice_and_keeps_the_text(open_app: OpenApp) -> None:
    app = open_app(text=TEXT, layer="5", head="5")
    app.selectbox(key="model_box").set_value("tiny").run()
    assert_fine(app)
    assert strip_data(app)["heads"] == ["L1H2"]
    assert app.query_params["model"] == "tiny"
    assert app.query_params["text"] == TEXT


def test_a_broken_model_is_named_and_the_one_before_stays(open_app: OpenApp) -> None:
    app = open_app(text=TEXT, model="tiny")
    app.selectbox(key="model_box").set_value("broken").run()
    assert not app.exception
    assert any("model.safetensors" in warning.value.replace("\\", "") for warning in app.warning)
    assert app.query_params["model"] == "tiny"
    assert strip_data(app)["heads"]


def test_two_sessions_with_two_models_do_not_disturb_each_other(open_app: OpenApp) -> None:
    first, second = open_app(text=TEXT, layer="4"), open_app(text="another text", model="tiny")
    first.run()
    second.run()
    assert first.query_params["model"] == EMBEDDED
    assert first.query_params["layer"] == "4"
    assert second.query_params["model"] == "tiny"
    assert strip_data(first)["labels"][1] == "·robot"


@pytest.mark.parametrize("page", [None, "compare", "models"])
def test_a_tampered_link_is_told_and_mended(open_app: OpenApp, page: str | None) -> None:
    app = open_app(
        page, text="hello there", layer="999", head="-1", query="nan", model="../../etc", compare="<b>", start="x"
    )
    assert_fine(app)
    told = " ".join(warning.value for warning in app.warning).replace("\\", "")
    assert app.query_params["model"] == EMBEDDED
    if page is None:
        assert "no head L999H-1" in told
        assert "query is not a whole number" in told
        assert "etc" in told
        assert app.query_params["layer"] == "5"
        assert app.query_params["head"] == "0"


HARD_TEXTS = {
    "one character": "a",
    "equal tokens": "a a a a a a",
    "only spaces": "     ",
    "lone surrogate": "a \ud800 b",
    "NUL": "a\0b",
    "right to left": "مرحبا بالعالم",
    "joined emoji": "👩\u200d👩\u200d👧 🏳️\u200d🌈",
    "combining marks": "e\u0301\u0323\u0323 \u0301",
    "HTML": "<b>bold</b> <script>alert(1)</script> &amp; <br>",
    "Markdown": "**bold** `code` [x](javascript:1) $x^2$ :red[y] # z | --- |",
    "LaTeX": r"\frac{1}{2} $$\int$$ $\alpha$",
    "end of text": "<|endoftext|> <|endoftext|>",
    "lines": "one\ntwo\r\nthree\ttabs\n\n",
    "no space": "x" * 10_000,
    "long": "a robot must obey " * 200,
}


@pytest.mark.parametrize("page", [None, "compare"])
@pytest.mark.parametrize("name", HARD_TEXTS)
def test_hard_texts_are_shown(open_app: OpenApp, name: str, page: str | None) -> None:
    app = open_app(page, layer="3", head="1", compare="L0H2")
    app.session_state["focus"] = app.session_state["focus"].with_text(HARD_TEXTS[name])
    app.run()
    assert_fine(app)
    labels = strip_data(app)["labels"]
    assert 0 < len(labels) <= load_model(EMBEDDED).config.n_ctx


@pytest.mark.parametrize("page", [None, "compare"])
def test_an_empty_text_asks_for_one(open_app: OpenApp, page: str | None) -> None:
    app = open_app(page, text="")
    assert not app.exception
    assert [error.value for error in app.error] == ["There is no token to look at; type at least one character\\."]
    assert not charts(app)


def test_a_text_beyond_the_context_says_how_much_fits(open_app: OpenApp) -> None:
    app = open_app(text="a robot " * 40, model="tiny")
    assert_fine(app)
    told = " ".join(warning.value for warning in app.warning).replace("\\", "")
    assert "reads 32" in told
    assert "The first 32 are shown" in told
    assert len(strip_data(app)["labels"]) == 32


def test_the_start_token_is_put_in_front_and_the_chosen_word_stays(open_app: OpenApp) -> None:
    app = open_app(text=TEXT, query="2")
    app.toggle(key="start_box").set_value(True).run()
    assert_fine(app)
    data = strip_data(app)
    assert data["labels"][:3] == ["<|endoftext|>", "a", "·robot"]
    assert data["command"]["query"] == 2
    assert app.query_params["start"] == "1"


def test_the_start_token_goes_and_the_first_word_is_chosen_in_its_place(open_app: OpenApp) -> None:
    app = open_app(text=TEXT, query="1", start="1")
    app.toggle(key="start_box").set_value(False).run()
    assert_fine(app)
    assert strip_data(app)["command"]["query"] == 0


def test_the_chosen_word_stays_while_the_text_is_edited_and_when_models_cut_it_otherwise(open_app: OpenApp) -> None:
    def read(app: AppTest) -> str:
        """The text up to the chosen token."""
        assert_fine(app)
        data = strip_data(app)
        position = int(data["command"]["query"])
        assert app.query_params["query"] == str(position + 1)
        return "".join(data["labels"][: position + 1])

    app = open_app(text=TEXT, query="3")
    assert read(app) == "a·robot·must"
    for front, behind in (("", " and so"), ("Hippopotomonstrosesquippedalian ", " and so"), ("", " and so"), ("", "")):
        app.session_state["focus"] = app.session_state["focus"].with_text(front + TEXT + behind)
        assert read(app.run()) == f"{front}a robot must".replace(" ", "·")
    n_tokens = len(strip_data(app)["labels"])
    app.selectbox(key="model_box").set_value("tiny").run()  # it has another vocabulary
    assert read(app) == "a·robot·must"
    assert len(strip_data(app)["labels"]) > n_tokens
    app.button(key="example_1").click().run()  # a sentence with a token chosen in it
    assert strip_data(app)["command"]["query"] == EXAMPLES[1].query


def test_a_typed_start_token_is_plain_text(open_app: OpenApp) -> None:
    labels = strip_data(open_app(text="<|endoftext|>"))["labels"]
    assert len(labels) > 1
    assert "".join(labels) == "<|endoftext|>"


def test_the_view_is_kept_from_page_to_page(open_app: OpenApp) -> None:
    app = open_app(text=TEXT, layer="3", head="2", query="4", compare="L1H1")
    before = dict(app.query_params)
    for page in ("compare", "models", "attention"):
        go_to(app, page)
        assert_fine(app)
        assert dict(app.query_params) == before


def test_no_more_than_three_charts_a_page(open_app: OpenApp) -> None:
    for page in (None, "compare"):
        assert 0 < len(charts(open_app(page, text=TEXT))) <= 3
