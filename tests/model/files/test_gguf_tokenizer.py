"""Tokenizers of `.gguf` files: equal to the published ones that they stand for, and to llama.cpp's rules."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import tiktoken
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import BPE
from transformers.convert_slow_tokenizer import bytes_to_unicode

from model.errors import TokenizerError
from model.files.gguf_tokenizer import GGUFVocabulary, read_vocabulary
from model.text.hugging_face import HuggingFaceTokenizer
from tests.gguf_vocabularies import LINES, byte_level, sentencepiece

TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from([*" \n\r\t'.12½२東aé'", "'LL", "'re", "  ", "\r\n", "order", " obey", "robot", "é"])).map(
        "".join
    ),
)


def told(vocabulary: dict[str, Any]) -> dict[str, Any]:
    """`vocabulary` as metadata."""
    return {f"tokenizer.ggml.{name}": value for name, value in vocabulary.items()}


def read(vocabulary: dict[str, Any], **changes: Any) -> GGUFVocabulary:
    """`vocabulary` with changes, read; a change to None leaves a key out."""
    changed = {name: value for name, value in {**vocabulary, **changes}.items() if value is not None}
    return read_vocabulary(told(changed), "mine.gguf")


def ids(tokenizer: Any, text: str) -> list[int]:
    """The ids of `text` alone."""
    if isinstance(tokenizer, Tokenizer):
        return tokenizer.encode(text, add_special_tokens=False).ids
    return tokenizer.encode(text, add_special_tokens=False)


def published(pre: str) -> Any:
    """The published tokenizer that `pre` stands for, over the same vocabulary."""
    vocabulary = byte_level(pre)
    tokens = {token: token_id for token_id, token in enumerate(vocabulary["tokens"])}
    merges = [tuple(merge.split(" ")) for merge in vocabulary["merges"]]
    if pre == "gpt-2":
        return transformers.GPT2Tokenizer(vocab=tokens, merges=merges)
    if pre == "qwen2":
        return transformers.Qwen2Tokenizer(vocab=tokens, merges=merges)
    theirs = Tokenizer(BPE(tokens, merges))  # as in SmolLM2's tokenizer.json
    digits = pre_tokenizers.Digits(individual_digits=True)
    theirs.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return theirs


@pytest.mark.parametrize("pre", ["gpt-2", "qwen2", "smollm"])
def test_equal_to_the_published_tokenizers(pre):
    ours, theirs = read(byte_level(pre)).tokenizer, published(pre)

    @given(TEXTS)
    def equal(text: str) -> None:
        assert ids(ours, text) == ids(theirs, text)

    equal()
    for line in LINES:
        assert ids(ours, line) == ids(theirs, line)
        assert ours.decode(ids(ours, line)) == line


def test_llama_3s_is_equal_to_tiktoken():
    """Llama 3's own tokenizer is tiktoken's, with this pattern (the published `llama/tokenizer.py`)."""
    vocabulary = byte_level("llama-bpe")
    to_byte = {char: byte for byte, char in bytes_to_unicode().items()}
    ranks = {
        bytes(to_byte[char] for char in token): token_id
        for token_id, token in enumerate(vocabulary["tokens"])
        if token_id
    }
    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    theirs = tiktoken.Encoding("llama 3", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 0})
    ours = read(vocabulary).tokenizer

    @given(TEXTS)
    def equal(text: str) -> None:
        assert ids(ours, text) == theirs.encode_ordinary(text)

    equal()
    for line in LINES:
        assert ids(ours, line) == theirs.encode_ordinary(line)


def test_a_word_that_is_a_token_is_taken_whole():
    vocabulary = byte_level("llama-bpe")
    vocabulary["tokens"].append("zzz")
    vocabulary["token_type"].append(1)
    assert len(ids(read(vocabulary).tokenizer, "zzz")) == 1
    assert len(ids(read(vocabulary, pre="smaug-bpe").tokenizer, "zzz")) == 3


def test_without_a_rule_texts_are_cut_as_in_llama_cpp():
    """`default`: punctuation, GPT-2's pattern, digits in threes."""
    pieces = read(byte_level(None)).tokenizer.pre_tokenizer.pre_tokenize_str("it's 12345 (ok)")
    assert [piece for piece, _ in pieces] == ["it", "'", "s", "Ġ", "123", "45", "Ġ", "(", "ok", ")"]


def by_llama_cpp(vocabulary: dict[str, Any], text: str) -> list[int]:
    """SentencePiece's BPE as llama.cpp does it: of all neighbours the best-scored token, the leftmost of equals."""
    known = {token: token_id for token_id, token in enumerate(vocabulary["tokens"])}
    scores = vocabulary["scores"]
    parts = list(("▁" + text if text else "").replace(" ", "▁"))
    while True:
        best = min(
            (
                (-scores[known[left + right]], at)
                for at, (left, right) in enumerate(pairwise(parts))
                if left + right in known
            ),
            default=None,
        )
        if best is None:
            break
        parts[best[1] : best[1] + 2] = ["".join(parts[best[1] : best[1] + 2])]
    return [
        token_id
        for part in parts
        for token_id in ([known[part]] if part in known else [known[f"<0x{byte:02X}>"] for byte in part.encode()])
    ]


