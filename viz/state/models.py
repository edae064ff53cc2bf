"""The model that this session has chosen."""

from __future__ import annotations

import streamlit as st

from model.errors import HeadlightError
from model.files.checkpoint import EMBEDDED, LoadedModel
from viz.state.notices import notify
from viz.state.session import get_focus, set_focus
from viz.state.shared import library
from viz.text.catalogue import _
from viz.text.markdown import as_text


def model_names() -> list[str]:
    """The models that can be chosen, the chosen one among them."""
    names = [entry.name for entry in library().entries()]
    chosen = get_focus().model
    return names if chosen in names else [chosen, *names]


def remarks_on(model: LoadedModel) -> tuple[str, ...]:
    """What a person should know of how the model and its texts are read."""
    return (*model.notes, *filter(None, [model.tokenizer.normalises]))


def current_model() -> LoadedModel:
    """The focus's model, or, where it cannot be shown, the one shown before, with a notice.

    Raises:
        HeadlightError: the one shown before cannot be shown any more either.
    """
    focus = get_focus()
    try:
        if library().holds(focus.model):
            model = library().get(focus.model)
        else:
            with st.spinner(_("Loading {model}", model=as_text(focus.model))):
                model = library().get(focus.model)
    except HeadlightError as error:
        before = st.session_state.get("shown_model", EMBEDDED)
        if before == focus.model:
            raise
        notify(_("{model} cannot be shown, so {before} is. {reason}", model=focus.model, before=before, reason=error))
        model = library().get(before)
    st.session_state.shown_model = model.name
    set_focus(focus.with_model(model.name))
    return model
