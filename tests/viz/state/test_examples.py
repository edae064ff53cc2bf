"""Each example shows what it says: its head really looks there, in the embedded model."""

from __future__ import annotations

import pytest

from model.files.checkpoint import load_model
from model.text.align import align
from model.trace.trace import run_trace
from viz.state.examples import EXAMPLES, PAIRS, Example, SentencePair
from viz.state.focus import clean_text


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
        assert example.head not in example.compare


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.title)
def test_a_pair_differs_in_the_word_it_names_and_in_nothing_else(pair: SentencePair) -> None:
    old, new = pair.changed
    words, others = pair.first.split(), pair.second.split()
    alike = align([hash(word) for word in words], [hash(word) for word in others])
    assert [words[i].strip(".") for gap in alike.gaps for i in gap[0]] == [old]
    assert [others[i].strip(".") for gap in alike.gaps for i in gap[1]] == ([new] if new else [])


def test_pairs_differ_and_their_tokens_outside_the_word_are_partners() -> None:
    model = load_model()
    assert len({pair.title for pair in PAIRS}) == len({pair.first for pair in PAIRS}) == len(PAIRS)
    for pair in PAIRS:
        first, second = (model.tokenizer.encode(text, start_token=True) for text in (pair.first, pair.second))
        assert max(len(first), len(second)) <= model.config.n_ctx
        of_the_word = len(model.tokenizer.encode(f" {pair.changed[0]}"))
        assert len(align(first, second).first) >= len(first) - of_the_word
