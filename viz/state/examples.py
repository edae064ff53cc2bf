"""Example sentences and pairs of sentences, read from `assets/examples.json` and `assets/pairs.json`.

An example sentence names a head of the embedded model and what that head does in it. A pair, for looking at one head on
two sentences, names the words in which they differ, and claims nothing about the head.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from viz.state.focus import Head

_ASSETS = Path(__file__).resolve().parents[2] / "assets"


@dataclass(frozen=True)
class Example:
    """A sentence, the head to look at, the query token to start from, and what can be seen there."""

    title: str
    text: str
    head: Head
    compare: tuple[Head, ...]
    query: int
    start_token: bool
    shows: str
    looks_at: int  # the key that gets the largest weight from `query` in `head`


@dataclass(frozen=True)
class SentencePair:
    """Two sentences that differ in one word, `changed`: as it stands in the first and in the second."""

    title: str
    first: str
    second: str
    changed: tuple[str, str]
    ask: str  # a question that the page's numbers answer


def _examples() -> tuple[Example, ...]:
    examples = json.loads((_ASSETS / "examples.json").read_text("utf-8"))
    return tuple(Example(**{**e, "head": tuple(e["head"]), "compare": (tuple(e["compare"]),)}) for e in examples)


def _pairs() -> tuple[SentencePair, ...]:
    pairs = json.loads((_ASSETS / "pairs.json").read_text("utf-8"))
    return tuple(SentencePair(**{**pair, "changed": tuple(pair["changed"])}) for pair in pairs)


EXAMPLES = _examples()
PAIRS = _pairs()


def partner_of(text: str) -> str | None:
    """The other sentence of the first pair that `text` is in; None if it is in none."""
    for pair in PAIRS:
        if text in (pair.first, pair.second):
            return pair.second if text == pair.first else pair.first
    return None
