"""What the model wrote after the sentence: kept in the session and, so that a link shows it again, in the URL.

`written=1a.2bc.3`, token ids in base 36, and `at=9`, the chosen position (from 1) where it lies beyond the sentence.
They are read back as ids, since the vocabulary might cut the same text in other pieces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

MOST = 500
"""So many ids a link holds; of a longer text none, as a part of it would be another text."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_IDS = re.compile(r"[0-9a-z]{1,5}(\.[0-9a-z]{1,5})*")


@dataclass(frozen=True)
class Writing:
    """Ids written after one sentence, never read from text again; `left` are still to be written.

    `at` is the position (from 0) where it lies beyond the sentence; the focus then rests on the sentence's last token.
    """

    sentence: str  # the revision of the view whose sentence is continued
    ids: tuple[int, ...] = ()
    at: int | None = None
    left: int = 0


def to_params(writing: Writing) -> dict[str, str]:
    """Query parameters from which `from_params` makes the same, but for what is still to be written."""
    if not writing.ids or len(writing.ids) > MOST:
        return {}
    params = {"written": ".".join(map(_base36, writing.ids))}
    return params if writing.at is None else params | {"at": str(writing.at + 1)}


def from_params(params: Mapping[str, str], sentence: str, *, n_typed: int, d_vocab: int, n_ctx: int) -> Writing:
    """Read a URL for a sentence of `n_typed` tokens. What cannot have been written after it is left out."""
    written = params.get("written", "")
    if len(written) > 6 * MOST or not _IDS.fullmatch(written):
        return Writing(sentence)
    ids = tuple(int(digits, 36) for digits in written.split("."))
    if len(ids) > MOST or max(ids) >= d_vocab or n_typed + len(ids) > n_ctx:
        return Writing(sentence)
    at = int(params["at"]) - 1 if re.fullmatch(r"[0-9]{1,6}", params.get("at", "")) else -1
    return Writing(sentence, ids, at if n_typed <= at < n_typed + len(ids) else None)


def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits


# --- the session -----------------------------------------------------------------------------------------------------


def get_kept() -> Writing | None:
    """What this session last wrote, after whichever sentence."""
    kept: Writing | None = st.session_state.get("writing")
    return kept


def keep(writing: Writing) -> None:
    """Keep what was written."""
    st.session_state.writing = writing
