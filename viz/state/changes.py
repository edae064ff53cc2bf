"""The changes chosen on Change heads: kept in the session and, so that a link makes them again, in the URL.

`off=L3H2:zero,L1H0:mean`, `cut=L3H2:9>3` (query 9 reads key 3, counted from 1 as on screen), `renorm=1`. All other
pages show the unchanged model; they say what is changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import streamlit as st

from model.changes.interventions import NO_CHANGES, Changes, Link, Off
from viz.state.focus import head_name
from viz.state.link import get_link
from viz.state.notices import notify
from viz.text.catalogue import N_, _

MOST = 256
"""The most heads off, and the most links cut: a link must stay short enough to be sent."""
_OFF = re.compile(r"L([0-9]{1,4})H([0-9]{1,4}):(zero|mean)")
_CUT = re.compile(r"L([0-9]{1,4})H([0-9]{1,4}):([0-9]{1,5})>([0-9]{1,5})")
_WRONG_OFF = N_(
    "Left out of the link's switched-off heads: {n:,} of {total:,}, not written like L0H1:zero or beyond the first "
    "{most}."
)
_WRONG_CUTS = N_(
    "Left out of the link's cut links: {n:,} of {total:,}, not written like L0H1:9>3 or beyond the first {most}."
)


def link_name(link: Link) -> str:
    """`L3H2 9 → 3`: query and key counted from 1."""
    return f"{head_name((link.layer, link.head))} {link.query + 1} → {link.key + 1}"


def changes_params(changes: Changes) -> dict[str, str]:
    """Query parameters from which `read_changes` makes the same; none where nothing is changed."""
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


def read_changes(params: Mapping[str, str]) -> tuple[Changes, list[str]]:
    """Read a URL. What is damaged in it is left out and named in the list of notices."""
    notices: list[str] = []

    def entries(name: str, form: re.Pattern[str], notice: str) -> list[tuple[str, ...]]:
        """The well-formed entries among the first `MOST` of the list `name`."""
        raw = params[name].split(",") if name in params else []
        found = [match.groups() for match in map(form.fullmatch, raw[:MOST]) if match]
        if len(found) < len(raw):
            notices.append(_(notice, n=len(raw) - len(found), total=len(raw), most=MOST))
        return found

    off = entries("off", _OFF, _WRONG_OFF)
    cuts = entries("cut", _CUT, _WRONG_CUTS)
    if params.get("renorm", "0") not in ("0", "1"):
        notices.append(_("The link's renorm is neither 0 nor 1; rows are not renormalised."))
    changes = Changes(
        tuple(Off(int(layer), int(head), "mean" if way == "mean" else "zero") for layer, head, way in off),
        # Position 0 of a link does not exist; as -1 it fits no text and is told when it is dropped.
        tuple(Link(int(layer), int(head), int(query) - 1, int(key) - 1) for layer, head, query, key in cuts),
        params.get("renorm") == "1",
    )
    return changes, notices


def dropped(wanted: Changes, kept: Changes) -> list[str]:
    """What of `wanted` is not in `kept`, in words."""
    notices = []
    if heads := [head_name(off[:2]) for off in wanted.off if off not in kept.off]:
        notices.append(_("Not in this model, so no longer switched off: {heads}.", heads=_listed(heads)))
    if links := [link_name(cut) for cut in wanted.cuts if cut not in kept.cuts]:
        notices.append(_("Not in this text and model (query → key), so no longer cut: {links}.", links=_listed(links)))
    return notices


def in_words(changes: Changes) -> str:
    """What is changed, on one line: `L3H2 (zero), L1H0 (mean); links cut: L3H2 9 → 3 (...)`; empty if nothing is."""
    parts = []
    if changes.off:
        ways = {"zero": N_("{head} (zero)"), "mean": N_("{head} (mean)")}
        parts.append(_listed(_(ways[off.way], head=head_name((off.layer, off.head))) for off in changes.off))
    if changes.cuts:
        links = _listed(link_name(cut) for cut in changes.cuts)
        parts.append(
            _("links cut: {links} (rows renormalised)", links=links)
            if changes.renormalise
            else _("links cut: {links} (rows not renormalised)", links=links)
        )
    return "; ".join(parts)


def _listed(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    first = ", ".join(names[:most])
    if len(names) <= most:
        return first
    return _("{names} and {n:,} more", names=first, n=len(names) - most)


# --- the session -----------------------------------------------------------------------------------------------------


def get_changes() -> Changes:
    """This session's changes; at the session's start those in the link."""
    if "changes" not in st.session_state:
        st.session_state.changes, notices = read_changes(get_link())
        notify(*notices)
    kept: Changes = st.session_state.changes
    return kept


def set_changes(changes: Changes) -> None:
    """Change this from now on, and nothing else."""
    st.session_state.changes = changes


def restore_all() -> None:
    """Switch every head back on and restore every link."""
    set_changes(NO_CHANGES.with_renormalise(get_changes().renormalise))


def fit_changes(*, n_layers: int, n_heads: int, n_pos: int, moved: int = 0) -> None:
    """Keep the changes that this model and text allow; a notice names the others.

    `moved` says by how many positions the words have moved since the last run.
    """
    changes = get_changes()
    wanted = changes.moved(moved) if moved else changes
    kept = wanted.fitting(n_layers=n_layers, n_heads=n_heads, n_pos=n_pos)
    if kept != changes:
        notify(*dropped(wanted, kept))
        set_changes(kept)
