"""The next token in two passes, as a chart and in words, for the pages that compare two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from jaxtyping import Float

from model.logits.open_guess import SURE, open_position
from model.logits.probability import n_tied, probabilities, top
from viz.figures.change import next_token_change
from viz.shell.charts import chart
from viz.shell.shell import theme
from viz.state.session import get_focus, set_focus
from viz.state.view import View
from viz.text.catalogue import _, ngettext
from viz.text.markdown import as_text

N_TOKENS = 8

Logits = Float[np.ndarray, " d_vocab"]


def next_tokens(
    view: View,
    query: int,
    logits: tuple[Logits, Logits],
    *,
    key: str,
    alt: str,
    position: str,
    passes: tuple[str, str] | None = None,
) -> tuple[Float[np.ndarray, " d_vocab"], Float[np.ndarray, " d_vocab"]]:
    """Draw the likeliest next tokens of both passes after the token at `query`; their probabilities.

    `position` names the token in the chart, `passes` the two passes (by default before and after a change).
    """
    before, after = (probabilities(row) for row in logits)
    ids = top(np.maximum(before, after), N_TOKENS)
    figure = next_token_change(
        before[ids],
        after[ids],
        labels=[view.model.tokenizer.token(token_id).label for token_id in ids.tolist()],
        n_rest=len(before) - len(ids),
        rest=(float(1 - before[ids].sum()), float(1 - after[ids].sum())),
        position=position,
        theme=theme(),
        passes=passes,
    )
    chart(figure, key=key, alt=alt)
    _sure_guess(view, query, min(float(before.max()), float(after.max())))
    return before, after


def tie_words(logits: Sequence[Logits]) -> str:
    """That several tokens share the largest logit; empty where one leads in each of the rows."""
    if (n := max(map(n_tied, logits))) == 1:
        return ""
    return ngettext(
        "{n} token shares the largest logit; the one with the lowest id is named.",
        "{n} tokens share the largest logit; the one with the lowest id is named.",
        n,
    )


def _sure_guess(view: View, query: int, best: float) -> None:
    """Where one next token has nearly all the probability (`best`), say so and offer the nearest where none has."""
    if best < SURE or (there := open_position(view.trace, query)) is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="sure_guess"):
        st.caption(_("The model is sure what comes here."), width="content")
        st.button(
            _("Go to {number} “{token}”, where it is not", number=there + 1, token=as_text(view.labels[there])),
            key="open_guess",
            type="tertiary",
            on_click=lambda: set_focus(get_focus().with_query(there)),
            help=_("Goes to the nearest token after which no next one has more than half of the probability."),
        )
