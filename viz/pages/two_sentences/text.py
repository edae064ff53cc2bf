"""The second text of Two sentences: the first one's partner in an example pair, or a copy of it, until somebody changes
it; and the example pairs."""

from __future__ import annotations

import streamlit as st

from viz.components.sentence_box import sentence_box, typed_text
from viz.state.address import write_url
from viz.state.examples import PAIRS, SentencePair, partner_of
from viz.state.focus import LAST, MAX_CHARACTERS
from viz.state.session import get_focus, keep_second, set_focus, suggest_second
from viz.text.catalogue import _
from viz.text.markdown import as_text


def second_text() -> str:
    """Draw the second text's box and the example pairs; the text."""
    if get_focus().second is None and (partner := partner_of(get_focus().text)) is not None:
        suggest_second(partner)
        _set_elsewhere()
    focus = get_focus()
    text = focus.text if focus.second is None else focus.second
    changed = focus.second is not None and focus.second != focus.text
    st.markdown(_("**Second text**") if changed else _("**Second text**: a copy of the first; change a word in it"))
    sentence_box(
        text,
        revision=_revision(),
        max_characters=MAX_CHARACTERS,
        key="second_box",
        on_change=_typed,
        label=_("Second text"),
    )
    with st.container(horizontal=True, gap="small", key="pairs"):
        for number, pair in enumerate(PAIRS):
            st.button(
                pair.title, key=f"pair_{number}", help=pair.ask, on_click=_show_pair, args=(pair,), type="tertiary"
            )
        st.button(_("Copy the first text"), key="copy_first", on_click=_copy, icon=":material/content_copy:")
    for pair in PAIRS:
        if (pair.first, pair.second) == (focus.text, focus.second):
            st.caption(as_text(pair.ask))
    write_url()
    return text


def _revision() -> int:
    """Counts the times the second text was set by something else than its own box, the first text among it."""
    focus, state = get_focus(), st.session_state
    if focus.second is None and state.get("second_copied") != focus.text:
        state.second_copied = focus.text
        _set_elsewhere()
    return int(state.get("second_revision", 0))


def _set_elsewhere() -> None:
    st.session_state.second_revision = st.session_state.get("second_revision", 0) + 1


def _typed() -> None:
    text = typed_text("second_box")
    if text is not None:
        keep_second()
        set_focus(get_focus().with_second(text))


def _show_pair(pair: SentencePair) -> None:
    keep_second()
    set_focus(get_focus().with_text(pair.first).with_second(pair.second).with_query(LAST))
    _set_elsewhere()


def _copy() -> None:
    keep_second()
    set_focus(get_focus().with_second(get_focus().text))
    _set_elsewhere()
