"""The token strip's Python half: what travels to the browser, and whose choice holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from tests.javascript.strip import Stage, stage
from viz.components import token_strip as module
from viz.components.token_strip import StripHead, clamp


def random_pattern(tokens: int, seed: int = 0) -> np.ndarray:
    """Softmax weights as of a random head."""
    scores = np.random.default_rng(seed).normal(size=(tokens, tokens)) * 2
    weights = np.tril(np.exp(scores))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


# ---------------------------------------------------------------- the arguments


@pytest.mark.parametrize(("query", "tokens", "shown"), [(-3, 5, 0), (0, 1, 0), (4, 5, 4), (9, 5, 4)])
def test_clamp(query, tokens, shown):
    assert clamp(query, tokens) == shown


# ---------------------------------------------------------------- what is refused


def upper(pattern: np.ndarray) -> np.ndarray:
    return pattern.T.copy() / pattern.T.sum(axis=-1, keepdims=True)


def negative(pattern: np.ndarray) -> np.ndarray:
    changed = pattern.copy()
    changed[2, :3] = -0.25, 1, 0.25
    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p[:2, :2], r"shape \(2, 2\); 3 labels need \(3, 3\)"),
        (lambda p: p * 0.9, "sums to 0.9 in row 0"),
        (lambda p: np.where(np.eye(3) > 0, np.nan, p), "sums to nan in row 0"),
        (upper, "above its diagonal"),
        (negative, "-0.25; softmax weights are never negative"),
    ],
)
def test_pattern_that_is_no_softmax_is_refused(change, message):
    heads = [StripHead("L0H0", random_pattern(3)), StripHead("L1H2", change(random_pattern(3)))]
    with pytest.raises(ValueError, match=f"L1H2 .*{message}"):
        module._check(["a"] * 3, heads, None)


def test_empty_strip_is_refused():
    head = StripHead("L0H0", random_pattern(2))
    with pytest.raises(ValueError, match="no tokens"):
        module._check([], [head], None)
    with pytest.raises(ValueError, match="no heads"):
        module._check(["a", "b"], [], None)
    with pytest.raises(ValueError, match="1 titles for 2 labels"):
        module._check(["a", "b"], [head], ["a"])


# ---------------------------------------------------------------- whose choice holds


class Browser:
    """The browser's half: the real strip, in Node."""

    def __init__(self, node: Stage) -> None:
        self._strip = node.strip()
        self.step, self.settle = self._strip.step, self._strip.settle

    @property
    def query(self) -> int:
        return self._strip.query

    @property
    def report(self) -> module._Report | None:
        told = self._strip.report
        return None if told is None else module._Report(told["query"], told["revision"], told["count"])

    def receive(self, sent: module._Sent) -> None:
        self._strip.receive(command=sent.command, query=sent.query, seen=sent.seen, revision=sent.revision)


@pytest.fixture(scope="module")
def node() -> Iterator[Stage]:
    with stage() as started:
        yield started


def test_choice_of_the_browser_is_returned_and_not_commanded_back(node):
    browser = Browser(node)
    first = module._reconcile(None, None, 8, "a")
    browser.receive(first)
    browser.step(9)
    browser.settle()
    for passed in (9, 8, 9, 9):  # a caller that follows, or that lags behind
        sent = module._reconcile(first, browser.report, passed, "a")
        assert (sent.returned, sent.command) == (9, first.command)


def test_caller_that_lags_one_run_behind_commands_nothing(node):
    browser, sent = Browser(node), module._reconcile(None, None, 0, "a")
    command = sent.command
    browser.receive(sent)
    for query in range(1, 10):
        browser.step(query)
        browser.settle()
        sent = module._reconcile(sent, browser.report, sent.returned, "a")
        assert (sent.returned, sent.command) == (query, command)


def test_another_query_of_the_caller_is_followed(node):
    browser, sent = Browser(node), module._reconcile(None, None, 8, "a")
    browser.receive(sent)
    browser.step(9)
    browser.settle()
    sent = module._reconcile(sent, browser.report, 9, "a")
    sent = module._reconcile(sent, browser.report, 3, "a")
    browser.receive(sent)
    assert (browser.query, sent.returned) == (3, 3)
    sent = module._reconcile(sent, browser.report, 9, "a")  # back to what the browser reported long ago
    browser.receive(sent)
    assert (browser.query, sent.returned) == (9, 9)


def test_late_command_does_not_throw_back_a_step(node):
    browser, sent = Browser(node), module._reconcile(None, None, 8, "a")
    browser.receive(sent)
    late = module._reconcile(sent, browser.report, 3, "a")
    browser.step(9)  # before the answer arrives
    browser.receive(late)
    browser.settle()
    assert browser.query == 9
    sent = module._reconcile(late, browser.report, 9, "a")
    assert sent.returned == browser.query == 9
    assert sent.command == late.command