def test_sentencepiece_is_equal_to_llama_cpp():
    vocabulary = sentencepiece()
    ours = read(vocabulary).tokenizer

    @given(TEXTS)
    def equal(text: str) -> None:
        assert ids(ours, text) == by_llama_cpp(vocabulary, text)
        assert ours.decode(ids(ours, text), skip_special_tokens=False) == text

    equal()
    for line in LINES:
        assert ids(ours, line) == by_llama_cpp(vocabulary, line)


def test_sentencepiece_without_the_space_in_front():
    ours = read(sentencepiece(), add_space_prefix=False).tokenizer
    assert ours.encode("robot", add_special_tokens=False).tokens[0][0] == "r"
    assert ours.decode(ids(ours, "robot orders")) == "robot orders"


@pytest.mark.parametrize(
    ("vocabulary", "changes", "start_id", "starts", "ends"),
    [
        (byte_level("gpt-2"), {}, 0, False, {0}),
        (byte_level("gpt-2"), {"add_bos_token": True}, 0, True, {0}),
        (byte_level("llama-bpe"), {}, 0, True, {0}),
        (byte_level("llama-bpe"), {"add_bos_token": False}, 0, False, {0}),
        (byte_level("llama-bpe"), {"bos_token_id": None}, None, False, {0}),
        (byte_level("gpt-2"), {"bos_token_id": 9999}, None, False, {0}),
        (
            byte_level("smollm", special=("<|endoftext|>", "<|im_start|>", "<|im_end|>")),
            {"bos_token_id": 1},
            1,
            False,
            {0, 2},
        ),
        (byte_level("gpt-2"), {"eos_token_id": 7, "eot_token_id": 8}, 0, False, {0, 7, 8}),
        (sentencepiece(), {}, 1, True, {2}),
        (sentencepiece(), {"bos_token_id": None, "eos_token_id": None}, 1, True, {2}),
        (sentencepiece(), {"add_bos_token": False}, 1, False, {2}),
    ],
)
def test_start_and_end(vocabulary, changes, start_id, starts, ends):
    found = read(vocabulary, **changes)
    assert (found.start_id, found.starts, found.end_ids) == (start_id, starts, ends)


@pytest.mark.parametrize(
    ("vocabulary", "space"), [(byte_level("gpt-2"), ""), (byte_level("llama-bpe"), ""), (sentencepiece(), " ")]
)
def test_every_token_knows_its_bytes(vocabulary, space):
    """Joined, they are the text; SentencePiece puts a space in front."""
    found = read(vocabulary)
    ours = HuggingFaceTokenizer(found.tokenizer, start_id=found.start_id, end_ids=found.end_ids, starts=found.starts)

    @given(TEXTS.filter(bool))
    def joined(text: str) -> None:
        assert b"".join(token.bytes for token in ours.tokens(ours.encode(text))).decode() == space + text

    joined()
    special = "<|endoftext|>" if not space else "</s>"
    assert ours.decode(ours.encode(special)) == space + special
    assert not set(ours.encode(special)) & {*found.end_ids}
    assert ours.encode("a", start_token=True) == (found.start_id, *ours.encode("a"))
    assert ours.token(99_999).bytes == b""


def test_control_tokens_are_special_and_a_users_own_are_found_in_texts():
    vocabulary = byte_level("gpt-2")
    vocabulary["tokens"] += ["<think>"]
    vocabulary["token_type"] += [4]
    ours = read(vocabulary).tokenizer
    added = ours.get_added_tokens_decoder()
    assert {token_id: token.special for token_id, token in added.items()} == {
        0: True,
        len(vocabulary["tokens"]) - 1: False,
    }
    assert ids(ours, "<think>") == [len(vocabulary["tokens"]) - 1]
    ours.encode_special_tokens = True
    assert 0 not in ids(ours, "<|endoftext|>")


@pytest.mark.parametrize(
    ("vocabulary", "changes", "message"),
    [
        (byte_level(), {"model": None}, r"tokenizer\.ggml\.model = None; expected str"),
        (byte_level(), {"model": "bert"}, "kind 'bert'; known are gpt2, llama"),
        (byte_level(), {"pre": "klingon"}, "rule 'klingon'.*known are default, gpt-2"),
        (byte_level(), {"pre": 3}, "expected str"),
        (byte_level(), {"tokens": None}, "tokens = None; expected list"),
        (byte_level(), {"tokens": [1, 2]}, "tokens must be a list of str"),
        (byte_level(), {"merges": None}, "merges = None"),
        (byte_level(), {"merges": ["q qq"]}, "contradicts itself"),
        (byte_level(), {"merges": ["a b c"]}, "contradicts itself"),
        (byte_level(), {"token_type": [1, 1]}, "token_type has 2 entries for 4.. tokens"),
        (byte_level(), {"add_bos_token": "yes"}, "add_bos_token = 'yes'; expected bool"),
        (sentencepiece(), {"scores": None}, "scores = None"),
        (sentencepiece(), {"scores": [0.0]}, "scores has 1 entries"),
    ],
)
def test_what_cannot_be_read_is_named(vocabulary, changes, message):
    with pytest.raises(TokenizerError, match=message):
        read(vocabulary, **changes)
