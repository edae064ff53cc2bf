"""Compare heads: two to four heads and means, their matrices, differences and numbers are the model's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, load_model
from model.heads.comparison import js_divergence
from model.trace.trace import Trace, run_trace
from tests.viz.decode import array, charts, panel_range, panel_values, strip_data
from viz.state.focus import MEAN

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"


@pytest.fixture(scope="module")
def trace() -> Trace:
    model = load_model(EMBEDDED)
    return run_trace(model.network, model.tokenizer.encode(TEXT))


def fine(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    assert not app.error
    assert 0 < len(charts(app)) <= 3
    return app


def lower(pattern: np.ndarray) -> np.ndarray:
    return np.where(np.tri(len(pattern), dtype=bool), pattern, np.nan)


def test_the_difference_of_two_heads_and_how_far_each_row_is_apart(open_app: OpenApp, trace: Trace) -> None:
    app = fine(open_app("compare", text=TEXT, layer="0", head="1", compare="L2H3", query="4"))
    a, b = trace.pattern(0, 1), trace.pattern(2, 3)
    drawn = charts(app)["pair"]
    for panel, expected in enumerate((a, b, a - b)):
        np.testing.assert_allclose(panel_values(drawn, panel), lower(expected), atol=1e-6)
    low, high = panel_range(drawn, 2)
    assert -low == pytest.approx(high)
    distances = js_divergence(a, b)
    assert any(f"{distances[1:].mean():.3f} bits" in text.value for text in app.markdown)
    assert any(f"| {distances[3]:.3f} |" in text.value for text in app.markdown)
    bars = [bar for bar in charts(app)["pair_bars"]["data"] if bar["meta"]["kind"] == "weight"]
    for bar, pattern in zip(bars, (a, b), strict=True):
        np.testing.assert_allclose(array(bar["y"]), pattern[3, :4], atol=1e-6)


def test_what_each_head_hands_on(open_app: OpenApp, trace: Trace) -> None:
    app = fine(open_app("compare", text=TEXT, layer="0", head="1", compare="L2mean", query="4"))
    drawn = charts(app)["outputs"]
    results = [trace.result(2, head)[3] for head in range(trace.network.config.n_heads)]
    np.testing.assert_allclose(panel_values(drawn, 0)[0], trace.z[0, 1, 3], atol=1e-6)
    np.testing.assert_allclose(panel_values(drawn, 1)[0], trace.result(0, 1)[3], atol=1e-5)
    assert np.isnan(panel_values(drawn, 2)).all()  # a mean has no z
    np.testing.assert_allclose(panel_values(drawn, 3)[0], np.mean(results, axis=0), atol=1e-5)
    result, whole = trace.result(0, 1)[3], trace.attn_out(0)[3]
    cosine = result @ whole / np.linalg.norm(result) / np.linalg.norm(whole)
    (table,) = [text.value for text in app.markdown if "‖z‖" in text.value]
    assert f"{np.linalg.norm(result):.3g} | {cosine:+.2f} (L0)".replace("-", "−") in table


def test_four_heads_and_each_pair(open_app: OpenApp, trace: Trace) -> None:
    app = fine(open_app("compare", text=TEXT, layer="0", head="1", compare="L2H3,L1H0,L3mean", query="2"))
    n = trace.network.config.n_heads
    mean = np.mean([trace.pattern(3, head) for head in range(n)], axis=0)
    patterns = [trace.pattern(0, 1), trace.pattern(2, 3), trace.pattern(1, 0), mean]
    assert strip_data(app)["heads"] == ["L0H1", "L2H3", "L1H0", f"mean of L3's {n} heads"]
    assert strip_data(app)["hover"] is True
    for panel, expected in enumerate(patterns):
        np.testing.assert_allclose(panel_values(charts(app)["pair"], panel), lower(expected), atol=1e-6)
    shown = next(control for control in app.segmented_control if control.label == "Matrices of")
    assert len(shown.options) == 7
    shown.set_value("2-4").run()
    np.testing.assert_allclose(panel_values(charts(fine(app))["pair"], 2), lower(patterns[1] - mean), atol=1e-6)


def test_choosing_adding_and_removing_heads(open_app: OpenApp) -> None:
    app = fine(open_app("compare", text=TEXT, model="tiny", layer="0", head="0", compare="L0H2"))
    app.button(key="next_0").click().run()
    assert app.query_params["compare"] == "L1H0"  # after the last head of a layer the next layer's first
    app.button(key="beside_add").click().run()
    app.button(key="beside_mean").click().run()
    assert fine(app).query_params["compare"] == "L1H0,L1H1,L0mean"
    assert not [button for button in app.button if button.key == "beside_add"]
    app.button(key="next_2").click().run()
    app.selectbox(key="beside_0").set_value((0, MEAN)).run()
    assert fine(app).query_params["compare"] == "L0mean,L1H1,L1mean"
    app.button(key="remove_1").click().run()
    assert fine(app).query_params["compare"] == "L0mean,L1mean"
    assert strip_data(app)["heads"] == ["L0H0", "mean of L0's 3 heads", "mean of L1's 3 heads"]


def test_a_head_beside_itself_is_told(open_app: OpenApp) -> None:
    app = fine(open_app("compare", text="a", layer="0", head="1", compare="L0H1", query="1"))
    assert any("stands beside itself" in text.value for text in app.markdown)


def test_one_token_leaves_nothing_to_compare(open_app: OpenApp) -> None:
    app = fine(open_app("compare", text="a", layer="0", head="1", compare="L2H3"))
    told = " ".join(text.value for text in app.markdown)
    assert "**L0H1** and **L2H3** can read only the one token that there is: nothing to compare." in told
    assert "bits** apart" not in told
    assert "| 0.000 | – |" in told
