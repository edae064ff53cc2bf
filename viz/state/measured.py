"""Measures that belong to a model and not to a text: computed once for each model, for all sessions."""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st

from model.files.checkpoint import LoadedModel
from model.heads.all_heads import measure_repeated
from model.network.gpt2 import GPT2
from viz.state.turn import at_the_model

Measured = Mapping[str, np.ndarray]


@st.cache_resource(show_spinner=False)
def _kept() -> WeakKeyDictionary[GPT2, Measured]:
    """What was measured of each network; it goes when the network does."""
    return WeakKeyDictionary()


def repeated_measures(model: LoadedModel) -> Measured:
    """The measures of every head on random tokens that are read twice, behind the start token if there is one."""
    kept = _kept()
    found = kept.get(model.network)
    if found is None:
        with at_the_model():
            found = kept[model.network] = measure_repeated(model.network, model.tokenizer.start_id)
    return found
