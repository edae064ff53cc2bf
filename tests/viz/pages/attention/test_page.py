"""The Attention page: the head's measures, tokens read as words, the first token hidden."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import load_model
from model.heads.all_heads import MEASURES, measure_heads, measure_repeated, scores_of
from model.network.gpt2 import GPT2
from model.text.words import Words, group_pattern
from model.trace.trace import Trace, run_trace
from tests.models import make_config, random_network, write_checkpoint
from tests.viz.decode import array, charts, component, panel_values, strip_data
from viz.components.strip_words import strip_words
from viz.text.markdown import as_text

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey"  # with the reduced vocabulary: a| robot| |m|u|s|t| o|b|e|y
GROUP, HIDE = "Group tokens to words", "Hide token 1 and renormalise"


def sink_network() -> GPT2:
    """A random network in which layer 1's head 2 leaves most of its weight on the first token, and the others do not:
    one number of the residual stream says "first", and that head's keys and queries hold it."""
    network = random_network(make_config())
    state = network.state_dict()
    config, first = network.config, 0
    state["wte.weight"][:, first] = 0
    state["wpe.weight"][:, first] = 0
    state["wpe.weight"][0, first] = 60
    for layer in state:
        if layer.endswith("c_proj.weight"):
            state[layer][:, first] = 0
        if layer.endswith("c_attn.weight"):
            state[layer][first] = 0
    at = 2 * config.d_head
    state["h.1.attn.c_attn.weight"][first, config.d_model + at] = 1
    state["h.1.attn.c_attn.bias"][at] = 5
    network.load_state_dict(state)
    return network


@pytest.fixture
def open_sink(open_app: OpenApp) -> OpenApp:
    """The app with the model `sink`, at its layer 1, head 2."""
    write_checkpoint(Path(os.environ["HEADLIGHT_MODELS"]) / "sink", sink_network())
    return lambda **params: open_app(**{"model": "sink", "text": TEXT, "layer": "1", "head": "2", **params})


def trace_of(network: GPT2, app: AppTest) -> Trace:
    folder = Path(os.environ["HEADLIGHT_MODELS"]) / str(app.query_params["model"])
    return run_trace(network, load_model(str(folder)).tokenizer.encode(TEXT))


def toggles(app: AppTest) -> dict[str, bool]:
    return {toggle.label: toggle.value for toggle in app.toggle}


def switch(app: AppTest, label: str) -> AppTest:
    return next(toggle for toggle in app.toggle if toggle.label == label).set_value(True).run()


def strip_weights(app: AppTest) -> np.ndarray:
    """The lower triangle that the strip was given, as a square matrix."""
    import pyarrow as pa

    blobs = component(app, "headlight_token_strip").mixed.arrow_blobs
    (table,) = (pa.ipc.open_stream(blob.data).read_all() for blob in blobs.values())
    n = len(strip_data(app)["labels"])
    square = np.zeros((n, n))
    square[np.tri(n, dtype=bool)] = table.column("0").to_numpy()
    return square


def html_of(app: AppTest) -> str:
    return " ".join(element.proto.body for element in app.get("html"))


def test_the_heads_measures_are_on_the_page(open_app: OpenApp) -> None:
    app = open_app(model="tiny", text=TEXT, layer="1", head="2")
    assert not app.exception
    model = load_model(str(Path(os.environ["HEADLIGHT_MODELS"]) / "tiny"))
    trace = run_trace(model.network, model.tokenizer.encode(TEXT))
    expected = measure_heads(trace) | measure_repeated(model.network, model.tokenizer.start_id)
    scores = scores_of(expected, 1, 2)
    shown = re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)<small>([^<]*)</small>", html_of(app))
    assert [title for title, _, _ in shown] == [entry.title.removesuffix(", random") for entry in MEASURES]
    for entry, (_, value, unit) in zip(MEASURES, shown, strict=True):
        score = scores[entry.name]
        if np.isnan(score):
            assert (value, unit) == ("–", "")
        elif unit == "%":
            assert float(value) == pytest.approx(100 * score, abs=0.51 if float(value) >= 10 else 0.051)
        else:
            assert float(value) == pytest.approx(score, abs=0.051)
            assert unit == entry.unit
    said = " ".join(markdown.value for markdown in app.markdown)
    assert all(entry.definition in said and entry.source in said for entry in MEASURES)


