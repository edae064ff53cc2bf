"""Two sentences: one head on a sentence and on a changed copy of it; what it reads then, and what comes next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from model.errors import HeadlightError
from model.heads.comparison import js_divergence
from model.logits.probability import kl_bits, top
from model.text.align import Alignment, align, aligned_part, with_rest
from viz.components.token_strip import StripHead, chosen_query, token_strip
from viz.figures.chart import Cell
from viz.figures.difference import pattern_difference
from viz.figures.labels import hover_name
from viz.figures.panels import Rows
from viz.pages.two_sentences.text import second_text
from viz.pages.two_sentences.words import alignment_words, next_words, rows_words
from viz.shell.matrices import frame_row, matrices
from viz.shell.next_token import next_tokens, tie_words
from viz.shell.say import remark, say
from viz.shell.shell import open_view, strip, theme
from viz.state.focus import head_name
from viz.state.kept import Kept
from viz.state.session import get_focus, set_focus
from viz.state.view import View
from viz.text.catalogue import _
from viz.text.markdown import as_text

MATRICES, STRIP = "aligned", "second_strip"
CHOICE = Kept[int]("second_choice")


def second_view(view: View, text: str) -> View | None:
    """The view of the second text with the same model and head, or None (and why) if there is nothing to show."""
    tokenizer = view.model.tokenizer
    ids = view.encode(text)
    shown = ids[: view.model.config.n_ctx]
    if not shown:
        st.info(_("The second text has no token; type at least one character, or copy the first text."))
        return None
    if len(ids) > len(shown):
        st.warning(
            _(
                "The second text has {n_ids:,} tokens; the first {n_shown:,} are shown.",
                n_ids=len(ids),
                n_shown=len(shown),
            )
        )
    second = replace(
        view, focus=view.focus.with_text(text), ids=shown, tokens=tokenizer.tokens(shown), n_typed=len(ids)
    )
    try:
        assert second.trace  # made now, so that its errors are told here
    except HeadlightError as error:
        st.error(as_text(str(error)))
        return None
    return second


@st.fragment
def token_section(view: View, second: View, alignment: Alignment, rows: Rows | None) -> None:
    """Both strips, and the next token after the chosen one in either text. Stepping reruns this and nothing else."""
    head = view.focus.head
    say("**First text**")
    query = strip(view, [head], hover=True).query
    other = _second_strip(view, second, alignment, query)
    partner = alignment.to_second(query)
    at = int(np.flatnonzero(alignment.first == query)[0]) if partner is not None else None
    frame_row(MATRICES, rows, at, theme())
    logits = view.trace.logits(query), second.trace.logits(other)
    left, right = st.columns([3, 2], gap="large")
    with left:
        position = hover_name(query, view.labels[query])
        if partner != query:
            position += f" / {hover_name(other, second.labels[other])}"
        before, after = next_tokens(
            view,
            query,
            logits,
            key="sentences_next",
            alt=_("Next-token probabilities in the first and in the second text"),
            position=position,
            passes=(_("first text"), _("second text")),
        )
    with right:
        st.markdown(
            next_words(
                (view.labels[query], second.labels[other]),
                (query, other),
                [view.model.tokenizer.token(int(top(row, 1)[0])).label for row in logits],
                [float(row.max()) for row in (before, after)],
                float(js_divergence(before, after)),
                kl_bits(*logits),
            )
        )
        if ties := tie_words(logits):
            st.caption(ties)


def _second_strip(view: View, second: View, alignment: Alignment, query: int) -> int:
    """The second text's strip; the token chosen in it: the first one's partner, or what was chosen here itself."""
    kept = CHOICE.get((view.revision, second.revision, query))
    other = alignment.counterpart(query) if kept is None else kept

    def stepped() -> None:
        chosen = chosen_query(STRIP)
        if chosen is not None:
            first = alignment.turned.counterpart(chosen)
            CHOICE.put((view.revision, second.revision, first), chosen)
            set_focus(get_focus().with_query(first))

    say("**Second text**")
    head = view.focus.head
    token_strip(
        second.labels,
        [StripHead(head_name(head), second.trace.pattern(*head))],
        query=other,
        revision=f"{view.revision} {second.revision}",
        key=STRIP,
        on_change=stepped,
        hover=True,
    )
    return other


def matrix_section(view: View, second: View, alignment: Alignment) -> Rows | None:
    """The head's weights among the tokens that both texts share, and their difference; where the rows lie."""
    if not len(alignment.first):
        say("The two texts share no token: there is nothing to lay side by side.")
        return None
    head = view.focus.head
    parts = [
        aligned_part(view.trace.pattern(*head), alignment.first),
        aligned_part(second.trace.pattern(*head), alignment.second),
    ]
    distances = js_divergence(*(with_rest(part) for part in parts))
    labels = [view.labels[pos] for pos in alignment.first]
    st.markdown(rows_words(head_name(head), distances, alignment, labels))
    figure = pattern_difference(
        parts[0],
        parts[1],
        distances,
        names=(_("First text"), _("Second text")),
        labels=labels,
        positions=alignment.first.tolist(),
        minus_first=True,
        theme=theme(),
    )

    def shares(cell: Cell) -> str:
        first, then = (float(part[cell.row, cell.column]) for part in parts)
        return _("{first:.3g} in the first text, {then:.3g} in the second", first=first, then=then)

    drawn = matrices(
        figure,
        key=MATRICES,
        alt=_("Weights of {head} on both texts where they share tokens, and their difference", head=head_name(head)),
        heads=[head],
        text=(view.revision, second.revision),
        labels=labels,
        positions=alignment.first.tolist(),
        shares=shares,
    )
    remark(
        "Rows and columns are the tokens that both texts share, at their positions in the first. Distance: "
        "the Jensen-Shannon divergence of a row in both texts (Lin 1991), from 0 to 1 bit; the weight on "
        "tokens without a partner is taken together as one more key, so that rows add up to 1."
    )
    return drawn.rows


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is None:
        return
    second = second_view(view, second_text())
    if second is None:
        return
    alignment = align(view.ids, second.ids)
    st.markdown(alignment_words(alignment, view.labels, second.labels))
    token_place = st.container()
    rows = matrix_section(view, second, alignment)
    with token_place:
        token_section(view, second, alignment, rows)
