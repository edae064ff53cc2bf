"""The All heads page shows every head, ranks them by the model's own weights, and tables their measures."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, LoadedModel, load_model
from model.heads.all_heads import MEASURES, measure_heads
from model.trace.trace import Trace, run_trace
from tests.viz.decode import charts, component, panel_values
from viz.components.head_grid import pack

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"


def loaded(text: str = TEXT) -> tuple[LoadedModel, Trace]:
    model = load_model(EMBEDDED)
    return model, run_trace(model.network, model.tokenizer.encode(text))


def patterns(trace: Trace) -> np.ndarray:
    config = trace.network.config
    return np.array([[trace.pattern(i, j) for j in range(config.n_heads)] for i in range(config.n_layers)])


def assert_fine(app: AppTest) -> None:
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]


def grid(app: AppTest) -> tuple[dict[str, Any], np.ndarray]:
    """What Python sent to the grid: its plain data, and the bytes of all thumbnails."""
    mixed = component(app, "headlight_head_grid").mixed
    (blob,) = mixed.arrow_blobs.values()
    return json.loads(mixed.json), pa.ipc.open_stream(io.BytesIO(blob.data)).read_all().column(0).to_numpy()


def marks(app: AppTest) -> dict[str, Any]:
    """All marks that Python sent, whichever message brought them."""
    sent: dict[str, Any] = {}
    for element in app.get("bidi_component"):
        if element.proto.component_name == "headlight_head_marks":
            data = json.loads(element.proto.json)
            assert data["revision"] == grid(app)[0]["revision"]
            sent |= data["marks"]
    return sent


def ranking(app: AppTest) -> list[tuple[str, float]]:
    table = app.dataframe[0].value
    return list(zip(table["head"], table["weight"], strict=True))


def best(weights: np.ndarray, n: int = 3) -> list[tuple[str, Any]]:
    order = np.argsort(-weights, axis=None, kind="stable")[:n]
    places = [divmod(int(i), weights.shape[1]) for i in order if weights.flat[i] >= 0.01]
    return [(f"L{layer}H{head}", pytest.approx(float(weights[layer, head]), abs=1e-4)) for layer, head in places]


def control(app: AppTest, label: str) -> Any:
    return next(found for found in app.segmented_control if found.label == label)


def test_every_pattern_is_sent_and_the_chosen_heads_are_marked(open_app: OpenApp) -> None:
    app = open_app("heads", text=TEXT, layer="1", head="2", compare="L0H1", query="5", off="L1H1:zero")
    assert_fine(app)
    model, trace = loaded()
    data, sent = grid(app)
    assert (data["layers"], data["heads"]) == (model.config.n_layers, model.config.n_heads)
    assert data["queries"] == list(range(6))
    assert "All 6 × 6 weights are drawn" in data["note"]
    np.testing.assert_array_equal(sent, pack(patterns(trace)).column(0).to_numpy())
    shown = marks(app)
    assert (shown["first"], shown["beside"], shown["off"], shown["query"]) == ([1, 2], [[0, 1]], [[1, 1]], 4)
    assert len(shown["words"]) == model.config.n_layers * model.config.n_heads


def test_a_long_text_says_how_it_is_drawn(open_app: OpenApp) -> None:
    app = open_app("heads", text="a robot must obey " * 40, layer="0", head="0")
    assert_fine(app)
    data, _ = grid(app)
    step = data["queries"][0] + 1
    assert step > 1
    assert f"every {step}th has a row, and a cell adds up its weights on {step} neighbouring keys" in data["note"]


def test_heads_are_ranked_from_a_token_to_a_token_and_both(open_app: OpenApp) -> None:
    app = open_app("heads", text=TEXT, layer="0", head="0", query="6")
    every = patterns(loaded()[1])
    app.selectbox(key="heads_key").set_value(1).run()
    assert_fine(app)
    assert ranking(app)[:3] == best(every[:, :, 5, 1])
    assert [f"L{layer}H{head}" for layer, head, _ in marks(app)["found"]] == [head for head, _ in ranking(app)]
    assert json.loads(app.dataframe[0].proto.columns)["weight"]["type_config"]["format"] == "%.3f"

    control(app, "Heads by their weight").set_value("to").run()
    app.selectbox(key="heads_key").set_value(3).run()
    assert_fine(app)
    assert ranking(app)[:3] == best(every[:, :, 3:, 3].mean(axis=-1))

    control(app, "Heads by their weight").set_value("from").run()
    assert ranking(app)[:3] == best(every[:, :, 5].max(axis=-1))
    app.toggle(key="heads_others").set_value(True).run()
    assert_fine(app)
    assert ranking(app)[:3] == best(every[:, :, 5, 1:5].max(axis=-1))


def test_a_first_token_that_is_left_out_is_told(open_app: OpenApp) -> None:
    app = open_app("heads", text=TEXT, layer="0", head="0", query="1")
    control(app, "Heads by their weight").set_value("from").run()
    app.toggle(key="heads_others").set_value(True).run()
    assert_fine(app)
    assert any("left out" in info.value for info in app.info)
    assert marks(app)["found"] == []


def test_measures_are_tabled_and_drawn(open_app: OpenApp) -> None:
    app = open_app("heads", text=TEXT, layer="0", head="0")
    _, trace = loaded()
    table = app.dataframe[1].value
    assert list(table.columns) == ["head", "roles", *(entry.name for entry in MEASURES)]
    measured = measure_heads(trace)
    for name, expected in measured.items():
        np.testing.assert_allclose(table[name], expected.ravel(), atol=1e-5)
    for name in ("entropy", "induction"):
        expected = measured[name]
        app.selectbox(key="heads_measure").set_value(name).run()
        assert_fine(app)
        np.testing.assert_allclose(panel_values(charts(app)["measure_map"], 0), expected, atol=1e-5)


def test_all_heads_as_a_chart_to_save(open_app: OpenApp) -> None:
    app = open_app("heads", text=TEXT, layer="0", head="0")
    assert "sheet" not in charts(app)
    app.toggle(key="heads_sheet").set_value(True).run()
    assert_fine(app)
    model, _ = loaded()
    names = next(trace for trace in charts(app)["sheet"]["data"] if trace["meta"].get("names"))["text"]
    assert len(names) == model.config.n_layers * model.config.n_heads
    assert len(charts(app)) <= 3


@pytest.mark.parametrize("text", ["a", "مرحبا بالعالم", "<b>$x$</b> **z**"])
def test_any_text_and_model(open_app: OpenApp, text: str) -> None:
    app = open_app("heads", text=text, model="tiny", layer="1", head="2", compare="L0mean")
    assert_fine(app)
    assert marks(app)["beside"] == []
    assert len(grid(app)[1]) == 6 * len(grid(app)[0]["queries"]) * (len(grid(app)[0]["queries"]) + 1) // 2


def test_no_text_is_told_and_nothing_else_is_drawn(open_app: OpenApp) -> None:
    app = open_app("heads", text="", layer="0", head="0")
    assert not app.exception
    assert [error.value for error in app.error]
    assert not charts(app)
    drawn = [element.proto.component_name for element in app.get("bidi_component")]
    assert sorted(drawn) == [
        "headlight_address",
        "headlight_plot",
        "headlight_sentence_box",
        "headlight_theme_change",
    ]  # of these the box alone shows anything


def test_one_token_has_dashes_and_no_undefined_numbers(open_app: OpenApp) -> None:
    app = open_app("heads", text="a", model="tiny", layer="0", head="1")
    assert not app.exception
    assert "nan" not in json.dumps(marks(app)["words"]).lower()
    assert app.dataframe[1].proto.placeholder == "–"
    assert app.dataframe[1].value["previous_token"].isna().all()
