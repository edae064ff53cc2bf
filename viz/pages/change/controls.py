"""Change heads: the widgets that switch heads off and cut links."""

from __future__ import annotations

from functools import partial

import streamlit as st

from model.changes.interventions import Changes, Link, Off, Way
from viz.state.changes import MOST, get_changes, link_name, set_changes
from viz.state.focus import Head, head_name
from viz.state.kept import bound
from viz.state.session import get_focus, set_focus
from viz.state.view import View
from viz.text.catalogue import _


def head_switches(view: View) -> None:
    """The chosen head on or off, and the lists of all heads that are off."""
    changes, (layer, head) = get_changes(), view.focus.head
    way = changes.way_of(layer, head)
    ways = {"on": _("On"), "zero": _("Off: zero"), "mean": _("Off: mean")}
    st.segmented_control(
        _("The chosen head, {head}", head=head_name((layer, head))),
        list(ways),
        format_func=ways.__getitem__,
        required=True,
        **bound("change_chosen", way or "on", lambda to: set_changes(get_changes().with_off(layer, head, _way(to)))),
        help=_(
            "Zero: the head hands on nothing. Mean: at every position it hands on the mean of its output z "
            "over all positions of this text, so that it tells no position from another."
        ),
    )
    config = view.model.config
    heads = [(at, number) for at in range(config.n_layers) for number in range(config.n_heads)]
    lists: tuple[tuple[Way, str], ...] = (
        ("zero", _("Output set to zero")),
        ("mean", _("Output set to its mean over the text")),
    )
    for off_by, label in lists:
        off = [one[:2] for one in changes.off if one.way == off_by]
        st.multiselect(
            label,
            heads,
            format_func=head_name,
            max_selections=MOST,
            select_all=False,  # else Enter takes every match: for L0H1 also L0H10
            placeholder=_("None; type a head such as L0H1"),
            **bound(f"change_{off_by}", off, partial(_heads_chosen, off_by)),
        )


def _way(chosen: str) -> Way | None:
    """The way in which a head is off; None for one that is on."""
    return "zero" if chosen == "zero" else "mean" if chosen == "mean" else None


def _heads_chosen(way: Way, chosen: list[Head]) -> None:
    changes = get_changes()
    chosen = [head for head in chosen if isinstance(head, tuple)]  # a late click may name what is no longer offered
    others = tuple(off for off in changes.off if off.way != way and off[:2] not in chosen)
    set_changes(Changes((*others, *(Off(*head, way) for head in chosen)), changes.cuts, changes.renormalise))


def link_cutter(view: View) -> None:
    """The links that are cut; new ones from the chosen token in the chosen head."""
    changes, focus = get_changes(), get_focus()
    (layer, head), query = focus.head, focus.query
    st.selectbox(
        _("{head}, query", head=head_name((layer, head))),
        range(len(view.labels)),
        format_func=lambda pos: f"{pos + 1} {view.labels[pos]}",
        **bound("change_query", query, lambda chosen: set_focus(get_focus().with_query(chosen))),
    )
    here = [Link(layer, head, query, key) for key in range(query + 1)]
    elsewhere = [cut for cut in changes.cuts if cut not in here]

    def chosen(cuts: list[Link]) -> None:
        set_changes(get_changes().with_cuts(cut for cut in cuts if isinstance(cut, Link)))  # not those of a late click

    st.multiselect(
        _("Cut links (query → key)"),
        [*here, *elsewhere],
        format_func=lambda link: f"{link_name(link)} {view.labels[link.key]}",
        max_selections=MOST,
        select_all=False,  # else Enter takes every match
        placeholder=_("None; choose keys that the query reads"),
        **bound("change_cuts", list(changes.cuts), chosen),
    )
    st.toggle(
        _("Renormalise rows that lose a key"),
        **bound("change_renormalise", changes.renormalise, lambda on: set_changes(get_changes().with_renormalise(on))),
        help=_(
            "On: the softmax without that key, so that the row adds up to 1 again. Off: its weight is lost, "
            "the others stay as they were."
        ),
    )
