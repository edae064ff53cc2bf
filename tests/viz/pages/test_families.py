"""Every page draws a model of another family: its numbers, what it has more, and nothing that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import load_folder
from model.network.parameters import GPT2_SMALL
from model.steps.block import steps_of
from model.trace.trace import Trace, run_trace
from tests.models import LLAMAS, make_config, make_llama, random_llama, write_checkpoint
from tests.viz.decode import charts, panel_values
from tests.viz.navigation import go_to
from viz.pages.weights.from_gpt2 import differences
from viz.registry import PAGES

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey"
LAYER, HEAD, POS = 1, 4, 9


@pytest.fixture
def open_llama(open_app: OpenApp, tmp_path: Path) -> Callable[..., tuple[AppTest, Trace]]:
    """The app with a model of this kind, and the trace of its text."""

    def opened(kind: str, page: str | None = None) -> tuple[AppTest, Trace]:
        network = random_llama(**LLAMAS[kind])
        write_checkpoint(tmp_path / "other", network)
        place = {"layer": str(LAYER), "head": str(HEAD), "query": str(POS + 1)}
        app = open_app(page, model="other", text=TEXT, **place)
        return app, run_trace(network, load_folder(tmp_path / "other").tokenizer.encode(TEXT))

    return opened


def sound(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]
    return app


def words(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.caption])


@pytest.mark.parametrize("kind", ["llama", "qwen3", "biases"])
def test_every_page_draws_it(open_llama: Callable[..., tuple[AppTest, Trace]], kind: str) -> None:
    app, _trace = open_llama(kind)
    for page in PAGES:
        sound(go_to(app, page) if page != "attention" else app)


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
def test_every_step_of_a_block_is_drawn(open_llama: Callable[..., tuple[AppTest, Trace]], kind: str) -> None:
    app, trace = open_llama(kind, "block")
    steps = steps_of(trace.network)
    assert len(app.radio(key="block_step").options) == len(steps)
    shown = {}
    for step in steps:
        app.radio(key="block_step").set_value(step).run()
        sound(app)
        shown[step] = charts(app)
        assert any(text.value.startswith("✓ **Recomputed") for text in app.markdown), step
    kv = trace.network.config.kv_of(HEAD)

    def drawn(step: str, chart: str, panel: int) -> np.ndarray:
        return panel_values(shown[step][chart], panel).reshape(-1)

    expected = {
        ("input", "block_strips", 2): trace.resid_pre[LAYER, POS],
        ("rotation", "block_strips", 0): trace.q[LAYER, HEAD, POS],
        ("rotation", "block_strips", 1): trace.rot_q[LAYER, HEAD, POS],
        ("rotation", "block_strips", 2): trace.k[LAYER, kv, POS],
        ("rotation", "block_strips", 3): trace.rot_k[LAYER, kv, POS],
        ("mlp_post", "block_strips", 0): trace.mlp_pre(LAYER)[POS],
        ("mlp_post", "block_strips", 1): trace.mlp_pre_linear(LAYER)[POS],
        ("mlp_post", "block_strips", 2): trace.mlp_post(LAYER)[POS],
        ("score", "block_keys", 1): trace.keys(LAYER, HEAD)[: POS + 1].reshape(-1),
        ("sum", "block_sum", 0): trace.values(LAYER, HEAD)[: POS + 1].reshape(-1),
        ("merge", "block_strips", 0): trace.z[LAYER, :, POS].reshape(-1),
    }
    for place, numbers in expected.items():
        np.testing.assert_allclose(drawn(*place)[: numbers.size], numbers, atol=1e-4, err_msg=str(place))
    assert ("qk_norm" in shown) == (kind == "qwen3")


def test_the_three_steps_meet_after_the_rotation(open_llama: Callable[..., tuple[AppTest, Trace]]) -> None:
    app, trace = open_llama("llama", "three_steps")
    sound(app)
    app.segmented_control(key="three_step").set_value("1").run()
    created = charts(app)["created"]
    parts = [
        trace.ln_1(LAYER)[POS],
        trace.q[LAYER, HEAD, POS],
        trace.queries(LAYER, HEAD)[POS],
        trace.k[LAYER, 1, POS],
        trace.keys(LAYER, HEAD)[POS],
        trace.values(LAYER, HEAD)[POS],
    ]
    for panel, numbers in enumerate(parts):
        np.testing.assert_allclose(panel_values(created, panel).reshape(-1)[: numbers.size], numbers, atol=1e-4)
    assert "serve heads 3 to 5 of this layer together" in words(app)
    assert "10 positions later" in words(app)
    assert "Biases" not in str(app.segmented_control(key="three_behind").options)


def test_what_the_cache_saves_is_told(open_llama: Callable[..., tuple[AppTest, Trace]]) -> None:
    app, trace = open_llama("llama", "generation")
    n = trace.network.config.cached_numbers * (POS + 1)
    assert f"{n:,} numbers, {4 * n:,} bytes" in words(app)
    assert f"3 times as much, {12 * n:,} bytes" in words(app)


def test_the_way_from_gpt2_leads_to_the_step(open_llama: Callable[..., tuple[AppTest, Trace]]) -> None:
    app, _trace = open_llama("llama", "weights")
    rows = differences(make_llama(), biases=False)
    turned = next(i for i, row in enumerate(rows) if ("block_step", "rotation") in row.choices)
    app.button(key=f"from_gpt2_{turned}").click().run()
    sound(app)
    assert app.session_state["block_step"] == "rotation"


def test_the_way_from_gpt2_is_computed_from_both_configurations() -> None:
    rows = {row.what: (row.gpt2, row.own) for row in differences(make_llama(), biases=False)}
    assert rows["Bytes of cache a token"] == (f"{4 * 2 * 12 * 768:,}", f"{4 * 2 * 2 * 2 * 8:,}")
    assert rows["Heads in a layer"] == ("12 of each", "6 query, 2 key and value")
    assert rows["Norm"] == ("LayerNorm", "RMSNorm")
    assert rows["Biases"][1] == "none"
    for row in differences(GPT2_SMALL, biases=True):
        assert row.gpt2 == row.own
    assert any(row.gpt2 != row.own for row in differences(make_config(), biases=True))
