"""This session's focus, and the ways in which its texts are chosen: typed, by an example, suggested."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from model.files.checkpoint import EMBEDDED
from viz.state.examples import EXAMPLES, Example
from viz.state.focus import LAST, Focus
from viz.state.link import get_link
from viz.state.notices import notify
from viz.state.shown import last_shown, put_in_box


def get_focus() -> Focus:
    """This session's focus; at the session's start the one in the link, completed by the first example."""
    if "focus" not in st.session_state:
        st.session_state.focus, notices = Focus.from_params(get_link(), _focus_on(EXAMPLES[0], EMBEDDED))
        notify(*notices)
    focus: Focus = st.session_state.focus
    return focus


def set_focus(focus: Focus, *, from_box: bool = False) -> None:
    """Look at something else from now on. `from_box` says that the text comes from the sentence box itself."""
    if not from_box and focus.text != get_focus().text:
        put_in_box()
    st.session_state.focus = focus


def show_example(example: Example) -> None:
    """Look at an example's sentence and token with the model, and read in the way, that is chosen now.

    The example's head is one of the embedded model; with another, the chosen head stays.
    """
    focus = get_focus()
    reading = {"by_word": focus.by_word, "without_first": focus.without_first}
    shown = _focus_on(example, focus.model).with_reading(**reading).with_special(focus.special)
    if focus.model != EMBEDDED:
        shown = replace(shown, head=focus.head, compare=focus.compare, start_token=focus.start_token)
    set_focus(shown)
    put_in_box()  # also if only the box, not the focus, showed another text


def suggest_second(text: str) -> None:
    """Look at `text` beside the first one until the first is changed on another page: nobody asked for it."""
    set_focus(get_focus().with_second(text))
    st.session_state.second_suggested = text


def keep_second() -> None:
    """Keep the text beside the first one: somebody chose it."""
    st.session_state.pop("second_suggested", None)


def type_text(text: str, *, second_on_show: bool) -> None:
    """Look at the text in the sentence box; `second_on_show` says whether the page shows the second text, too.

    Where the last token was chosen, or there was none, the last one stays chosen; else the chosen token is followed
    (`load_view`).
    """
    focus, shown = get_focus(), last_shown()
    if not second_on_show and focus.second == st.session_state.get("second_suggested"):
        focus = focus.with_second(None)
    keep_second()
    at_end = shown is None or focus.query >= shown.n_pos - 1
    set_focus((focus.with_query(LAST) if at_end else focus).with_text(text), from_box=True)


def _focus_on(example: Example, model: str) -> Focus:
    return Focus(
        model=model,
        text=example.text,
        head=example.head,
        query=example.query,
        compare=example.compare,
        start_token=example.start_token or None,
    )
