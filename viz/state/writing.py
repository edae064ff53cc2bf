"""What the model wrote after the sentence: kept in the session and, so that a link shows it again, in the URL.

`written=1a.2bc.3`, token ids in base 36, and `at=9`, the chosen position (from 1) where it lies beyond the sentence.
The ids are in the link, not their text, since the vocabulary might cut the text into other tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from viz.text.catalogue import _

MOST = 500
"""The most ids that a link holds. A longer text is left out of the link: a part of it would be another text."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_IDS = re.compile(r"[0-9a-z]{1,5}(\.[0-9a-z]{1,5})*")


@dataclass(frozen=True)
class Writing:
    """Ids written after one sentence; `left` tokens are still to be written.

    `at` is the position (from 0) where it lies beyond the sentence; the focus then rests on the sentence's last token.
    """

    sentence: str  # the revision of the view whose sentence is continued
    ids: tuple[int, ...] = ()
    at: int | None = None
    left: int = 0

    def to_params(self) -> dict[str, str]:
        """Query parameters from which `from_params` makes the same, but for `left`."""
        if not self.ids or len(self.ids) > MOST:
            return {}
        params = {"written": ".".join(map(_base36, self.ids))}
        return params if self.at is None else params | {"at": str(self.at + 1)}

    @classmethod
    def from_params(
        cls, params: Mapping[str, str], sentence: str, *, n_typed: int, d_vocab: int, n_ctx: int
    ) -> tuple[Writing, list[str]]:
        """Read a URL for a sentence of `n_typed` tokens.

        What cannot have been written after it is left out and named in the list of notices.
        """
        if "written" not in params:
            return cls(sentence), []
        raw = params["written"]
        matches = len(raw) <= 6 * MOST and _IDS.fullmatch(raw)
        ids = tuple(int(digits, 36) for digits in raw.split(".")) if matches else ()
        if not ids or len(ids) > MOST or max(ids) >= d_vocab:
            return cls(sentence), [_("The link's written is not a list of this model's tokens; it is left out.")]
        if n_typed + len(ids) > n_ctx:
            return cls(sentence), [_("The link's written is longer than this model's context; it is left out.")]
        if "at" not in params:
            return cls(sentence, ids), []
        at = int(params["at"]) - 1 if re.fullmatch(r"[0-9]{1,6}", params["at"]) else -1
        if not n_typed <= at < n_typed + len(ids):
            return cls(sentence, ids), [_("The link's at is not one of the written tokens; it is left out.")]
        return cls(sentence, ids, at), []

    def keep(self) -> None:
        """Keep this in the session."""
        st.session_state.writing = self


def get_kept() -> Writing | None:
    """What this session last wrote, after whichever sentence; None before anything was read from the link."""
    kept: Writing | None = st.session_state.get("writing")
    return kept


def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits
