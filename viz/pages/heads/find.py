"""Who looks where: the heads ranked by the weight they give from the chosen token, to another one, or both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import streamlit as st

from model.errors import SelectionError
from model.heads.search import Found, ranked, strongest_key
from viz.shell.choose import choose
from viz.shell.say import remark
from viz.state.focus import head_name
from viz.state.session import get_focus
from viz.state.settings import choice, position, switch
from viz.state.view import View
from viz.text.catalogue import _
from viz.text.markdown import as_text

MOST = 10
LEAST = 0.01  # of all weight; a head that gives less does not look there
_KEY, _OTHERS, _LIST = "heads_key", "heads_others", "heads_found"
_WAY = choice("heads_way", "find", ("both", "from", "to"))
SETTINGS = (_WAY, position(_KEY, "to"), switch(_OTHERS, "others"))

Show = Callable[[int, int], None]


def finder(view: View, query: int, means: Callable[[], np.ndarray], show: Show) -> list[list[Any]]:
    """Draw the choosers and the ranking; the ranked heads with their words, as the grid's marks take them.

    `means` gives the mean weight on each key (layer, head, key) when it is asked for; `show` is called with a head that
    is chosen in the list.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        words = {"both": _("From the chosen token to …"), "from": _("From the chosen token"), "to": _("To …")}
        way = choose(_WAY, _("Heads by their weight"), words)
        key = 0 if way == "from" else _key(view, query, last=query if way == "both" else len(view.tokens) - 1)
        others = way == "from" and st.toggle(_("Leave out token 1 and itself"), key=_OTHERS, persist_state="session")
    try:
        found, caption = _found(view, way, query, key, others, means)
    except SelectionError as error:
        st.info(as_text(str(error)))
        return []
    st.markdown(caption)
    if not found:
        remark("No head gives it as much as 1%.")
        return []
    _list(view, found, way, show)
    return [[one.layer, one.head, _words(view, one, way, query)] for one in found]


def _found(
    view: View, way: str, query: int, key: int, others: bool, means: Callable[[], np.ndarray]
) -> tuple[list[Found], str]:
    asked, target = _token(view, query), _token(view, key)
    if way == "both":
        weights = view.trace.rows(query)[..., key]
        return ranked(weights, key, most=MOST, least=LEAST), _(
            "Heads by the weight that **{asked}** gives to **{target}**:", asked=asked, target=target
        )
    if way == "to":
        weights = means()[..., key]
        found = ranked(weights, key, most=MOST, least=LEAST)
        if (n_later := len(view.tokens) - key) == 1:
            return found, _("Heads by the weight that **{target}** gives to itself:", target=target)
        return found, _(
            "Heads by the weight that **{target}** gets (the mean over the {n:,} tokens that can see it):",
            target=target,
            n=n_later,
        )
    rows = view.trace.rows(query)
    best, keys = strongest_key(rows, left_out=(0, query) if others else ())
    return ranked(best, keys, most=MOST, least=LEAST), _(
        "Heads by the largest weight that **{asked}** gives to one token:", asked=asked
    )


def _list(view: View, found: list[Found], way: str, show: Show) -> None:
    columns: dict[str, Any] = {
        "rank": list(range(1, len(found) + 1)),
        "head": [head_name((one.layer, one.head)) for one in found],
        "weight": [one.weight for one in found],
    }
    if way == "from":
        columns["key"] = [f"{one.key + 1} {view.labels[one.key]}" for one in found]

    def selected() -> None:
        event: Any = st.session_state[_LIST]
        rows = event["selection"]["rows"]
        if rows and rows[0] < len(found):
            show(found[rows[0]].layer, found[rows[0]].head)

    st.dataframe(
        pa.table(columns),
        key=_LIST,
        hide_index=True,
        on_select=selected,
        selection_mode="single-row",
        width=620,
        column_config={
            "rank": st.column_config.NumberColumn(_("Rank"), width="small"),
            "head": st.column_config.TextColumn(_("Head"), width="small"),
            "weight": st.column_config.ProgressColumn(_("Weight"), min_value=0, max_value=1, format="%.3f"),
            "key": st.column_config.TextColumn(_("On the token")),
        },
    )


def _key(view: View, query: int, *, last: int) -> int:
    """The key that is asked for; of a new text at first the one that the chosen head gives most weight."""
    if st.session_state[_KEY] is None:
        st.session_state[_KEY] = int(view.trace.pattern(*get_focus().head)[query].argmax())
    st.session_state[_KEY] = min(st.session_state[_KEY], last)
    return st.selectbox(
        _("to the token"),
        range(last + 1),
        format_func=lambda i: f"{i + 1} {view.labels[i]}",
        key=_KEY,
        persist_state="session",
        width=220,
    )


def _words(view: View, one: Found, way: str, query: int) -> str:
    target = f"{one.key + 1} {view.labels[one.key]}"
    if way == "to":
        return _("gives {target} {weight:.3g} on average", target=target, weight=one.weight)
    asked = f"{query + 1} {view.labels[query]}"
    return _("{query} gives {target} {weight:.3g}", query=asked, target=target, weight=one.weight)


def _token(view: View, position: int) -> str:
    return f"{position + 1} {as_text(view.labels[position])}"
