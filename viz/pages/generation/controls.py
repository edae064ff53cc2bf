"""The page's controls: how the next token is chosen, and writing on."""

from __future__ import annotations

from typing import Any

import streamlit as st

from model.logits.sampling import Sampling
from viz.pages.generation.state import clear, get_writing, is_full, stop, take_over, write_on
from viz.shell.choose import choose
from viz.shell.say import say
from viz.state.settings import choice, number, switch
from viz.state.view import View
from viz.text.catalogue import _
from viz.text.markdown import as_text

TOP_K = (0, 1, 2, 3, 5, 10, 20, 40, 100, 200, 500, 1000)
MOST_AT_ONCE = 500
WAY = choice("gen_way", "way", ("greedy", "sampled"))
SETTINGS = (
    WAY,
    number("gen_temperature", "temperature", 1.0, 0.1, 2.0),
    choice("gen_top_k", "topk", TOP_K),
    number("gen_top_p", "topp", 1.0, 0.05, 1.0),
    number("gen_seed", "seed", 0, 0, 9999),
    switch("gen_logits", "logits"),
)


def sampling_controls() -> Sampling:
    """Widgets for the settings; what they are set to."""
    words = {"greedy": _("Greedy"), "sampled": _("Sampled")}
    off = choose(WAY, _("How to choose what comes next"), words) == "greedy"
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        kept: dict[str, Any] = {"disabled": off, "persist_state": "session"}
        temperature = st.slider(_("Temperature"), 0.1, 2.0, step=0.1, key="gen_temperature", width=150, **kept)
        top_k = st.select_slider(
            _("Top-k"), TOP_K, format_func=lambda k: f"{k:,}" if k else _("off"), key="gen_top_k", width=150, **kept
        )
        top_p = st.slider(_("Top-p"), 0.05, 1.0, step=0.05, key="gen_top_p", width=150, **kept)
        seed = st.number_input(_("Seed"), 0, 9999, key="gen_seed", width=120, **kept)
    return Sampling(off, temperature, top_k, top_p, seed)


def written_text(view: View) -> None:
    """The text with what was written."""
    writing, tokenizer = get_writing(view), view.model.tokenizer
    if writing.ids:
        sentence, new = tokenizer.decode(view.trace.ids), tokenizer.decode(writing.ids)
        say("{sentence}:primary-background[{new}]", sentence=as_text(sentence), new=as_text(new))


def writing_controls(view: View) -> None:
    """The buttons that write, stop, clear and take over."""
    writing, full, tokenizer = get_writing(view), is_full(view), view.model.tokenizer
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="writing"):
        if writing.left > 1:  # a single token is there at once
            st.button(_("Stop"), key="gen_stop", on_click=stop, args=(view,), type="primary", icon=":material/stop:")
            say("Writing: {left:,} to go", left=writing.left)
            for _empty in range(3):  # in place of the other buttons, which would stay until the run ends
                st.empty()
            return
        st.button(
            _("Write 1 token"), key="gen_write_1", on_click=write_on, args=(view, 1), type="primary", disabled=full
        )
        n = st.number_input(
            _("Tokens to write"), 2, MOST_AT_ONCE, 20, key="gen_n", width=130, persist_state="session", disabled=full
        )
        st.button(_("Write {n}", n=n), key="gen_write_n", on_click=write_on, args=(view, n), disabled=full)
        if writing.ids:
            st.button(_("Clear what was written"), key="gen_clear", on_click=clear, args=(view,))
            if st.button(
                _("Use as the sentence"), key="gen_take", help=_("On all pages, in place of the sentence above")
            ):
                take_over(view)
                st.rerun()
    if full:
        st.info(
            _(
                "The text has {n_ctx:,} tokens, as many as this model can read: it cannot write on.",
                n_ctx=view.model.config.n_ctx,
            )
        )
    elif writing.ids and writing.ids[-1] in tokenizer.end_ids:
        st.info(_("The model ended the text here. Write again to start a new one."))