def test_new_text_shows_the_callers_query(node):
    browser, sent = Browser(node), module._reconcile(None, None, 8, "a")
    browser.receive(sent)
    browser.step(9)
    browser.settle()
    sent = module._reconcile(sent, browser.report, 2, "b")
    browser.receive(sent)
    assert (browser.query, sent.returned) == (2, 2)
    assert module._reconcile(sent, browser.report, 2, "b").returned == 2  # the report is of the old text


def test_new_mount_shows_the_callers_query(node):
    """After a change of page Streamlit has forgotten the report, and the browser its state."""
    browser, sent = Browser(node), module._reconcile(None, None, 8, "a")
    browser.receive(sent)
    browser.step(9)
    browser.settle()
    sent = module._reconcile(sent, browser.report, 9, "a")
    sent = module._reconcile(sent, None, 9, "a")
    again = Browser(node)
    again.receive(sent)
    assert (again.query, sent.returned) == (9, 9)


@given(st.lists(st.tuples(st.sampled_from(["step", "settle", "run", "command", "deliver"]), st.integers(0, 5))))
def test_both_sides_agree_in_the_end(node, events):
    """Whatever happens in whatever order: once all is delivered, browser and caller show the same token."""
    browser, focus = Browser(node), 0
    sent = module._reconcile(None, None, focus, "a")
    browser.receive(sent)
    heard, under_way = None, [sent]

    def run(wish: int | None = None) -> None:
        nonlocal sent, focus, heard
        if browser.report != heard and browser.report is not None:  # the callback
            heard, focus = browser.report, browser.report.query
        focus = focus if wish is None else wish
        sent = module._reconcile(sent, heard, focus, "a")
        focus = sent.returned
        under_way.append(sent)

    for event, query in [*events, *[("settle", 0), ("run", 0), ("deliver", 9)] * 4]:
        if event == "step":
            browser.step(query)
        elif event == "settle":
            browser.settle()
        elif event in ("run", "command"):
            run(query if event == "command" else None)
        elif event == "deliver":
            for message in under_way:
                browser.receive(message)
            under_way.clear()
    assert browser.query == sent.returned == focus


# ---------------------------------------------------------------- in Streamlit


def strip_app() -> None:
    import numpy as np
    import streamlit as st

    from viz.components.token_strip import StripHead, chosen_query, token_strip

    def moved() -> None:
        st.session_state.moved = chosen_query("strip")

    heads = [StripHead(name, np.eye(3, dtype=np.float32)) for name in ("L0H0", "L1H2")]
    query = st.session_state.get("query", 1)
    revision = st.session_state.get("revision", "a")
    shown = token_strip(["<b>", "·b", "·b"], heads, query=query, revision=revision, key="strip", on_change=moved)
    st.text(f"shown {shown}")


def sent_data(app: AppTest) -> dict[str, Any]:
    (strip,) = app.get("bidi_component")
    assert strip.proto.component_name == "headlight_token_strip"
    return json.loads(strip.proto.mixed.json)


@pytest.fixture
def app() -> AppTest:
    app = AppTest.from_function(strip_app).run()
    assert not app.exception
    return app


def test_component_gets_the_data(app):
    data = sent_data(app)
    assert data["labels"] == data["titles"] == ["<b>", "·b", "·b"]
    assert data["heads"] == ["L0H0", "L1H2"]
    assert (data["scale"], data["revision"]) == (1, "a")
    assert (data["command"]["query"], data["command"]["seen"]) == (1, 0)
    assert app.text[0].value == "shown 1"


def test_message_is_the_same_until_python_commands(app):
    first = app.get("bidi_component")[0].proto.SerializeToString()
    assert app.run().get("bidi_component")[0].proto.SerializeToString() == first
    app.session_state.query = 7
    app.run()
    assert sent_data(app)["command"]["query"] == 2
    assert app.text[0].value == "shown 2"


def test_new_text_is_a_new_command(app):
    first = sent_data(app)["command"]["id"]
    app.session_state.revision = "b"
    assert sent_data(app.run())["command"]["id"] != first


@pytest.mark.parametrize("choice", [None, 3, "x", {}, {"query": "1"}, {"query": True, "count": 1, "revision": "a"}])
def test_nonsense_from_the_browser_is_no_report(monkeypatch, choice):
    monkeypatch.setattr(streamlit, "session_state", {"strip": {"choice": choice}})
    assert module._report("strip") is None


def test_choice_for_an_old_text_is_no_choice(monkeypatch):
    sent = module._reconcile(None, None, 1, "b")
    choice = {"query": 2, "count": 1, "revision": "a"}
    monkeypatch.setattr(streamlit, "session_state", {"strip": {"choice": choice}, "strip:sent": sent})
    assert module.chosen_query("strip") is None
    choice["revision"] = "b"
    assert module.chosen_query("strip") == 2
