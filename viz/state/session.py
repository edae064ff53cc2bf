"""Streamlit's side of the focus: where it is kept, how it reaches the URL, and what all sessions share."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import streamlit as st

from model.changes.interventions import Changes
from model.errors import BusyError, HeadlightError, TextError
from model.files.checkpoint import EMBEDDED, LoadedModel
from model.files.library import ModelLibrary
from model.text.tokenizer import Token
from model.trace.cache import TraceCache
from model.trace.trace import Trace
from model.trace.turns import Caller, Turn, Turns
from viz.state.changes import get_changes, to_params
from viz.state.examples import EXAMPLES, Example
from viz.state.focus import LAST, Focus
from viz.state.follow import followed
from viz.state.settings import settings_params
from viz.state.writing import from_params, get_kept, keep
from viz.state.writing import to_params as written_params
from viz.text.markdown import as_text

CACHE_VARIABLE = "HEADLIGHT_TRACE_CACHE_MB"
_DEFAULT_CACHE_MB = 512
DRAW_SECONDS = 0.2
"""What a browser takes to draw a page's charts, at most a little more."""
TWO_SENTENCES = "two_sentences"
"""The page that shows the second text."""
COUNTED_IN = "counted_in"
"""The session's name for the tokens, as bytes, in which the focus's query is counted: those of the view before."""


class _Drawing(threading.local):
    """What the page under way draws from; Streamlit draws in a thread that ends with the page."""

    def __init__(self) -> None:
        self.traces = deque[Trace](maxlen=2)


_drawing = _Drawing()


@dataclass(frozen=True)
class View:
    """What a page draws from: the focus, its model, and the trace of its text.

    Streamlit keeps a view as long as its tab is open. So it holds no trace, but asks for it: what all sessions together
    hold stays within the cache's bound.
    """

    focus: Focus
    model: LoadedModel
    ids: tuple[int, ...]
    tokens: tuple[Token, ...]
    n_typed: int  # tokens of the whole text; more than len(tokens) if it did not fit the model's context

    @property
    def trace(self) -> Trace:
        """The trace of `ids`, made anew only if the cache had no room for it."""
        with _told_if_busy():
            return _trace(self.model, self.ids)

    @property
    def labels(self) -> list[str]:
        """How each token is shown."""
        return [token.label for token in self.tokens]

    @property
    def revision(self) -> str:
        """Changes whenever the tokens do."""
        return f"{self.model.name}:{hash(self.ids)}"


@st.cache_resource(show_spinner=False)
def traces() -> TraceCache:
    """The traces that all sessions share; at most HEADLIGHT_TRACE_CACHE_MB megabytes of them."""
    return TraceCache(int(float(os.environ.get(CACHE_VARIABLE, _DEFAULT_CACHE_MB)) * 1e6), turns())


@st.cache_resource(show_spinner=False)
def turns() -> Turns:
    """The queue in front of the model, for all sessions."""
    return Turns()


def changed_trace(view: View, changes: Changes) -> Trace:
    """The trace of the view's text in a pass with `changes`.

    Raises:
        HeadlightError: the model cannot make it, or too many wait for the model.
    """
    return traces().get(view.model.network, view.ids, changes, caller=_caller()) if changes else view.trace


def let_draw() -> None:
    """Wait until the browser will have drawn what was sent, before work that it need not wait for: on few cores the one
    would hold up the other. A run that nobody wants any more ends here."""
    check, until = _caller().check, time.monotonic() + DRAW_SECONDS
    while time.monotonic() < until:
        check()
        time.sleep(0.01)


@contextmanager
def at_the_model() -> Iterator[Turn]:
    """This session's turn at the model, for work beyond a trace. No trace may be asked for inside."""
    with _told_if_busy(), turns().turn(_caller()) as turn:
        yield turn


@contextmanager
def _told_if_busy() -> Iterator[None]:
    """Where too many wait for the model, say so in place of what cannot be drawn."""
    try:
        yield
    except BusyError as busy:
        st.warning(as_text(str(busy)))
        st.stop()


def _trace(model: LoadedModel, ids: tuple[int, ...]) -> Trace:
    for kept in _drawing.traces:
        if kept.network is model.network and kept.ids == ids:
            return kept
    trace = traces().get(model.network, ids, caller=_caller())
    _drawing.traces.append(trace)
    return trace


def _caller() -> Caller:
    """This session, to the queue. Streamlit ends a run that nobody wants any more, as its tab was closed or has asked
    for another one, where the run looks into its session's state: so the check is such a look."""
    who = st.session_state.setdefault("caller", secrets.token_hex(8))
    return Caller(who, lambda: "caller" in st.session_state)


@st.cache_resource(show_spinner=False)
def library() -> ModelLibrary:
    """The models that all sessions share."""
    return ModelLibrary(on_unload=traces().forget)


def get_focus() -> Focus:
    """This session's focus; at the session's start the one in the URL, or else the first example."""
    if "focus" not in st.session_state:
        first = EXAMPLES[0]
        wanted, notices = Focus.from_params(st.session_state.link, _focus_on(first, EMBEDDED))
        st.session_state.focus, st.session_state.notices = wanted, notices
    return st.session_state.focus


