"""The page draws every step of a layer with the model's own numbers, for every choice that its controls allow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, load_model
from model.steps.block import block_steps, steps_of
from model.trace.trace import Trace, run_trace
from tests.viz.decode import charts, panel_values
from tests.viz.navigation import go_to
from viz.pages.block.words import WORDS

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"
STEPS = steps_of(load_model(EMBEDDED).network)


def trace_of(text: str = TEXT) -> Trace:
    model = load_model(EMBEDDED)
    return run_trace(model.network, model.tokenizer.encode(text))


def choose(app: AppTest, step: str) -> AppTest:
    app.radio(key="block_step").set_value(step).run()
    assert not app.exception, app.exception
    assert not app.error
    assert 0 < len(charts(app)) <= 3
    return app


def drawn(app: AppTest, chart: str, panel: int) -> np.ndarray:
    return panel_values(charts(app)[chart], panel).reshape(-1)


@pytest.mark.parametrize(("layer", "head", "pos"), [(0, 1, 4), (5, 3, 0)])
def test_every_step_draws_the_models_numbers(open_app: OpenApp, layer: int, head: int, pos: int) -> None:
    app = open_app("block", text=TEXT, layer=str(layer), head=str(head), query=str(pos + 1))
    trace = trace_of()
    strips = {
        "input": {2: trace.resid_pre[layer, pos]},
        "ln_1": {0: trace.resid_pre[layer, pos], 4: trace.ln_1(layer)[pos]},
        "qkv": {0: trace.ln_1(layer)[pos]},
        "split": {i: part[layer, :, pos].reshape(-1) for i, part in enumerate((trace.q, trace.k, trace.v))},
        "merge": {0: trace.z[layer, :, pos].reshape(-1)},
        "attn_out": {0: trace.z[layer, :, pos].reshape(-1)},
        "resid_mid": {1: trace.attn_out(layer)[pos], 2: trace.resid_mid[layer, pos]},
        "ln_2": {4: trace.ln_2(layer)[pos]},
        "mlp_pre": {0: trace.ln_2(layer)[pos]},
        "mlp_post": {0: trace.mlp_pre(layer)[pos], 1: trace.mlp_post(layer)[pos]},
        "mlp_out": {0: trace.mlp_post(layer)[pos]},
        "resid_post": {1: trace.mlp_out(layer)[pos], 2: trace.resid_post[layer, pos]},
    }
    results = {"attn_out": trace.attn_out(layer), "mlp_pre": trace.mlp_pre(layer), "mlp_out": trace.mlp_out(layer)}
    for step in STEPS:
        choose(app, step)
        for panel, expected in strips.get(step, {}).items():
            np.testing.assert_allclose(drawn(app, "block_strips", panel), expected, atol=1e-4, err_msg=step)
        if step in results:
            np.testing.assert_allclose(drawn(app, "block_result", 2), results[step][pos], atol=1e-4)
    choose(app, "qkv")
    for panel, part in enumerate((trace.q, trace.k, trace.v)):
        np.testing.assert_allclose(drawn(app, "block_result", 6 + panel), part[layer, :, pos].reshape(-1), atol=1e-4)
    choose(app, "split")
    np.testing.assert_allclose(drawn(app, "block_own", 1), trace.k[layer, head, pos], atol=1e-5)
    np.testing.assert_allclose(panel_values(charts(app)["block_heads"], 2), trace.v[layer, :, pos], atol=1e-5)
    choose(app, "score")
    np.testing.assert_allclose(drawn(app, "block_keys", 0), trace.q[layer, head, pos], atol=1e-5)
    keys = panel_values(charts(app)["block_keys"], 1)
    np.testing.assert_allclose(keys, trace.k[layer, head, : pos + 1], atol=1e-5)
    choose(app, "sum")
    table = [panel_values(charts(app)["block_sum"], panel) for panel in range(4)]
    np.testing.assert_allclose(table[0], trace.v[layer, head, : pos + 1], atol=1e-5)
    np.testing.assert_allclose(table[1], trace.weighted_values(layer, head, pos), atol=1e-5)
    np.testing.assert_allclose(table[2][0], trace.z[layer, head, pos], atol=1e-5)
    np.testing.assert_allclose(table[3][0], table[1].sum(axis=0), atol=1e-5)


def test_the_list_names_every_step_with_its_check(open_app: OpenApp) -> None:
    app = open_app("block", text=TEXT, layer="2", query="3")
    steps = app.radio(key="block_step")
    assert len(steps.options) == len(STEPS)
    captions = list(steps.proto.captions)
    assert all(caption.startswith("✓") for caption in captions)
    assert captions[STEPS.index("split")] == captions[STEPS.index("merge")] == "✓ exact"
    told = captions[STEPS.index("qkv")].removeprefix("✓ ")
    # The app's network may be packed and add in another order: not the same rounding, but as small.
    assert 0 < float(told.replace("−", "-")) < max(1e-5, 10 * block_steps(trace_of(), 2, 2).checks["qkv"].difference)
    choose(app, "qkv")
    assert any(f"largest difference **{told}**" in text.value for text in app.markdown)


def test_what_the_article_leaves_out_is_marked(open_app: OpenApp) -> None:
    app = open_app("block", text=TEXT)
    for step in STEPS:
        choose(app, step)
        heading = app.subheader[0].value
        assert ("not drawn in the article" in heading) == (not WORDS[step].drawn)


def test_the_buttons_walk_through_all_steps(open_app: OpenApp) -> None:
    app = open_app("block", text=TEXT)
    assert app.button(key="block_go_-1").disabled
    seen = [app.radio(key="block_step").value]
    while not app.button(key="block_go_1").disabled:
        app.button(key="block_go_1").click().run()
        seen.append(app.radio(key="block_step").value)
    assert tuple(seen) == STEPS
    app.button(key="block_go_-1").click().run()
    assert app.radio(key="block_step").value == "mlp_out"


@pytest.mark.parametrize("zoom", ["blocks", "heads"])
def test_zoomed_out_every_step_still_draws(open_app: OpenApp, zoom: str) -> None:
    app = open_app("block", text=TEXT, layer="1")
    choose(app, "mlp_pre").segmented_control(key="block_zoom").set_value(zoom).run()
    config = load_model(EMBEDDED).config
    per_cell = config.d_model / 3 if zoom == "blocks" else config.d_head
    assert len(drawn(app, "block_strips", 0)) == round(config.d_model / per_cell)
    assert len(drawn(app, "block_result", 2)) == round(config.d_mlp / per_cell)
    for step in STEPS:
        choose(app, step)


def test_the_numbers_are_a_table_on_demand(open_app: OpenApp) -> None:
    app = open_app("block", text=TEXT, layer="1", head="2", query="6")
    assert not app.dataframe
    app.toggle(key="block_numbers").set_value(True).run()
    trace = trace_of()
    for step in STEPS:
        choose(app, step)
        assert app.dataframe[0].value.shape[1] >= 1
    np.testing.assert_allclose(app.dataframe[0].value["= resid_post"], trace.resid_post[1, 5], rtol=1e-5, atol=1e-5)
    table = choose(app, "sum").dataframe[0].value
    np.testing.assert_allclose(table["z"], trace.z[1, 2, 5], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        table[next(name for name in table if name.startswith("v 6 ·robot: weight "))],
        trace.v[1, 2, 5],
        rtol=1e-5,
        atol=1e-5,
    )
    assert list(choose(app, "qkv").dataframe[0].value.columns) == [
        "x = ln_1",
        *(f"x · W, {part}" for part in "qkv"),
        *(f"+ bias, {part}" for part in "qkv"),
        *(f"= {part}" for part in "qkv"),
    ]
    shown = app.dataframe[0].proto
    assert (shown.HasField("placeholder"), shown.placeholder) == (True, "")  # below the end of a shorter vector


def test_step_and_zoom_survive_a_change_of_page(open_app: OpenApp) -> None:
    app = open_app("block", text=TEXT)
    choose(app, "mlp_pre").segmented_control(key="block_zoom").set_value("blocks").run()
    choose(app, "sum")  # has no zoom
    go_to(app, "compare")
    go_to(app, "block")
    assert app.radio(key="block_step").value == "sum"
    assert choose(app, "qkv").segmented_control(key="block_zoom").value == "blocks"


@pytest.mark.parametrize("text", ["a", "<b> $x$ **y** | `z` :red[w] # \n", "مرحبا 👩\u200d👩\u200d👧", "a a a " * 40])
@pytest.mark.parametrize("model", [EMBEDDED, "tiny"])
def test_any_text_and_another_model(open_app: OpenApp, text: str, model: str) -> None:
    app = open_app("block", text=text, model=model, layer="1", head="2", query="999", start="1")
    app.toggle(key="block_numbers").set_value(True).run()
    for step in ("input", "qkv", "split", "score", "sum", "merge", "mlp_post", "mlp_out"):
        choose(app, step)


def test_of_a_long_text_the_largest_weights_have_a_row(open_app: OpenApp) -> None:
    text = "a robot must obey " * 10
    app = choose(open_app("block", text=text, layer="1", head="1", query="40"), "sum")
    assert any("Of 40 tokens the 24 with the largest weights" in caption.value for caption in app.caption)
    pattern = trace_of(text).pattern(1, 1)[39, :40]
    table = charts(app)["block_sum"]
    values, weighted = panel_values(table, 0), panel_values(table, 1)
    assert values.shape[0] == weighted.shape[0] == 25
    rows = np.sort(np.argsort(-pattern, kind="stable")[:24])
    np.testing.assert_allclose(values[:24], trace_of(text).v[1, 1, rows], atol=1e-5)
    np.testing.assert_allclose(weighted.sum(axis=0), trace_of(text).z[1, 1, 39], atol=1e-5)


def test_an_empty_text_asks_for_one(open_app: OpenApp) -> None:
    app = open_app("block", text="")
    assert not app.exception
    assert len(app.error) == 1
    assert not charts(app)
