"""Example sentences: each names a head of the embedded model and what it does there. Kept in `assets/examples.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from viz.focus import Head

_FILE = Path(__file__).resolve().parent.parent / "assets" / "examples.json"


@dataclass(frozen=True)
class Example:
    """A sentence, the head to look at, the query token to start from, and what shows there."""

    title: str
    text: str
    head: Head
    compare: Head
    query: int
    start_token: bool
    shows: str
    looks_at: int  # the key that gets the largest weight from `query` in `head`


def _read() -> tuple[Example, ...]:
    examples = json.loads(_FILE.read_text("utf-8"))
    return tuple(Example(**{**e, "head": tuple(e["head"]), "compare": tuple(e["compare"])}) for e in examples)


EXAMPLES = _read()