def test_words_are_read_instead_of_tokens(open_app: OpenApp) -> None:
    app = open_app(model="tiny", text=TEXT, layer="1", head="2", query="5")
    by_token = strip_data(app)["labels"]
    assert by_token == ["a", "·robot", "·", "m", "u", "s", "t", "·o", "b", "e", "y"]
    app = switch(app, GROUP)
    assert not app.exception
    words = Words((0, 1, 2, 7), 11)
    expected = group_pattern(trace_of(random_network(make_config()), app).pattern(1, 2), words)
    strip = strip_data(app)
    assert strip["labels"] == ["a", "·robot", "·must", "·obey"]
    assert (strip["words"], strip["command"]["query"]) == (strip_words("word"), 2)
    np.testing.assert_allclose(strip_weights(app), expected, atol=1e-6)
    np.testing.assert_allclose(np.nan_to_num(panel_values(charts(app)["matrix_by_word"], 0)), expected, atol=1e-6)
    (bars,) = charts(app)["weights_by_word"]["data"]
    np.testing.assert_allclose(array(bars["y"]), expected[2, :3], atol=1e-6)
    assert app.query_params["query"] == "5"  # still the token that was chosen
    assert any("**4 words**" in markdown.value for markdown in app.markdown)
    again = open_app(**dict(app.query_params))  # and the link opens the same view
    assert (strip_data(again)["labels"], toggles(again)[GROUP]) == (strip["labels"], True)
    app.button(key="example_1").click().run()
    assert (app.query_params["words"], app.session_state["focus"].by_word) == ("1", True)


def test_what_grouping_would_not_change_is_not_offered(open_app: OpenApp) -> None:
    assert GROUP not in toggles(open_app(model="tiny", text="a robot", layer="1", head="2"))


def test_a_head_that_rests_on_the_first_token_says_so_and_can_be_read_without(open_sink: OpenApp) -> None:
    app = open_sink(query="4")
    pattern = trace_of(sink_network(), app).pattern(1, 2)
    share = pattern[1:, 0].mean()
    assert share > 0.6
    said = [markdown.value for markdown in app.markdown]
    assert f"**L1H2 rests on the first token:** “a” gets {share:.0%} of its weight." in said
    assert "first-token head" in html_of(app)
    assert "matrices" in charts(app)

    app = switch(app, HIDE)
    assert not app.exception
    rest = pattern.copy()
    rest[1:, 0] = 0
    rest /= rest.sum(1, keepdims=True)
    assert strip_data(app)["heads"] == ["L1H2 without token 1"]
    np.testing.assert_allclose(strip_weights(app), rest, atol=1e-5)
    np.testing.assert_allclose(
        np.nan_to_num(panel_values(charts(app)["matrix_by_token_without_token_1"], 0)), rest, atol=1e-5
    )
    assert "matrices" not in charts(app)
    assert "bars" not in charts(app)
    marks = [markdown.value for markdown in app.markdown if "Not the model’s own numbers" in markdown.value]
    assert len(marks) == 2
    for key in ("weights_by_token_without_token_1", "matrix_by_token_without_token_1"):
        assert "not the model’s own numbers" in str(charts(app)[key])
    # Measured it is as the model made it, and the page says that too.
    assert any("token 1 included" in caption.value for caption in app.caption)
    assert f"<dd>{share * 100:.0f}<small>%</small>" in html_of(app)

    next(control for control in app.segmented_control if control.label == "Head").set_value(0).run()
    assert strip_data(app)["heads"] == ["L1H0 without token 1"]  # it holds, and stays marked, until it is switched off
    assert toggles(app)[HIDE] is True
    assert app.query_params["hide"] == "1"
    assert toggles(open_sink(layer="1", head="0", hide="1"))[HIDE] is True
    assert HIDE not in toggles(open_sink(layer="1", head="0", hide="x"))


def test_other_heads_are_not_said_to_rest(open_sink: OpenApp) -> None:
    app = open_sink(layer="0", head="0")
    assert HIDE not in toggles(app)


def test_one_token_alone(open_app: OpenApp) -> None:
    app = open_app(model="tiny", text="a", layer="0", head="1")
    assert not app.exception
    assert toggles(app).keys() == {as_text("<|endoftext|>")}
    assert html_of(app).count("<dd>–<small></small></dd>") == 8  # all on the text but prefix matching, which is 0


def test_words_and_tokens_up_to_the_models_limit(open_app: OpenApp) -> None:
    app = open_app(model="tiny", text="obey " * 40, layer="1", head="0")
    assert not app.exception
    app = switch(app, GROUP)
    assert not app.exception
    assert torch.tensor(strip_weights(app)).sum(1).allclose(torch.ones(1, dtype=torch.float64), atol=1e-5)
