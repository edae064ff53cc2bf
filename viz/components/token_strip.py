"""The token strip: a text as a row of chips, shaded by how much the chosen token attends to each of them.

The browser has every weight and steps without the server; Python learns only of the final choice. See `_reconcile` for
how the two stay in sync, and `token_strip/strip.js` for the browser's side.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float

from viz.components.build import build
from viz.components.packed_weights import pack
from viz.components.strip_words import Unit, strip_words

_render = build("token_strip", "words.js", "cells.js", "unpack.js", "picture.js", "strip.js")


@dataclass(frozen=True)
class StripHead:
    """One attention head's weights over the text."""

    name: str  # "L3H7"
    pattern: Float[np.ndarray, "query key"]  # softmax weights, rows sum to 1, zero above the diagonal


@dataclass(frozen=True)
class _Report:
    """A choice as the browser reports it."""

    query: int
    revision: str
    count: int  # the number of choices made in the browser so far


@dataclass(frozen=True)
class _Sent:
    """What Python last told the browser to show; kept in the session between reruns."""

    revision: str
    command: str  # identifies the command; the browser follows each command once
    query: int  # the position it commands
    seen: int  # the count of the last choice that Python knew of at the time
    passed: int  # the query of the latest call
    returned: int  # the result of the latest call


def token_strip(
    labels: Sequence[str],
    heads: Sequence[StripHead],
    *,
    query: int,
    revision: str,
    key: str,
    on_change: Callable[[], None],
    titles: Sequence[str] | None = None,
    hover: bool = False,
    unit: Unit = "token",
) -> int:
    """Draw the strip and return the chosen query position (0-based), clamped to the text.

    `labels` are the tokens in printable form, `titles` their full form for tooltips. `revision` identifies the text: a
    new one makes the browser drop its choice and show `query`; so does another `query` for the same text. `on_change`
    is called once a choice is final; inside it `chosen_query(key)` returns the token. With `hover` the browser previews
    the token under the pointer, in all heads, until one is chosen; Esc resumes the preview. `unit` is the strip's word
    for a position. Raises ValueError if labels, titles and heads do not fit together.
    """
    _check(labels, heads, titles)
    query = clamp(query, len(labels))
    memory = f"{key}:sent"
    sent = _reconcile(st.session_state.get(memory), _report(key, len(labels)), query, revision)
    st.session_state[memory] = sent

    def settled() -> None:
        # A choice made on the old text may arrive after the new text was sent; it is ignored.
        if chosen_query(key) is not None:
            on_change()

    packed = pack([head.pattern for head in heads])
    _render(
        key=key,
        data={
            "id": key,
            "revision": revision,
            "labels": list(labels),
            "titles": list(titles if titles is not None else labels),
            "heads": [head.name for head in heads],
            "hover": hover,
            "words": strip_words(unit),
            "scale": packed.scale,
            "packed": packed.name,
            "weights": packed.table,
            # Changes only when Python commands. While the browser steps, the message stays identical, and Streamlit's
            # message cache sends a reference in place of a megabyte of weights.
            "command": {"id": sent.command, "query": sent.query, "seen": sent.seen},
        },
        on_choice_change=settled,
    )
    return sent.returned


def chosen_query(key: str) -> int | None:
    """The position last chosen in the browser for the current text, or None; for use inside `on_change`."""
    sent, report = st.session_state.get(f"{key}:sent"), _report(key)
    return report.query if sent and report and report.revision == sent.revision else None


def clamp(query: int, tokens: int) -> int:
    """The position nearest to `query` in a text of `tokens` tokens."""
    return min(max(int(query), 0), tokens - 1)


def _report(key: str, tokens: int | None = None) -> _Report | None:
    """The browser's last report; None if there is none or it is malformed, as input from outside can be."""
    state: Any = st.session_state.get(key)
    choice = state.get("choice") if hasattr(state, "get") else None
    if not isinstance(choice, dict):
        return None
    query, revision, count = choice.get("query"), choice.get("revision"), choice.get("count")
    if type(query) is not int or type(count) is not int or not isinstance(revision, str) or query < 0:
        return None
    return _Report(query if tokens is None else clamp(query, tokens), revision, count)


def _reconcile(sent: _Sent | None, report: _Report | None, query: int, revision: str) -> _Sent:
    """Decide which choice wins: the browser's last report or the caller's `query`.

    A reported choice wins until the caller passes something other than what it was told. Only then is a new command
    sent. It carries the count of the last choice known here, so that the browser can tell a command that takes its
    latest step into account (follow it) from a late answer to an earlier one (keep the step and report it again).
    """
    count = report.count if report else sent.seen if sent else 0
    if sent is None or sent.revision != revision:
        return _Sent(revision, secrets.token_hex(4), query, count, query, query)
    if report is None or report.revision != revision or report.count <= sent.seen:
        shown, commanded = sent.query, query != sent.query
    else:
        # A caller may repeat what it was told, lag a rerun behind, or always pass the same: none of it is a command.
        shown, commanded = report.query, query not in (report.query, sent.passed, sent.returned)
    if commanded:
        return _Sent(revision, secrets.token_hex(4), query, count, query, query)
    return replace(sent, passed=query, returned=shown)


def _check(labels: Sequence[str], heads: Sequence[StripHead], titles: Sequence[str] | None) -> None:
    """Raise a ValueError that names the problem if the arguments do not fit together."""
    tokens = len(labels)
    if tokens == 0:
        raise ValueError("The token strip was given no tokens; it needs at least one label.")
    if len(heads) == 0:
        raise ValueError("The token strip was given no heads; pass one StripHead, or several to compare them.")
    if titles is not None and len(titles) != tokens:
        raise ValueError(f"The token strip was given {len(titles)} titles for {tokens} labels; pass one a label.")
    for head in heads:
        _check_pattern(head.name, head.pattern, tokens)


def _check_pattern(name: str, pattern: np.ndarray, tokens: int) -> None:
    """Raise a ValueError if `pattern` is not a matrix of softmax weights over `tokens` tokens."""
    if pattern.shape != (tokens, tokens):
        raise ValueError(f"The pattern of {name} has shape {pattern.shape}; {tokens} labels need {(tokens, tokens)}.")
    sums = pattern.sum(axis=-1, dtype=np.float64)
    fitting = np.isclose(sums, 1, atol=1e-3)  # false for NaN and infinity
    if not fitting.all():
        row = int(np.argmin(fitting))
        raise ValueError(
            f"The pattern of {name} sums to {sums[row]:.4g} in row {row}; softmax weights sum to 1 in each row."
        )
    if np.triu(pattern, 1).any():
        raise ValueError(f"The pattern of {name} has weight above its diagonal; mask the future before the softmax.")
    if pattern.min() < 0:
        raise ValueError(f"The pattern of {name} holds {pattern.min():.4g}; softmax weights are never negative.")
