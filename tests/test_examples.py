"""Each example shows what it says: its head really looks there, in the embedded model."""

from __future__ import annotations

import pytest

from model.checkpoint import load_model
from model.trace import run_trace
from viz.examples import EXAMPLES, Example
from viz.focus import clean_text


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_the_head_does_what_the_example_says(example: Example) -> None:
    model = load_model()
    ids = model.tokenizer.encode(example.text, start_token=example.start_token)
    row = run_trace(model.network, ids).pattern(*example.head)[example.query]
    assert row.argmax() == example.looks_at
    assert row[example.looks_at] >= 0.3
    for position in (example.query, example.looks_at):
        word = model.tokenizer.token(ids[position]).label.strip("·")
        assert f"“{word}”" in example.shows


def test_examples_differ_and_fit() -> None:
    model = load_model()
    assert len({example.title for example in EXAMPLES}) == len({example.text for example in EXAMPLES}) == len(EXAMPLES)
    for example in EXAMPLES:
        assert clean_text(example.text) == example.text
        assert len(model.tokenizer.encode(example.text, start_token=True)) <= model.config.n_ctx
        assert example.compare != example.head
