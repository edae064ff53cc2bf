"""The view that a link opens: what is damaged or does not fit is told, what nobody asked for is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from model.changes.interventions import Link
from tests.models import make_config, random_network, write_checkpoint
from viz.state import link, settings

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"


def told(app: AppTest) -> list[str]:
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]
    return [warning.value.replace("\\", "") for warning in app.warning]


def test_a_model_with_one_layer_and_one_head_corrects_nothing_that_the_link_did_not_ask_for(
    open_app: OpenApp, tmp_path: Path
) -> None:
    write_checkpoint(tmp_path / "one", random_network(make_config(n_layers=1, n_heads=1)))
    assert told(open_app(model="one")) == ["The text has 95 tokens; one reads 32. The first 32 are shown."]
    assert told(open_app(model="one", text=TEXT)) == []
    assert told(open_app(model="one", text=TEXT, layer="0", compare="L5H0")) == [
        "There is no second head L5H0 in this model; L0H0 is shown."
    ]


def test_every_damaged_parameter_is_told(open_app: OpenApp) -> None:
    app = open_app(
        text=TEXT, model="tiny", layer="x", query="x", compare="x", start="yes", words="yes", hide="yes", written="x_",
        off="x", cut="x", renorm="x", matrices="x",
    )  # fmt: skip
    words = told(app)
    for name in ("layer", "query", "heads to compare", "start", "words", "hide", "written", "renorm", "matrices"):
        assert sum(notice.startswith(f"The link's {name} ") for notice in words) == 1, (name, words)
    for name in ("switched-off heads", "cut links"):
        assert sum(notice.startswith(f"Left out of the link's {name}:") for notice in words) == 1, (name, words)
    assert len(words) == 11
    assert not told(app.run())  # once


def test_cut_links_stay_with_their_words_but_not_with_those_of_a_link_that_back_leads_to(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = {"text": TEXT, "model": "tiny", "layer": "1", "head": "2", "query": "3", "cut": "L1H2:5>2"}
    app = open_app(**here)
    app.toggle(key="start_box").set_value(True).run()
    assert app.session_state["changes"].cuts == (Link(1, 2, 5, 2),)
    with monkeypatch.context() as patch:
        for module in (link, settings):
            patch.setattr(module, "was_led", lambda: True)
        app.query_params.clear()
        for name, value in here.items():
            app.query_params[name] = value
        app.run()
    assert told(app) == []
    assert not app.session_state["focus"].start_token
    assert app.session_state["changes"].cuts == (Link(1, 2, 4, 1),)
