"""Two sentences: one head on a text and on a changed one; what is aligned, what is not, and what comes next."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, load_model
from model.logits.probability import probabilities
from model.trace.trace import run_trace
from tests.viz.decode import array, charts, panel_values
from tests.viz.navigation import go_to
from viz.state import session
from viz.state.examples import EXAMPLES, PAIRS
from viz.state.focus import Focus

OpenApp = Callable[..., AppTest]
FIRST, SECOND = "a robot must obey a robot", "a man must obey a robot"
HERE = {"text": FIRST, "second": SECOND, "layer": "1", "head": "2", "query": "4"}


def fine(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    assert not app.error
    return app


def strips(app: AppTest) -> list[dict[str, Any]]:
    """What both strips were given, in the order in which they stand on the page."""
    found = [element.proto for element in app.get("bidi_component")]
    return [json.loads(proto.mixed.json) for proto in found if proto.component_name == "headlight_token_strip"]


def said(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.info, *app.warning]).replace("\\", "")


def test_the_aligned_part_and_what_comes_next(open_app: OpenApp) -> None:
    app = fine(open_app("two_sentences", **HERE))
    model = load_model(EMBEDDED)
    first, second = (run_trace(model.network, model.tokenizer.encode(text)) for text in (FIRST, SECOND))
    places = np.array([0, 2, 3, 4, 5])
    a, b = (trace.pattern(1, 2)[np.ix_(places, places)] for trace in (first, second))
    drawn = charts(app)["aligned"]
    for panel, expected in enumerate((a, b, b - a)):
        hidden = np.triu(np.ones((5, 5), bool), 1)
        np.testing.assert_allclose(panel_values(drawn, panel), np.where(hidden, np.nan, expected), atol=1e-6)
    assert drawn["layout"]["yaxis"]["ticktext"][1] == "3 ·must"
    assert "5 of 6 and 6 tokens have a partner" in said(app)
    assert "2 “·robot” in the first text, 2 “·man” in the second." in said(app)
    assert [data["command"]["query"] for data in strips(app)] == [3, 3]
    bars = {bar["meta"]["kind"]: array(bar["x"]) for bar in charts(app)["sentences_next"]["data"]}
    for kind, trace in (("before", first), ("after", second)):
        drawn_shares, own = bars[kind][:-1], probabilities(trace.logits(3))
        assert np.abs(own[:, None] - drawn_shares).min(axis=0).max() < 1e-6


def test_without_a_second_text_the_first_stands_beside_itself(open_app: OpenApp) -> None:
    app = fine(open_app("two_sentences", text=FIRST, layer="1", head="2"))
    assert "Both texts are the same" in said(app)
    assert "second" not in app.query_params
    assert strips(app)[0]["labels"] == strips(app)[1]["labels"]


@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_each_example_pair_can_be_shown(open_app: OpenApp, number: int) -> None:
    app = open_app("two_sentences", layer="1", head="2")
    app.button(key=f"pair_{number}").click().run()
    assert (fine(app).query_params["text"], app.query_params["second"]) == (PAIRS[number].first, PAIRS[number].second)
    assert "have a partner" in said(app)


def test_one_shared_token_leaves_nothing_to_compare(open_app: OpenApp) -> None:
    app = open_app("two_sentences", text="a", layer="0", head="1", second="a")
    assert not app.exception
    assert any(text.value.startswith("The one token that both texts share is the first") for text in app.markdown)


def test_a_left_out_word_and_a_copy_again(open_app: OpenApp) -> None:
    app = fine(open_app("two_sentences", **HERE | {"second": "a must obey a robot", "query": "6"}))
    assert "2 “·robot” in the first text only." in said(app)
    assert [data["command"]["query"] for data in strips(app)] == [5, 4]
    app.button(key="copy_first").click().run()
    assert fine(app).query_params["second"] == FIRST


def labels_of(text: str) -> list[str]:
    tokenizer = load_model(EMBEDDED).tokenizer
    return [token.label for token in tokenizer.tokens(tokenizer.encode(text))]


def second_of(app: AppTest) -> str | None:
    return fine(app).query_params.get("second")


def test_the_first_example_and_each_text_of_a_pair_open_beside_their_partner(open_app: OpenApp) -> None:
    pair = next(pair for pair in PAIRS if pair.first == EXAMPLES[0].text)
    app = open_app("two_sentences")
    assert second_of(app) == pair.second  # so the link says what is shown
    assert strips(app)[1]["labels"] == labels_of(pair.second)
    app.button(key="copy_first").click().run()
    assert second_of(app) == pair.first  # asked for, so it stays
    go_to(app, "change")
    assert second_of(go_to(app, "two_sentences")) == pair.first
    assert second_of(open_app("two_sentences", text=pair.second)) == pair.first
    assert second_of(open_app("two_sentences", text=pair.first, second=FIRST)) == FIRST


class State(dict[str, Any]):
    """A session's state, outside of a run."""

    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("page", "suggested", "kept"),
    [
        ("attention", "its partner", False),
        ("two_sentences", "its partner", True),  # not under the hands of who looks at it
        ("attention", None, True),  # somebody's choice
    ],
)
def test_a_partner_that_nobody_asked_for_goes_with_its_text(
    monkeypatch: pytest.MonkeyPatch, page: str, suggested: str | None, kept: bool
) -> None:
    focus = Focus(EMBEDDED, SECOND, second="its partner")
    state = State(focus=focus, second_suggested=suggested)
    monkeypatch.setattr(session.st, "session_state", state)
    session.type_text(FIRST, second_on_show=page == "two_sentences")
    assert state["focus"].second == ("its partner" if kept else None)
    session.type_text(SECOND, second_on_show=False)
    assert state["focus"].second == ("its partner" if kept else None)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ("", "The second text has no token"),
        ("xyz", "share no token"),
        ("a robot " * 40, "the first 32 are shown"),
        ("<b>a</b> **robot** $x$ \ud800", "have a partner"),
    ],
)
def test_second_texts_that_are_hard_to_lay_beside_the_first(open_app: OpenApp, second: str, told: str) -> None:
    app = open_app("two_sentences", text="a robot", model="tiny", layer="1", head="2")
    app.session_state["focus"] = app.session_state["focus"].with_second(second)
    app.run()
    assert told in said(fine(app))
