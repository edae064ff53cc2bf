"""The page Logit lens: every row is the model's own reading, the last one its output; the parts add up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, load_model
from model.logits.direct import direct_logits
from model.logits.probability import entropy_bits, probabilities
from model.trace.trace import Trace, run_trace
from tests.viz.decode import array, charts, panel_values
from tests.viz.navigation import go_to

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"
HERE = {"text": TEXT, "layer": "1", "head": "2", "query": "4"}


def traced(text: str = TEXT) -> Trace:
    model = load_model(EMBEDDED)
    return run_trace(model.network, model.tokenizer.encode(text))


def said(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.caption]).replace("\\", "")


def fine(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]
    return app


def column(app: AppTest, name: str) -> list[str]:
    found = [trace["text"] for trace in charts(app)["lens"]["data"] if (trace.get("meta") or {}).get("column") == name]
    return found[0]


def test_the_table_reads_the_stream_after_every_layer(open_app: OpenApp) -> None:
    app = fine(open_app("lens", **HERE))
    trace = traced()
    logits = trace.lens(3)
    shares = np.stack([probabilities(row) for row in logits])
    drawn = next(part for part in charts(app)["lens"]["data"] if (part.get("meta") or {}).get("cells"))
    np.testing.assert_allclose(array(drawn["z"]), np.sort(shares)[:, ::-1][:, :5], rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(array(drawn["z"])[-1], np.sort(probabilities(trace.logits(3)))[::-1][:5], rtol=1e-4)
    final = int(trace.logits(3).argmax())
    label = load_model(EMBEDDED).tokenizer.token(final).label
    assert f"The model’s guess, “**{label}**”" in said(app)
    assert column(app, "its rank") == [f"{rank:,}" for rank in (logits > logits[:, [final]]).sum(axis=1) + 1]
    assert column(app, "its rank")[-1] == "1"
    assert column(app, "entropy, bits") == [f"{bits:.2f}" for bits in entropy_bits(logits)]


def test_the_parts_are_the_models_and_add_up(open_app: OpenApp) -> None:
    app = fine(open_app("lens", **HERE))
    trace = traced()
    parts = direct_logits(trace, 3, [int(trace.logits(3).argmax())])
    np.testing.assert_allclose(panel_values(charts(app)["lens_heads"], 0), parts.heads[..., 0], rtol=1e-5, atol=1e-6)
    wide, biases = charts(app)["lens_others"]["data"]
    expected = [parts.embed[0], parts.pos_embed[0], *parts.mlps[:, 0], parts.unembed_bias[0]]
    np.testing.assert_allclose(array(wide["y"]), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(array(biases["y"]), parts.attn_bias[:, 0], rtol=1e-5, atol=1e-5)
    own = f"{trace.logits(3).max():.4f}".replace("-", "−")
    assert f"| **{own}** |" in said(app)
    assert "for the 40 tokens checked" in said(app)


def test_another_token_and_less_the_average(open_app: OpenApp) -> None:
    app = open_app("lens", **HERE)
    token = traced().ids[1]  # of the text, whether it is a likely guess or not
    app.selectbox(key="lens_token").set_value(token)
    app.segmented_control(key="lens_shown").set_value("average").run()
    fine(app)
    parts = direct_logits(traced(), 3, [token], less_average=True)
    np.testing.assert_allclose(panel_values(charts(app)["lens_heads"], 0), parts.heads[..., 0], rtol=1e-5, atol=1e-6)
    app.session_state["focus"] = app.session_state["focus"].with_query(1).with_head(layer=0, head=4)
    fine(app.run())
    assert app.selectbox(key="lens_token").value == token  # it stays, whatever is likely at another position
    go_to(app, "mask")
    go_to(app, "lens")
    assert app.selectbox(key="lens_token").value == token
    assert app.segmented_control(key="lens_shown").value == "average"
    app.selectbox(key="model_box").set_value("tiny").run()
    assert len(column(fine(app), "its rank")) == 3  # two layers


@pytest.mark.parametrize("text", ["a", "**x** `y` $z$ <b> مرحبا", "a " * 400])
def test_hard_texts_are_shown(open_app: OpenApp, text: str) -> None:
    app = open_app("lens", layer="3", head="1")
    app.session_state["focus"] = app.session_state["focus"].with_text(text)
    fine(app.run())
    assert set(charts(app)) == {"lens", "lens_heads", "lens_others"}
