"""Models with nothing to choose, and with nothing to prefer: every page shows them, and says what is so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

from tests.models import make_config, random_network, weights_of, write_checkpoint
from viz.registry import PAGES

OpenApp = Callable[..., AppTest]
TEXT = "the robot"


@pytest.fixture
def models(tmp_path: Path) -> None:
    """`single`: one layer of one head. `flat`: every token has the same logit after every text."""
    write_checkpoint(tmp_path / "single", random_network(make_config(n_layers=1, n_heads=1)))
    network = random_network()
    flat = weights_of(network) | {"wte.weight": torch.zeros_like(network.state_dict()["wte.weight"])}
    write_checkpoint(tmp_path / "flat", network, weights=flat)


def said(app: AppTest) -> str:
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]
    return "\n".join(element.value for element in [*app.markdown, *app.caption]).replace("\\", "")


@pytest.mark.usefixtures("models")
def test_one_layer_of_one_head_is_shown_on_every_page_without_a_word_nobody_asked_for(open_app: OpenApp) -> None:
    for page in PAGES:
        app = open_app(page, model="single", text=TEXT)
        said(app)
        assert not app.warning, (page, [warning.value for warning in app.warning])
        assert not {"Layer", "Head"} & {control.label for control in app.segmented_control}, page


@pytest.mark.usefixtures("models")
def test_where_all_logits_are_equal_no_token_is_called_the_likeliest_without_saying_so(open_app: OpenApp) -> None:
    n = make_config().d_vocab
    told = {page: said(open_app(page, model="flat", text=TEXT)) for page in ("generation", "lens", "change")}
    assert (
        f"**Greedy**: {n} tokens have the largest logit; of these the one with the lowest id is taken"
        in told["generation"]
    )
    assert f"{n} tokens share the largest logit; of these" in told["lens"]
    assert "is on top" not in told["lens"]
    assert f"{n} tokens share the largest logit; the one with the lowest id is named." in told["change"]
    two = said(open_app("two_sentences", model="flat", text=TEXT, second="the bot"))
    assert f"{n} tokens share the largest logit" in two
    # Where one token leads nothing is said of it.
    for page in ("generation", "lens", "change"):
        assert "lowest id" not in said(open_app(page, model="tiny", text=TEXT))