def set_focus(focus: Focus, *, from_box: bool = False) -> None:
    """Look at something else from now on. `from_box` says that the text comes from the sentence box itself."""
    if not from_box and focus.text != get_focus().text:
        _put_in_box()
    st.session_state.focus = focus


def show_example(example: Example) -> None:
    """Look at an example's sentence, head and token with the model, and read in the way, that is chosen now."""
    focus = get_focus()
    reading = {"by_word": focus.by_word, "without_first": focus.without_first}
    set_focus(_focus_on(example, focus.model).with_reading(**reading))
    _put_in_box()  # also if only the box, not the focus, showed another text


def suggest_second(text: str) -> None:
    """Look at `text` beside the first one, for which nobody has asked: it goes when the first changes elsewhere."""
    set_focus(get_focus().with_second(text))
    st.session_state.second_suggested = text


def keep_second() -> None:
    """The text beside the first one is somebody's choice by now."""
    st.session_state.pop("second_suggested", None)


def type_text(text: str) -> None:
    """Look at the text in the sentence box. Who was at its end, or had emptied it, stays at the end while typing on;
    else the chosen token stays the same one (`load_view`)."""
    focus = get_focus()
    if st.session_state.page != TWO_SENTENCES and focus.second == st.session_state.get("second_suggested"):
        focus = focus.with_second(None)
    keep_second()
    at_end = focus.query >= st.session_state.get("n_pos", 0) - 1
    set_focus((focus.with_query(LAST) if at_end else focus).with_text(text), from_box=True)


def _put_in_box() -> None:
    """The focus's text, with a token chosen in it, comes from elsewhere than the box, which is to show it."""
    st.session_state.text_revision = text_revision() + 1
    st.session_state.pop(COUNTED_IN, None)


def text_revision() -> int:
    """Counts the times the text was set by something else than the box it is typed into."""
    return st.session_state.get("text_revision", 0)


def take_notices() -> list[str]:
    """What was wrong with the link this session came from; each is told once."""
    return st.session_state.pop("notices", [])


def write_url() -> None:
    """Make the address bar show the focus, what is changed and written, and the page's settings, to be copied."""
    params = get_focus().to_params() | to_params(get_changes()) | settings_params()
    if (written := get_kept()) is not None and written.sentence == st.session_state.get("revision"):
        params |= written_params(written)
    if st.query_params.to_dict() != params:
        st.query_params.from_dict(params)


def model_names() -> list[str]:
    """The models that can be chosen; the chosen one is among them wherever it came from."""
    names = [entry.name for entry in library().entries()]
    chosen = get_focus().model
    return names if chosen in names else [chosen, *names]


def load_view() -> View:
    """The view of this session's focus, which is clamped to what the model and the text allow.

    Raises:
        HeadlightError: the text has no token, the model cannot trace it, or too many wait for the model.
    """
    model = current_model()
    focus = get_focus()
    start = focus.start_token and model.tokenizer.start_id is not None
    ids = model.tokenizer.encode(focus.text, start_token=start)
    shown = ids[: model.config.n_ctx]
    config = model.config
    st.session_state.n_pos = len(shown)
    if not shown:
        raise TextError("There is no token to look at; type at least one character.")
    counted_in = tuple(token.bytes for token in model.tokenizer.tokens(ids))
    focus = focus.with_query(followed(focus.query, st.session_state.get(COUNTED_IN, ()), counted_in))
    clamped = focus.clamped(n_layers=config.n_layers, n_heads=config.n_heads, n_pos=len(shown))
    if "notices" in st.session_state:
        st.session_state.notices += clamped.correction(focus)
    st.session_state.focus, st.session_state[COUNTED_IN] = clamped, counted_in
    _trace(model, shown)  # now, so that its errors are told in place of the page
    view = View(clamped, model, shown, model.tokenizer.tokens(shown), len(ids))
    st.session_state.revision = view.revision
    if get_kept() is None:
        params, n_ids = st.session_state.link, len(view.ids)
        keep(from_params(params, view.revision, n_typed=n_ids, d_vocab=config.d_vocab, n_ctx=config.n_ctx))
    return view


def current_model() -> LoadedModel:
    """The focus's model, or, where it cannot be shown, the one shown before, with a notice.

    Raises:
        HeadlightError: the one shown before cannot be shown any more either.
    """
    focus = get_focus()
    try:
        model = library().get(focus.model)
    except HeadlightError as error:
        before = st.session_state.get("shown_model", EMBEDDED)
        if before == focus.model:
            raise
        notice = f"{focus.model} cannot be shown, so {before} is. {error}"
        st.session_state.setdefault("notices", []).append(notice)
        model = library().get(before)
    st.session_state.shown_model = model.name
    st.session_state.focus = focus.with_model(model.name)
    return model


def _focus_on(example: Example, model: str) -> Focus:
    return Focus(
        model=model,
        text=example.text,
        head=example.head,
        query=example.query,
        compare=example.compare,
        start_token=example.start_token,
    )
