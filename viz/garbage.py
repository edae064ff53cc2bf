"""The garbage collector in a server of many sessions: what it can skip, and how often it runs."""

from __future__ import annotations

import gc
import time

import streamlit as st

from viz.streamlit_internals import answer_collections

SECONDS = 2.0
"""The least time between two collections. Streamlit collects after every run; with 40 sessions that takes 70 ms each
time, during which nothing else runs."""

_last = 0.0


@st.cache_resource(show_spinner=False)
def spare_the_collector() -> None:
    """Once, after the first page: exempt what the imports made, which lives as long as the app (checking it takes about
    400 ms with torch imported), and collect the rest every `SECONDS` at most."""
    gc.collect()
    gc.freeze()
    answer_collections(_collect)


def _collect(generation: int = 2) -> int:
    global _last
    now = time.monotonic()
    if now - _last < SECONDS:
        return 0
    _last = now
    return gc.collect(generation)
