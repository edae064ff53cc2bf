"""The page of the three steps draws the model's own numbers, for every choice its controls allow."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, load_model
from model.trace.trace import Trace, run_trace
from tests.viz.decode import array, charts, panel_values, strip_data
from tests.viz.navigation import go_to
from viz.pages.three_steps.figure_map import STEP_NAMES
from viz.pages.three_steps.page import MOST_ROWS

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"
STEPS = ["1", "2", "3", "all"]
CHARTS = {
    STEPS[0]: {"map", "created", "weights"},
    STEPS[1]: {"map", "products", "bars"},
    STEPS[2]: {"map", "sum"},
    STEPS[3]: {"map", "products", "sum"},
}


def assert_fine(app: AppTest) -> None:
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]


def open_step(open_app: OpenApp, step: str, *, mask: bool = True, **params: str) -> AppTest:
    app = open_app("three_steps", **({"text": TEXT, "layer": "1", "head": "2", "query": "4"} | params))
    if step != STEPS[0]:
        app.segmented_control(key="three_step").set_value(step).run()
    if not mask:
        app.toggle(key="three_mask").set_value(False).run()
    assert_fine(app)
    return app


def trace_of(text: str = TEXT) -> Trace:
    model = load_model(EMBEDDED)
    return run_trace(model.network, model.tokenizer.encode(text))


def told(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.caption)


def map_values(app: AppTest, kind: str) -> np.ndarray:
    """What the map's hovers over one kind of strip tell: value, dimension, position."""
    return next(array(t["customdata"]) for t in charts(app)["map"]["data"] if (t.get("meta") or {}).get("kind") == kind)


@pytest.mark.parametrize("mask", [True, False])
@pytest.mark.parametrize("step", STEPS)
def test_each_step_has_its_charts_and_its_check(open_app: OpenApp, step: str, mask: bool) -> None:
    app = open_step(open_app, step, mask=mask)
    assert set(charts(app)) == CHARTS[step]
    words = [annotation["text"] for annotation in charts(app)["map"]["layout"]["annotations"]]
    lit = [number for number, name in STEP_NAMES.items() if f"<b>{name}</b>" in words]
    assert lit == ([1, 2, 3] if step == "all" else [STEPS.index(step) + 1])
    found = re.findall(r"(?:q, k, v|scores|shares|own z) (0|\d\.\de−\d+)\b", told(app))
    differences = [float(number.replace("−", "-")) for number in found]
    expected = {"1": 1, "2": 2, "3": 1, "all": 4}[step] - (not mask and step in ("3", "all"))
    assert len(differences) == expected
    assert max(differences, default=0) < 1e-4
    assert any("not trained this way" in info.value for info in app.info) is not mask


def test_the_map_has_every_tokens_vectors_and_the_shares(open_app: OpenApp) -> None:
    app, trace = open_step(open_app, "All"), trace_of()
    whole = {
        "query": trace.q[1, 2],
        "key": trace.k[1, 2],
        "value": trace.v[1, 2],
        "x": trace.ln_1(1),
        "z": trace.z[1, 2],
    }
    for kind, rows in whole.items():
        for value, dimension, position in map_values(app, kind):
            assert rows[int(position) - 1, int(dimension)] == pytest.approx(value, abs=1e-5)
    np.testing.assert_allclose(map_values(app, "weight"), trace.pattern(1, 2)[3], rtol=1e-5, atol=1e-5)


def test_step_1_shows_x_q_k_and_v_and_what_makes_them(open_app: OpenApp) -> None:
    app, trace = open_step(open_app, STEPS[0]), trace_of()
    own = (trace.ln_1(1), trace.q[1, 2], trace.k[1, 2], trace.v[1, 2])
    for panel, rows in enumerate(own):
        np.testing.assert_allclose(panel_values(charts(app)["created"], panel)[0], rows[3], atol=1e-5)
    d_model, d_head = trace.network.config.d_model, trace.network.config.d_head
    c_attn = trace.network.h[1].attn.c_attn
    for panel in range(3):
        columns = slice(panel * d_model + 2 * d_head, panel * d_model + 3 * d_head)
        np.testing.assert_array_equal(panel_values(charts(app)["weights"], panel), c_attn.weight[:, columns].numpy())
    behind = app.segmented_control(key="three_behind")
    behind.set_value("tokens").run()
    for panel, rows in enumerate(own):
        np.testing.assert_allclose(panel_values(charts(app)["tokens"], panel), rows, atol=1e-5)
    app.segmented_control(key="three_behind").set_value("biases").run()
    assert_fine(app)
    columns = slice(2 * d_head, 3 * d_head)
    np.testing.assert_array_equal(panel_values(charts(app)["biases"], 0)[0], c_attn.bias[columns].numpy())


