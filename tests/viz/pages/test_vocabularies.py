"""Models with tokenizers of their own: start tokens by their names, special tokens in the text, and what is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import load_model
from model.logits.generation import written
from model.trace.trace import run_trace
from tests.models import make_config, random_network, write_checkpoint
from tests.viz.decode import strip_data
from tests.viz.navigation import go_to
from tests.vocabularies import byte_level, like_llama2, like_llama3, write_tokenizer

OpenApp = Callable[..., AppTest]
TEXT = "the robot"


@pytest.fixture
def models(tmp_path: Path) -> None:
    """`newer` has Llama 3's kind of tokenizer, `older` Llama 2's, `padded` GPT-2's number of rows and no tokenizer."""
    for name, tokenizer in (("newer", like_llama3()), ("older", like_llama2()), ("plain", byte_level())):
        folder = write_checkpoint(
            tmp_path / name, random_network(make_config(d_vocab=tokenizer.get_vocab_size())), vocabulary=False
        )
        write_tokenizer(folder, tokenizer)
    write_checkpoint(tmp_path / "padded", random_network(make_config(d_vocab=50_304, n_layers=1)), vocabulary=False)


pytestmark = pytest.mark.usefixtures("models")


def fine(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]
    return app


def labels(app: AppTest) -> list[str]:
    return strip_data(fine(app))["labels"]


@pytest.mark.parametrize(("name", "start"), [("newer", "<|begin_of_text|>"), ("older", "<s>")])
def test_a_model_trained_with_a_start_token_has_it_in_front_until_it_is_switched_off(
    open_app: OpenApp, name: str, start: str
) -> None:
    app = open_app(model=name, text=TEXT)
    assert labels(app)[0] == start
    assert app.toggle(key="start_box").label.replace("\\", "") == start
    assert "start" not in app.query_params
    app.toggle(key="start_box").set_value(False).run()
    assert labels(app)[0] != start
    assert app.query_params["start"] == "0"
    assert labels(open_app(model=name, text=TEXT, start="0"))[0] != start


def test_each_model_decides_for_itself_where_nobody_has(open_app: OpenApp) -> None:
    app = open_app(model="plain", text=TEXT)
    assert labels(app)[0] == "the"
    app.selectbox(key="model_box").set_value("newer").run()
    assert labels(app)[0] == "<|begin_of_text|>"
    app.selectbox(key="model_box").set_value("plain").run()
    assert labels(app)[0] == "the"
    app.button(key="example_0").click().run()  # an example without a start token leaves it to the model
    app.selectbox(key="model_box").set_value("newer").run()
    assert labels(app)[0] == "<|begin_of_text|>"


def test_special_tokens_in_the_text_are_read_on_a_switch(open_app: OpenApp) -> None:
    assert not any(toggle.key == "special_box" for toggle in fine(open_app(model="newer", text=TEXT)).toggle)
    app = open_app(model="newer", text="the<|eot_id|>", start="0")
    assert len(labels(app)) > 2
    app.toggle(key="special_box").set_value(True).run()
    assert labels(app) == ["the", "<|eot_id|>"]
    assert app.query_params["special"] == "1"
    assert labels(open_app(model="newer", text="the<|eot_id|>", start="0", special="1")) == ["the", "<|eot_id|>"]
    fine(go_to(app, "two_sentences"))  # its second strip reads the text in the same way
    strips = [element.proto for element in app.get("bidi_component") if "token_strip" in element.proto.component_name]
    assert [json.loads(proto.mixed.json)["labels"] for proto in strips] == 2 * [["the", "<|eot_id|>"]]


def test_writing_ends_where_the_model_ends_its_text(open_app: OpenApp, tmp_path: Path) -> None:
    folder = tmp_path / "newer"
    model = load_model(str(folder))
    ids = model.tokenizer.encode(TEXT, start_token=True)
    first = next(written(run_trace(model.network, ids), lambda logits, position: int(logits.argmax())))
    tokenizer = like_llama3()
    tokenizer.add_special_tokens([tokenizer.id_to_token(first)])
    write_tokenizer(folder, tokenizer, generation_config={"eos_token_id": [first]})
    app = open_app("generation", model="newer", text=TEXT)
    app.number_input(key="gen_n").set_value(5).run()
    app.button(key="gen_write_n").click().run()
    while any(button.key == "gen_stop" for button in fine(app).button):
        app.run()
    assert app.session_state["writing"].ids == (first,)
    assert any("ended the text here" in info.value for info in app.info)


def test_what_was_assumed_and_what_is_changed_stands_on_the_models_page(open_app: OpenApp) -> None:
    def told(model: str) -> str:
        shown = fine(open_app("models", model=model, text=TEXT)).info
        return " ".join(info.value for info in shown).replace("\\", "")

    assert "GPT-2's own is assumed" in told("padded")
    assert "puts a space in front of the text" in told("older")
    assert told("newer") == ""


@pytest.mark.parametrize(("name", "noted"), [("padded", True), ("older", True), ("newer", False)])
def test_a_sign_leads_from_the_sentence_to_what_there_is_to_know(open_app: OpenApp, name: str, noted: bool) -> None:
    app = fine(open_app(model=name, text=TEXT))
    found = [element for element in app.get("page_link") if element.proto.label == f"How {name} was read"]
    assert bool(found) == noted
