"""Change heads, below: the heads in later layers, ranked by how far the change moved their patterns."""

from __future__ import annotations

import numpy as np
import streamlit as st

from model.changes.interventions import Changes
from model.heads.effects import MOST_ROWS, PatternShift, pattern_shifts, row_shifts
from model.trace.trace import Trace
from viz.figures.change import ranked_shifts
from viz.figures.chart import Cell
from viz.figures.difference import pattern_difference
from viz.shell.charts import chart
from viz.shell.choose import choose
from viz.shell.matrices import matrices
from viz.shell.say import heading, remark, say
from viz.shell.shell import theme
from viz.state.focus import Head, head_name
from viz.state.kept import Kept, bound
from viz.state.settings import choice, head
from viz.state.view import View
from viz.text.catalogue import _
from viz.text.markdown import as_text
from viz.text.numbers import bits_text

N_RANKED = 10
MOVED_MOST = (-1, -1)  # in place of a head
SHIFTS = Kept[list[PatternShift]]("change_shifts")
RANKED_BY = choice("change_rank_by", "rank", ("largest", "mean"))
SETTINGS = (RANKED_BY, head("change_wanted", "later", MOVED_MOST))


def later_section(view: View, changes: Changes, after: Trace) -> None:
    """The heads after the change, ranked by how far their patterns moved, and one of them in three matrices."""
    heading("What later heads then read")
    if not changes:
        say("Once a head is off or a link is cut, the patterns of the heads in later layers are listed here.")
        return
    shifts = _shifts(view, changes, after)
    if not shifts:
        say("Layer {first_layer} is the model’s last: no head comes after the change.", first_layer=changes.first_layer)
        return
    left, right = st.columns([2, 3], gap="large")
    with left:
        by = choose(
            RANKED_BY,
            _("Ranked by"),
            {"largest": _("Largest row"), "mean": _("Mean of all rows")},
            help=_(
                "The Jensen-Shannon divergence of each row of weights before and after, in bits: 0 where nothing "
                "moved, 1 where the row went to other tokens altogether."
            ),
        )
        ranked = sorted(shifts, key=lambda shift: -_value(shift, by))
        chosen = _choose([(shift.layer, shift.head) for shift in ranked], [_listed(shift, by) for shift in ranked])
        rows, mean = row_shifts(view.trace, after, *chosen)
        st.markdown(_moved_in_words(view, chosen, rows, mean, changes))
        if len(view.tokens) > MOST_ROWS:
            remark("Ranked by {rows} of the {n:,} rows, spread evenly.", rows=MOST_ROWS, n=len(view.tokens))
    with right:
        _ranking(view, ranked[:N_RANKED], chosen, by, changes)
    _matrices(view, after, chosen, rows)


def _choose(heads: list[Head], words: list[str]) -> Head:
    """The head to look at: the first, unless another one was chosen."""
    names = dict(zip(heads, words, strict=True))
    wanted = st.session_state.change_wanted
    chosen = st.selectbox(
        _("Head to look at"),
        [MOVED_MOST, *names],
        format_func=lambda head: names.get(head, _("the one that moved most")),
        **bound("change_head", wanted if wanted in names else MOVED_MOST, _look_at),
    )
    return heads[0] if chosen == MOVED_MOST else chosen


def _look_at(head: Head) -> None:
    st.session_state.change_wanted = head


def _ranking(view: View, shown: list[PatternShift], chosen: Head, by: str, changes: Changes) -> None:
    heads = [(shift.layer, shift.head) for shift in shown]
    figure = ranked_shifts(
        np.array([_value(shift, by) for shift in shown]),
        names=[head_name(head) for head in heads],
        notes=[_note(view, shift, changes, by) for shift in shown],
        chosen=heads.index(chosen) if chosen in heads else None,
        theme=theme(),
    )

    def clicked(_curve: int, point: int) -> None:
        _look_at(heads[point])

    alt = _("The heads whose patterns the change moved most, in bits")
    chart(figure, key="change_ranked", alt=alt, heads=[], on_click=clicked)


def _matrices(view: View, after: Trace, head: Head, rows: np.ndarray) -> None:
    name, before, then = head_name(head), view.trace.pattern(*head), after.pattern(*head)
    figure = pattern_difference(
        before,
        then,
        rows,
        names=(f"{name} before", f"{name} after"),
        labels=view.labels,
        theme=theme(),
        minus_first=True,
    )

    def shares(cell: Cell) -> str:
        at = cell.row, cell.column
        return _(
            "{before:.3g} before, {then:.3g} after the change, in {name}", before=before[at], then=then[at], name=name
        )

    alt = _("Weights of {name} before and after the change, and their difference", name=name)
    matrices(
        figure, key="change_matrices", alt=alt, heads=[head], text=view.revision, labels=view.labels, shares=shares
    )


def _shifts(view: View, changes: Changes, after: Trace) -> list[PatternShift]:
    """The later heads' shifts, computed once for a text and a change."""
    here = (view.revision, changes)
    kept = SHIFTS.get(here)
    if kept is None:
        with st.spinner(_("Comparing the patterns of all later heads")):
            kept = SHIFTS.put(here, pattern_shifts(view.trace, after))
    return kept


def _value(shift: PatternShift, by: str) -> float:
    return shift.largest if by == "largest" else shift.mean


def _listed(shift: PatternShift, by: str) -> str:
    return _("{head}: {bits} bits", head=head_name((shift.layer, shift.head)), bits=bits_text(_value(shift, by)))


def _note(view: View, shift: PatternShift, changes: Changes, by: str) -> str:
    token = f"{shift.query + 1} {view.labels[shift.query]}"
    row = _("row {token}", token=token) if by == "largest" else ""
    return f"{row} {_('(links cut)')}" if changes.keys_cut(shift.layer, shift.head) else row


def _moved_in_words(view: View, head: Head, rows: np.ndarray, mean: float, changes: Changes) -> str:
    name, most = head_name(head), int(rows.argmax())
    if not rows[most]:
        return _("**{name}** reads what it read before.", name=name)
    words = _(
        "**{head}** moved most in the row of query {query} “**{token}**”: {most} bits; on average {mean}.",
        head=name,
        query=most + 1,
        token=as_text(view.labels[most]),
        most=bits_text(float(rows[most])),
        mean=bits_text(mean),
    )
    if not changes.keys_cut(*head):
        return words
    lost = _("It lost links itself: weight that is missing from a row counts as given to no token.")
    return f"{words} {lost}"
