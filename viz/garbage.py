"""The garbage collector in a server of many sessions: what it need not look at, and how often it looks."""

from __future__ import annotations

import gc
import time
from types import SimpleNamespace

import streamlit as st
from streamlit.runtime.scriptrunner import script_runner

SECONDS = 2.0
"""So long at least lies between two collections. Streamlit asks for one after every run; with 40 sessions each takes
70 ms, in which nothing else runs."""

_last = 0.0


@st.cache_resource(show_spinner=False)
def spare_the_collector() -> None:
    """Once, after the first page: what the imports made lives as long as the app, so the collector need not look at it
    again (about 400 ms a rerun with torch imported); and it looks at the rest every `SECONDS`, not after every run."""
    gc.collect()
    gc.freeze()
    vars(script_runner)["gc"] = SimpleNamespace(collect=_collect)


def _collect(generation: int = 2) -> int:
    global _last
    now = time.monotonic()
    if now - _last < SECONDS:
        return 0
    _last = now
    return gc.collect(generation)
