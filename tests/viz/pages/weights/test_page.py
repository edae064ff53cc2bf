"""The Weights page shows the loaded tensors, for every layer, head and statistic, and counts them all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, load_model
from model.network.gpt2 import GPT2
from model.network.parameters import parameter_table, reduced_block, reduced_embeddings
from tests.models import make_config, random_network, write_checkpoint
from tests.viz.decode import charts, panel_values, strip_data, tile
from tests.viz.navigation import go_to
from viz.pages.weights.page import STATISTICS

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey"


def cells(spec: dict[str, Any], panel: int) -> np.ndarray:
    """The values that a matrix' hovers tell, row by row."""
    return panel_values(spec, panel)


def assert_weights(app: AppTest, network: GPT2, layer: int, statistic: str) -> None:
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]
    drawn = charts(app)
    assert set(drawn) == {"stack", "block_weights", "embedding_weights"}
    for panel, reduced in enumerate(reduced_block(network, layer, statistic)):
        np.testing.assert_array_equal(cells(drawn["block_weights"], panel), reduced.values)
    for panel, reduced in enumerate(reduced_embeddings(network, statistic).values()):
        np.testing.assert_array_equal(cells(drawn["embedding_weights"], panel), reduced.values)


def control(app: AppTest, label: str) -> Any:
    return next(found for found in app.segmented_control if found.label == label)


def statistic_control(app: AppTest) -> Any:
    return next(found for found in app.segmented_control if found.key == "weights_statistic")


def words(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.caption])


def test_every_layer_and_statistic_of_the_embedded_model(open_app: OpenApp) -> None:
    app = open_app("weights", text=TEXT, layer="0", head="1")
    network = load_model(EMBEDDED).network
    for layer in range(network.config.n_layers):
        control(app, "Layer").set_value(layer).run()
        assert_weights(app, network, layer, "farthest")
    for statistic in STATISTICS:
        statistic_control(app).set_value(statistic).run()
        assert_weights(app, network, network.config.n_layers - 1, statistic)


def test_the_chosen_token_is_told_with_its_rows(open_app: OpenApp) -> None:
    app = open_app("weights", text=TEXT, layer="1", head="2", query="3")
    token = load_model(EMBEDDED).tokenizer.tokens(load_model(EMBEDDED).tokenizer.encode(TEXT))[2]
    assert f"row {token.id:,} of `wte`" in words(app)
    assert "the row of position 3 of `wpe`" in words(app)
    assert strip_data(app)["heads"] == ["L1H2"]


def test_every_head_is_outlined(open_app: OpenApp) -> None:
    app = open_app("weights", text=TEXT, model="tiny", layer="1")
    d_head = make_config().d_head
    for head in range(make_config().n_heads):
        control(app, "Head").set_value(head).run()
        assert_weights(app, random_network(make_config()), 1, "farthest")
        spec = charts(app)["block_weights"]
        _q, outline, *_others = (shape for shape in spec["layout"]["shapes"] if shape["layer"] == "above")
        assert outline["x0"] == tile(spec, 1).x0 - 0.5 + head * d_head
        assert f"L1H{head}" in words(app)


def test_the_table_counts_every_loaded_number(open_app: OpenApp) -> None:
    app = open_app("weights", text=TEXT)
    model = load_model(EMBEDDED)
    table = parameter_table(model.network)
    assert table.total == model.n_parameters
    assert f"**{model.n_parameters:,}**" in words(app)
    assert f"hold {model.n_parameters:,} numbers, 0 off the table's sum" in words(app)
    for row in table.rows:
        assert f"`{row.name}`" in words(app)


def test_the_articles_sum_stands_beside_the_right_one(open_app: OpenApp) -> None:
    shown = words(open_app("weights", text=TEXT))
    assert "| **Sum of all** | **124,410,624** | **124,439,808** | **29,184** |" in shown
    assert "has another shape" in shown


def test_the_chosen_statistic_outlives_a_change_of_page_and_model(open_app: OpenApp) -> None:
    app = open_app("weights", text=TEXT, layer="0")
    statistic_control(app).set_value("mean").run()
    go_to(app, "attention")
    go_to(app, "weights")
    app.selectbox(key="model_box").set_value("tiny").run()
    assert_weights(app, random_network(make_config()), 0, "mean")
    assert "2 layers" not in words(app)
    assert app.query_params["text"] == TEXT


@pytest.mark.parametrize(
    "changes",
    [{"n_heads": 1, "d_model": 94, "d_mlp": 94}, {"n_heads": 13, "d_model": 143, "n_layers": 1}, {"tied": False}],
)
def test_a_model_of_any_shape(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: dict[str, Any]
) -> None:
    network = random_network(make_config(**changes))
    write_checkpoint(tmp_path / "models" / "odd", network)
    monkeypatch.setenv("HEADLIGHT_MODELS", str(tmp_path / "models"))
    app = open_app("weights", text=TEXT, model="odd")
    last = network.config.n_layers - 1
    if last:
        control(app, "Layer").set_value(last).run()
    assert_weights(app, network, last, "farthest")


def test_no_text_is_told_and_nothing_else_is_drawn(open_app: OpenApp) -> None:
    app = open_app("weights", text="")
    assert not app.exception
    assert [error.value for error in app.error]
    assert not charts(app)
