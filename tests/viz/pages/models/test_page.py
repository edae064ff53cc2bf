"""The Models page: a checkpoint of the user's own, from a folder on this computer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, EMBEDDED_FOLDER
from tests.models import make_config, random_network, write_checkpoint

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
