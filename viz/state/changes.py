"""The changes chosen on Change heads: kept in the session and, so that a link makes them again, in the URL.

`off=L3H2:zero,L1H0:mean`, `cut=L3H2:9>3` (query 9 reads key 3, counted from 1 as on screen), `renorm=1`. All pages but
Change heads show the unchanged model; they say what is switched off there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import streamlit as st

from model.changes.interventions import NO_CHANGES, Changes, Link, Off
from viz.state.focus import head_name

MOST = 256
"""So many heads off, and so many links cut, at once: a link must stay short enough to be sent."""
_OFF = re.compile(r"L([0-9]{1,4})H([0-9]{1,4}):(zero|mean)")
_CUT = re.compile(r"L([0-9]{1,4})H([0-9]{1,4}):([0-9]{1,5})>([0-9]{1,5})")


def link_name(link: Link) -> str:
    """`L3H2 9 → 3`: query and key counted from 1."""
    return f"{head_name((link.layer, link.head))} {link.query + 1} → {link.key + 1}"


def to_params(changes: Changes) -> dict[str, str]:
    """Query parameters from which `from_params` makes the same changes; none where nothing is changed."""
    params = {}
    if changes.off:
        params["off"] = ",".join(f"{head_name((off.layer, off.head))}:{off.way}" for off in changes.off)
    if changes.cuts:
        params["cut"] = ",".join(
            f"{head_name((cut.layer, cut.head))}:{cut.query + 1}>{cut.key + 1}" for cut in changes.cuts
        )
        if changes.renormalise:
            params["renorm"] = "1"
    return params


def from_params(params: Mapping[str, str]) -> tuple[Changes, list[str]]:
    """Read a URL. What it says wrongly is left out and named in the list of notices."""
    notices: list[str] = []

    def matches(name: str, form: re.Pattern[str], example: str, what: str) -> list[tuple[str, ...]]:
        parts = params[name].split(",") if name in params else []
        found = [match.groups() for match in map(form.fullmatch, parts[:MOST]) if match]
        if len(found) < len(parts):
            notices.append(
                f"The link's list of {what} has {len(parts) - len(found):,} of {len(parts):,} entries that are not "
                f"written like {example}, or more than {MOST}; these are left out."
            )
        return found

    off = [
        Off(int(layer), int(head), "mean" if way == "mean" else "zero")
        for layer, head, way in matches("off", _OFF, "L0H1:zero", "switched-off heads")
    ]
    # Position 0 of a link does not exist; as -1 it fits no text and is named as such.
    cuts = [
        Link(int(layer), int(head), int(query) - 1, int(key) - 1)
        for layer, head, query, key in matches("cut", _CUT, "L0H1:9>3", "cut links")
    ]
    if params.get("renorm", "0") not in ("0", "1"):
        notices.append("The link's renorm is neither 0 nor 1; rows are not renormalised.")
    return Changes(tuple(off), tuple(cuts), params.get("renorm") == "1"), notices


def dropped(wanted: Changes, kept: Changes) -> list[str]:
    """What of `wanted` is not in `kept`, in words."""
    notices = []
    if heads := [head_name(off[:2]) for off in wanted.off if off not in kept.off]:
        notices.append(f"Not in this model, so no longer switched off: {_listed(heads)}.")
    if links := [link_name(cut) for cut in wanted.cuts if cut not in kept.cuts]:
        notices.append(f"Not in this text and model (query → key), so no longer cut: {_listed(links)}.")
    return notices


def in_words(changes: Changes) -> str:
    """What is changed, on one line: `L3H2 (zero), L1H0 (mean); cut: L3H2 9 → 3`; empty if nothing is."""
    off = _listed([f"{head_name((off.layer, off.head))} ({off.way})" for off in changes.off])
    cuts = _listed([link_name(cut) for cut in changes.cuts])
    rows = "rows renormalised" if changes.renormalise else "rows not renormalised"
    return "; ".join(part for part in (off, f"links cut: {cuts} ({rows})" if cuts else "") if part)


def _listed(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# --- the session -----------------------------------------------------------------------------------------------------


def get_changes() -> Changes:
    """This session's changes; at the session's start those in the URL."""
    if "changes" not in st.session_state:
        st.session_state.changes, notices = from_params(st.session_state.link)
        st.session_state.setdefault("notices", []).extend(notices)
    kept: Changes = st.session_state.changes
    return kept


def set_changes(changes: Changes) -> None:
    """Change this from now on, and nothing else."""
    st.session_state.changes = changes


def restore_all() -> None:
    """Switch every head back on and restore every link."""
    set_changes(NO_CHANGES.with_renormalise(get_changes().renormalise))


def fit_changes(*, n_layers: int, n_heads: int, n_pos: int, start_token: bool) -> Changes:
    """Keep the changes that this model and text allow; a notice names the others.

    Links stay with their words when the start token comes or goes (`start_token`: whether it is there now).
    """
    changes = wanted = get_changes()
    before = st.session_state.get("changes_start_token", start_token)
    st.session_state.changes_start_token = start_token
    if before != start_token:
        wanted = wanted.moved(1 if start_token else -1)
    kept = wanted.fitting(n_layers=n_layers, n_heads=n_heads, n_pos=n_pos)
    if kept != changes:
        st.session_state.setdefault("notices", []).extend(dropped(wanted, kept))
        set_changes(kept)
    return kept
