"""One token at a time: the sentence fed token by token with the key/value cache, then the model writes on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from model.logits.probability import ranking, top
from model.logits.sampling import Choice, Sampling, choose, shortlist
from viz.components.token_strip import StripHead, chosen_query, token_strip
from viz.figures.data import Table, numbers
from viz.figures.export import file_name, to_csv
from viz.figures.labels import hover_name
from viz.figures.next_token import next_token_bars
from viz.pages.generation import controls
from viz.pages.generation.controls import sampling_controls, writing_controls, written_text
from viz.pages.generation.figures import cache_stack, shown_tokens
from viz.pages.generation.state import (
    Iteration,
    get_position,
    get_writing,
    go_to,
    is_quick,
    measure,
    read,
    whole_text,
    write_some,
)
from viz.pages.generation.words import (
    cache_words,
    check_words,
    choice_words,
    iteration_words,
    saved_words,
    savings_table,
)
from viz.shell.charts import chart
from viz.shell.say import remark
from viz.shell.shell import open_view, theme
from viz.state.address import write_url
from viz.state.focus import head_name
from viz.state.session import get_focus
from viz.state.turn import let_draw
from viz.state.view import View
from viz.text.catalogue import _

SETTINGS = controls.SETTINGS
N_BARS = 20
STRIP = "writing_strip"
TICK_SECONDS = 0.1
"""The pause between two requests of the browser while the model writes; one that is being answered is not repeated."""


def iteration_section(view: View, ticking: bool) -> None:
    """All of the page that depends on the iteration or on what is written. While `ticking` the browser asks for it
    again and again, and each time a little more is written.

    A rerun from here while it writes would do the same but for one thing: a click on another page that comes at the
    wrong moment is lost in it. So there are two reruns only, one that starts the ticking and one that ends it.
    """
    text, position = whole_text(view), get_position(view)
    writing_controls(view)  # above what grows while the model writes: Stop stays under the pointer
    iteration_strip(view, text, position)
    written_text(view)
    left, right = st.columns([3, 2], gap="large")
    with right:
        sampling = sampling_controls()
    writing = get_writing(view).left > 0
    reading = read(text, position)
    choice = choose(reading.step.logits, sampling, position)
    with left:
        cache_part(text, position, reading, choice)
        savings = st.container()
    with right:
        next_token_part(text, position, choice, sampling)
    with savings:  # after the charts, which need not wait for what is measured here
        savings_part(text, reading, writing=writing)
    if writing:
        write_some(view, sampling)
    still_writing = get_writing(view).left > 0
    if still_writing != ticking or (writing and not still_writing):
        st.rerun()


def iteration_strip(view: View, text: View, position: int) -> None:
    """The strip over the sentence and what was written; stepping goes from iteration to iteration."""

    def stepped() -> None:
        query = chosen_query(STRIP)
        if query is not None:
            go_to(view, query)

    n_typed = len(view.tokens)
    token_strip(
        text.labels,
        [StripHead(head_name(get_focus().head), text.trace.pattern(*get_focus().head))],
        query=position,
        revision=text.revision,
        key=STRIP,
        on_change=stepped,
        titles=[
            _("{token} — id {id}, typed", token=token.label, id=token.id)
            if i < n_typed
            else _("{token} — id {id}, written by the model", token=token.label, id=token.id)
            for i, token in enumerate(text.tokens)
        ],
    )
    write_url()


def cache_part(text: View, position: int, reading: Iteration, choice: Choice) -> None:
    """What this iteration computes in every layer, what it reads from the cache, and what that saves."""
    config, head = text.model.config, get_focus().head[1]
    kv_head = config.kv_of(head)
    st.markdown(iteration_words(text.labels, position, config.n_layers))
    shown = shown_tokens(len(text.labels), position)
    keys, values = (
        np.concatenate([old[:, kv_head, shown.start : position], new[:, None, kv_head]], axis=1)
        for old, new in ((text.trace.rot_k, reading.step.k), (text.trace.v, reading.step.v))
    )
    figure = cache_stack(
        reading.step.q[:, head],
        keys,
        values,
        labels=text.labels,
        position=position,
        head=head,
        predicted=text.model.tokenizer.token(choice.id).label,
        theme=theme(),
    )
    chart(figure, key="cache", alt=_("Queries, keys and values of every layer: computed now, or read from the cache"))
    drawn = _("Drawn: head {head} of each layer, a cell for the strongest of several dimensions.", head=head)
    if config.rotary:
        drawn += " " + _("Queries and keys are turned by their positions; the cache keeps them so.")
    if shown.start:
        drawn += " " + _("The {n:,} tokens before are in the cache too.", n=shown.start)
    left_out = _(
        "Not drawn in the article, but computed: norms, biases, the residual additions and the MLP of each layer."
    )
    st.caption(f"{drawn} {left_out}")
    st.markdown(cache_words(config, position + 1, text.trace.rot_k.itemsize))


def savings_part(text: View, reading: Iteration, *, writing: bool) -> None:
    """What the cache saves; and, unless more is being written, the iteration against a pass over the whole text."""
    config, position = text.model.config, reading.step.position
    asked = st.session_state.get("gen_again") is True
    if reading.difference is None and (asked or (is_quick(text, position) and not writing)):
        let_draw()
        reading = measure(text, reading)
    st.markdown(savings_table(config, position, reading))
    st.caption(saved_words(config, position))
    if writing:
        return
    st.caption(check_words(reading))
    if reading.difference is None:
        st.button(_("Read the whole text again"), key="gen_again")


def next_token_part(text: View, position: int, choice: Choice, sampling: Sampling) -> None:
    """The next token's probabilities, and what each setting does to them."""
    model = text.model
    short = shortlist(choice, N_BARS)
    ids = short.ids.tolist()
    following = text.trace.ids[position + 1] if position + 1 < len(text.labels) else None
    figure = next_token_bars(
        short,
        labels=[model.tokenizer.token(token_id).label for token_id in ids],
        logits=choice.logits[short.ids],
        chosen=ids.index(choice.id) if choice.id in ids else None,
        actual=ids.index(following) if following in ids else None,
        after=hover_name(position, text.labels[position]),
        theme=theme(),
    )
    chart(figure, key="next", alt=_("Probabilities of the most likely next tokens, and of all others together"))
    best = int(top(choice.logits, 1)[0])
    labels = {token_id: model.tokenizer.token(token_id).label for token_id in (best, choice.id)}
    st.markdown("\n".join(f"- {line}" for line in choice_words(choice, sampling, best, labels)))
    sizes = {"d_model": model.config.d_model, "d_vocab": model.config.d_vocab, "norm": model.config.norm}
    if model.config.tied:
        remark(
            "The last layer's vector ({d_model} numbers), after a {norm} that the article does not draw, times the "
            "embedding matrix ({d_vocab:,} × {d_model}): a logit for every token.",
            **sizes,
        )
    else:
        remark(
            "The last layer's vector ({d_model} numbers), after a {norm} that the article does not draw, times the "
            "output matrix of its own ({d_vocab:,} × {d_model}): a logit for every token.",
            **sizes,
        )
    if st.toggle(_("All {d_vocab:,} logits", d_vocab=model.config.d_vocab), key="gen_logits", persist_state="session"):
        _all_logits(choice, [model.tokenizer.token(token_id).label for token_id in ranking(choice.logits).tolist()])


def _all_logits(choice: Choice, labels: Sequence[str]) -> None:
    """Every token, the likeliest first. `labels` are in that order.

    The button that Streamlit draws to save the table is hidden by the page's style: its file has typed text that a
    spreadsheet runs as formulas.
    """
    order = ranking(choice.logits)
    columns = (choice.logits[order], choice.own[order], choice.final[order])
    titles = (_("token"), _("id"), _("logit"), _("probability"), _("drawn with"))
    with st.container(key="all_logits"):
        st.dataframe(dict(zip(titles, (labels, order, *columns), strict=True)), hide_index=True, height=300)
    st.download_button(
        _("CSV"),
        data=partial(to_csv, lambda: Table(titles, zip(labels, order.tolist(), *map(numbers, columns), strict=True))),
        file_name=f"{file_name('logits', [])}.csv",
        mime="text/csv",
        key="logits_csv",
        on_click="ignore",
    )


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is not None:
        ticking = get_writing(view).left > 0
        st.fragment(iteration_section, run_every=TICK_SECONDS if ticking else None)(view, ticking)
