"""Measures of a model that depend on no text: computed once for each model, shared by all sessions."""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st

from model.files.checkpoint import LoadedModel
from model.heads.all_heads import measure_repeated
from model.network.network import Network
from viz.state.turn import at_the_model

Measured = Mapping[str, np.ndarray]


@st.cache_resource(show_spinner=False)
def _kept() -> WeakKeyDictionary[Network, Measured]:
    """The measures of each network, kept as long as the network."""
    return WeakKeyDictionary()


def repeated_measures(model: LoadedModel) -> Measured:
    """The measures of every head on random tokens read twice, behind the start token if the model has one."""
    kept = _kept()
    found = kept.get(model.network)
    if found is None:
        with at_the_model():
            found = kept[model.network] = measure_repeated(model.network, model.tokenizer.start_id)
    return found
