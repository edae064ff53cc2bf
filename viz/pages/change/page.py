"""Change heads: switch heads off or cut links, and see what that does to the next token and to later heads."""

from __future__ import annotations

import streamlit as st

from model.changes.interventions import Changes
from model.errors import HeadlightError
from model.logits.probability import kl_bits, top
from viz.figures.labels import hover_name
from viz.pages.change import later
from viz.pages.change.controls import head_switches, link_cutter
from viz.pages.change.later import later_section
from viz.shell.next_token import next_tokens, tie_words
from viz.shell.say import heading, remark
from viz.shell.shell import open_view, strip
from viz.state.changes import get_changes, in_words
from viz.state.session import get_focus
from viz.state.view import View, changed_trace
from viz.text.catalogue import _
from viz.text.markdown import as_text
from viz.text.numbers import bits_text, probability_text

SETTINGS = later.SETTINGS


@st.fragment
def token_section(view: View, changes: Changes) -> None:
    """What is changed (`changes` when the page was drawn), and the token that comes next in both passes."""
    if get_changes() != changes:
        st.rerun()  # the rest of the page has to follow
    focus = strip(view, [get_focus().head])
    if changes:
        remark("The strip shows the unchanged model’s weights; what the change does stands below.")
    left, right = st.columns([2, 3], gap="large")
    with left:
        heading("Switch heads off")
        head_switches(view)
        heading("Cut links")
        link_cutter(view)
    with right:
        next_token_part(view, changes, focus.query)


def next_token_part(view: View, changes: Changes, query: int) -> None:
    """The next token's probabilities before and after, and how far apart they are."""
    logits = view.trace.logits(query), changed_trace(view, changes).logits(query)
    before, then = next_tokens(
        view,
        query,
        logits,
        key="change_next",
        alt=_("Next-token probabilities before and after the change"),
        position=hover_name(query, view.labels[query]),
    )
    best = [int(top(row, 1)[0]) for row in (before, then)]
    names = [as_text(view.model.tokenizer.token(token_id).label) for token_id in best]
    bits = kl_bits(*logits)
    kl = _("**KL(before ‖ after) = {bits} bits.**", bits=bits_text(bits))
    guess = {"token": names[0], "before": probability_text(float(before[best[0]]))}
    if not changes:
        st.markdown(f"{kl} {_('Top guess before: “**{token}**”, {before}.', **guess)} {tie_words(logits)}")
        remark("Nothing is changed: both passes are the same, so every difference is 0.")
        return
    after = probability_text(float(then[best[0]]))
    words = _("Top guess before: “**{token}**”, {before}, after the change {after}.", **guess, after=after)
    if best[0] != best[1]:
        probability = probability_text(float(then[best[1]]))
        words += " " + _("Top guess after: “**{token}**”, {share}.", token=names[1], share=probability)
    st.markdown(f"{kl} {words} {tie_words(logits)}")
    remark(
        "KL: how many bits more each next token costs, on average over what the unchanged model predicts, "
        "if it is coded with the changed model’s probabilities. 0 if both agree; not the same the other "
        "way round."
    )


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is None:
        return
    changes = get_changes()
    try:
        after = changed_trace(view, changes)
    except HeadlightError as error:
        st.error(
            as_text(_("The changed pass ({changes}) cannot be shown. {error}", changes=in_words(changes), error=error))
        )
        return
    token_section(view, changes)
    later_section(view, changes, after)
    remark(
        "Only this page shows the changed pass; the model itself stays as it is. A head that is off still "
        "reads, but hands on zeros, or its mean over all positions of this text. Later layers are computed "
        "anew from that."
    )
