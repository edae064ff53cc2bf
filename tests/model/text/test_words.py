"""Tokens grouped to words in several scripts, and patterns read word by word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.text.words import Words, group_pattern, group_words

SPLIT = {
    "English": ("A robot must obey unquestioningly.", ["A", " robot", " must", " obey", " unquestioningly", "."]),
    "apostrophes": ("Don't say 'it’s'!", ["Don't", " say", " '", "it’s", "'!"]),
    "digits": ("GPT2's 3rd 1,024", ["GPT2's", " 3rd", " 1", ",", "024"]),
    "punctuation": ("so... (yes?!)", ["so", "...", " (", "yes", "?!)"]),
    "white space": ("a  b\n\n c\td", ["a", " ", " b", "\n\n", " c", "\t", "d"]),
    "only spaces": ("   ", ["   "]),
    "Greek": ("Ελληνικά γράμματα", ["Ελληνικά", " γράμματα"]),
    "Arabic": ("مرحبا بالعالم", ["مرحبا", " بالعالم"]),
    "Persian, joined": ("می‌خواهم بروم", ["می‌خواهم", " بروم"]),
    "Hindi": ("हिन्दी में लिखा।", ["हिन्दी", " में", " लिखा", "।"]),
    "Korean": ("한국어 문장", ["한국어", " 문장"]),
    "Chinese": ("我是学生。", ["我", "是", "学", "生", "。"]),
    "Japanese": ("東京タワーへ", ["東", "京", "タ", "ワー", "へ"]),
    "Thai": ("ช่องว่าง", ["ช่", "อ", "ง", "ว่", "า", "ง"]),
    "marks": ("e\u0301te\u0301 cafe\u0301", ["e\u0301te\u0301", " cafe\u0301"]),
    "emoji": ("👩‍👩‍👧 ok 👍🏽!", ["👩‍👩‍👧", " ok", " 👍🏽", "!"]),
    "flags": ("🇺🇸 a", ["🇺🇸", " a"]),
}


def words_of(pieces: list[bytes], words: Words) -> list[bytes]:
    return [b"".join(pieces[i] for i in span) for span in words.spans]


@pytest.mark.parametrize("name", SPLIT)
def test_words_of_a_text(name):
    """Byte by byte, so that no token stands in the way of the rule."""
    text, expected = SPLIT[name]
    pieces = [bytes([byte]) for byte in text.encode()]
    assert [word.decode() for word in words_of(pieces, group_words(pieces))] == expected


@pytest.mark.parametrize("name", SPLIT)
def test_gpt2s_own_tokens_are_never_cut(gpt2, name):
    text, expected = SPLIT[name]
    pieces = [token.bytes for token in gpt2.tokens(gpt2.encode(text))]
    found = words_of(pieces, group_words(pieces))
    assert b"".join(found).decode() == text
    ends = np.cumsum([len(word.encode()) for word in expected])
    assert set(np.cumsum([len(word) for word in found])) <= set(ends)  # every word ends where one of the rule's ends


def test_a_token_that_spans_two_words_holds_them_together():
    assert group_words([b"a", b"b c", b"d", b" e"]).starts == (0, 3)


def test_broken_bytes_stay_together_and_the_start_token_apart():
    robot = "é".encode()
    pieces = [b"<|endoftext|>", b"a", b" ", robot[:1], b"b", b"\xe6", b"\xa9", b"", b"c"]
    assert group_words(pieces, alone=[0]).starts == (0, 1, 2, 4, 5, 7, 8)
    assert group_words([b"<|endoftext|>", b"a"], alone=[0]).are_tokens


@given(text=st.text(min_size=1, max_size=30), cut=st.integers(0, 3))
def test_words_hold_all_tokens_once_in_order(gpt2, text, cut):
    ids = gpt2.encode(text)
    ids = ids[: max(1, len(ids) - cut)]  # as of a text too long for the model: its last character may be in pieces
    words = group_words([token.bytes for token in gpt2.tokens(ids)])
    assert [i for span in words.spans for i in span] == list(range(len(ids)))
    assert all(span for span in words.spans)
    assert all(i in words.spans[words.word_of(i)] for i in range(len(ids)))
    assert words.are_tokens == (len(words) == len(ids))


def test_a_pattern_word_by_word():
    pattern = np.array([[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.2, 0.3, 0.5, 0.0], [0.1, 0.1, 0.2, 0.6]])
    grouped = group_pattern(pattern, Words((0, 1, 3), 4))
    # From the word of tokens 1 and 2: the mean of (0.5, 0.2) to word 0, of (0.5, 0.8) to itself.
    np.testing.assert_allclose(grouped, [[1, 0, 0], [0.35, 0.65, 0], [0.1, 0.3, 0.6]])
    np.testing.assert_array_equal(group_pattern(pattern, Words((0, 1, 2, 3), 4)), pattern)
    with pytest.raises(ValueError, match="4 tokens"):
        group_pattern(pattern[:3, :3], Words((0,), 4))


@given(data=st.data(), n=st.integers(1, 12))
def test_grouped_rows_add_up_to_one_and_see_no_future(data, n):
    starts = (0, *sorted(data.draw(st.sets(st.integers(1, n - 1)) if n > 1 else st.just(set()))))
    weights = np.tril(np.random.default_rng(n).random((n, n)).astype(np.float32) + 0.01)
    grouped = group_pattern(weights / weights.sum(1, keepdims=True), Words(starts, n))
    assert grouped.shape == (len(starts), len(starts))
    np.testing.assert_allclose(grouped.sum(1), 1, atol=1e-6)
    assert not np.triu(grouped, 1).any()
