"""What all sessions share: the models, the traces, and the queue in front of the model."""

from __future__ import annotations

import os

import streamlit as st

from model.files.library import ModelLibrary
from model.trace.cache import TraceCache
from model.trace.turns import Turns

CACHE_VARIABLE = "HEADLIGHT_TRACE_CACHE_MB"
_DEFAULT_CACHE_MB = 512


@st.cache_resource(show_spinner=False)
def traces() -> TraceCache:
    """The traces; at most HEADLIGHT_TRACE_CACHE_MB megabytes of them."""
    return TraceCache(int(float(os.environ.get(CACHE_VARIABLE, _DEFAULT_CACHE_MB)) * 1e6), turns())


@st.cache_resource(show_spinner=False)
def turns() -> Turns:
    """The queue in front of the model."""
    return Turns()


@st.cache_resource(show_spinner=False)
def library() -> ModelLibrary:
    """The models."""
    return ModelLibrary(on_unload=traces().forget)
