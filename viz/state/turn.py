"""This session's turn at the model, and its runs that nobody wants any more."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from model.errors import BusyError
from model.trace.turns import Caller, Turn
from viz.state.shared import turns
from viz.text.markdown import as_text

DRAW_SECONDS = 0.2
"""The time that a browser takes to draw a page's charts, rounded up."""


def caller() -> Caller:
    """This session, as the queue knows it.

    Streamlit ends an unwanted run (its tab was closed, or has asked for another run) where the run reads the session
    state. So the check whether a run is still wanted is such a read.
    """
    who = st.session_state.setdefault("caller", secrets.token_hex(8))
    return Caller(who, lambda: "caller" in st.session_state)


@contextmanager
def at_the_model() -> Iterator[Turn]:
    """This session's turn at the model, for work beyond a trace. No trace may be asked for inside."""
    with told_if_busy(), turns().turn(caller()) as turn:
        yield turn


@contextmanager
def told_if_busy() -> Iterator[None]:
    """End the run with a warning where too many sessions wait for the model."""
    try:
        yield
    except BusyError as busy:
        st.warning(as_text(str(busy)))
        st.stop()


def let_draw() -> None:
    """Wait until the browser has drawn what was sent, before work that it need not wait for.

    On few cores the one would hold up the other. An unwanted run ends here.
    """
    check, until = caller().check, time.monotonic() + DRAW_SECONDS
    while time.monotonic() < until:
        check()
        time.sleep(0.01)