@pytest.mark.parametrize("mask", [True, False])
def test_step_2_spells_out_the_scores(open_app: OpenApp, mask: bool) -> None:
    app, trace = open_step(open_app, STEPS[1], mask=mask), trace_of()
    products = trace.q[1, 2, 3] * trace.k[1, 2]
    np.testing.assert_allclose(panel_values(charts(app)["products"], 1), products, atol=1e-5)
    bars = {
        (trace_["meta"]["kind"], trace_["meta"]["masked"]): array(trace_["y"]) for trace_ in charts(app)["bars"]["data"]
    }
    seen = 4 if mask else 6
    weights = trace.pattern(1, 2, causal=mask)[3]
    np.testing.assert_allclose(bars["weight", False], weights[:seen], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(bars["score", False], trace.attn_scores(1, 2)[3, :seen], atol=1e-5)
    assert (("score", True) in bars) is mask


@pytest.mark.parametrize("mask", [True, False])
def test_step_3_adds_up_to_the_models_own_z(open_app: OpenApp, mask: bool) -> None:
    app, trace = open_step(open_app, STEPS[2], mask=mask), trace_of()
    weights = trace.pattern(1, 2, causal=mask)[3]
    drawn = charts(app)["sum"]
    weighted = panel_values(drawn, 1)
    visible = ~np.isnan(weighted)
    assert visible.all(axis=1).tolist() == [True] * 4 + [not mask] * 2
    np.testing.assert_allclose(weighted[visible], (weights[:, None] * trace.v[1, 2])[visible], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(panel_values(drawn, 2)[0], trace.z[1, 2, 3])
    np.testing.assert_allclose(panel_values(drawn, 3)[0], weights @ trace.v[1, 2], atol=1e-5)
    assert ("differs from the model's own" in told(app)) is not mask


def test_step_and_mask_are_kept_from_page_to_page(open_app: OpenApp) -> None:
    app = open_step(open_app, STEPS[1], mask=False)
    go_to(app, "compare")
    go_to(app, "three_steps")
    assert_fine(app)
    assert app.segmented_control(key="three_step").value == STEPS[1]
    assert app.toggle(key="three_mask").value is False


def test_every_layer_and_token_of_another_model(open_app: OpenApp) -> None:
    app = open_step(open_app, "All", model="tiny")
    n_tokens = len(strip_data(app)["labels"])
    for layer in range(2):
        for query in {0, n_tokens - 1}:
            app.session_state["focus"] = app.session_state["focus"].with_head(layer=layer).with_query(query)
            app.run()
            assert_fine(app)
            assert set(charts(app)) == CHARTS["all"]


HARD_TEXTS = {
    "one character": "a",
    "markup": "<b>bold</b> **x** $y$ [z](javascript:1)",
    "right to left": "مرحبا بالعالم",
    "lines": "one\ntwo\r\n\t",
    "full context": "a robot must obey " * 200,
}


@pytest.mark.parametrize("step", [STEPS[0], "all"])
@pytest.mark.parametrize("name", HARD_TEXTS)
def test_hard_texts_are_shown(open_app: OpenApp, name: str, step: str) -> None:
    app = open_step(open_app, step, query="1")
    app.session_state["focus"] = app.session_state["focus"].with_text(HARD_TEXTS[name])
    app.run()
    assert_fine(app)
    assert set(charts(app)) == CHARTS[step]


def test_of_a_long_text_the_keys_read_most_have_a_row(open_app: OpenApp) -> None:
    text = "a robot must obey " * 20
    app, trace = open_step(open_app, STEPS[1], text=text, query="60"), trace_of(text)
    weights = trace.pattern(1, 2)[59]
    drawn = panel_values(charts(app)["products"], 1)
    assert len(drawn) == MOST_ROWS
    products = trace.q[1, 2, 59] * trace.k[1, 2]
    for key in np.argsort(-weights)[:10]:
        assert np.abs(drawn - products[key]).max(axis=1).min() < 1e-5
    assert f"Of {trace.n_pos} keys {MOST_ROWS} have a row: 60" in told(app)


def test_an_empty_text_asks_for_one(open_app: OpenApp) -> None:
    app = open_app("three_steps", text="")
    assert not app.exception
    assert len(app.error) == 1
    assert not charts(app)
