"""Tokenizers of the `tokenizers` library: their bytes, labels and special tokens, and what they change in a text."""

from __future__ import annotations

import unicodedata
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers

from model.errors import TokenizerError
from model.text.hugging_face import HuggingFaceTokenizer
from model.text.tokenizer import Token
from tests.vocabularies import add, byte_level, like_llama2, like_llama3, like_simple_stories

KINDS = {
    "GPT-2": byte_level,
    "SmolLM2": lambda: byte_level(digits=True),
    "Llama 3": like_llama3,
    "Llama 2": like_llama2,
    "Llama 2, newer": lambda: like_llama2(metaspace=True),
    "SimpleStories": like_simple_stories,
}
EXACT = ("GPT-2", "SmolLM2", "Llama 3")
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
TEXTS = [
    "A robot must obey the orders given it, 12 or 345",
    "  It's  the 1st of  2024,\n\n\tisn't it?  ",
    "\x00 NUL and \x7f DEL \r\n",
    "e\u0301 é ﬁ 👩‍👩‍👧‍👦 橩 عربي",
    "<|endoftext|> <|begin_of_text|><s></s>",
    "<0x41> ▁",
    "",
]


@cache
def _ours(kind: str) -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(KINDS[kind]())


def _copy(tokenizer: HuggingFaceTokenizer) -> tokenizers.Tokenizer:
    """The library's tokenizer once more: training WordPiece twice does not give the same one."""
    return tokenizers.Tokenizer.from_str(tokenizer._tokenizer.to_str())


def _joined(tokenizer: HuggingFaceTokenizer, text: str, *, special: bool = False) -> str:
    return b"".join(token.bytes for token in tokenizer.tokens(tokenizer.encode(text, special=special))).decode()


@pytest.mark.parametrize("kind", EXACT)
@given(text=ANY_TEXT, special=st.booleans())
def test_the_bytes_of_byte_level_tokens_are_the_text(kind, text, special):
    assert _ours(kind).normalises == ""
    assert _joined(_ours(kind), text, special=special) == text


@given(text=ANY_TEXT)
def test_the_bytes_with_fallback_are_the_text_but_for_what_is_said(text):
    assert _ours("Llama 2").normalises == (
        "The tokenizer puts a space in front of the text, or of each part between special tokens. "
        "It reads the sign ▁ as a space."
    )
    assert _joined(_ours("Llama 2"), text) == (" " + text.replace("▁", " ") if text else "")


@given(text=ANY_TEXT)
def test_a_newer_file_puts_a_space_only_where_none_is(text):
    assert _ours("Llama 2, newer").normalises == _ours("Llama 2").normalises
    spaced = text.replace("▁", " ")
    assert _joined(_ours("Llama 2, newer"), text) == (spaced if spaced.startswith(" ") or not text else " " + spaced)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("special", [False, True])
def test_the_ids_are_those_of_transformers(kind, special):
    from transformers import PreTrainedTokenizerFast

    theirs = PreTrainedTokenizerFast(tokenizer_object=_copy(_ours(kind)))
    for text in TEXTS:
        ids = theirs.encode(text, add_special_tokens=False, split_special_tokens=not special)
        assert _ours(kind).encode(text, special=special) == tuple(ids), text


def test_ids_are_not_merge_ranks():
    tokenizer = _ours("GPT-2")
    assert tokenizer.token(0) == Token(0, b"<|endoftext|>", "<|endoftext|>")
    (robot,) = tokenizer.encode(" robot")
    assert tokenizer.token(robot) == Token(robot, b" robot", "·robot")
    assert tokenizer.n_vocab == byte_level().get_vocab_size()


def test_a_byte_looks_different_from_the_character_that_is_a_token_too():
    tokenizer = _ours("Llama 2")
    labels = {byte: tokenizer.token(3 + byte) for byte in b"a \n\xc3"}
    assert [(token.bytes, token.label) for token in labels.values()] == [
        (b"a", "⟨61⟩"), (b" ", "⟨20⟩"), (b"\n", "⏎"), (b"\xc3", "⟨C3⟩")
    ]  # fmt: skip
    shown = [token.label for token in tokenizer.tokens(tokenizer.encode("the robot\né"))]
    assert shown == ["·the", "·robot", "⏎", "⟨C3⟩", "⟨A9⟩"]


@pytest.mark.parametrize("kind", KINDS)
def test_labels_tell_all_tokens_apart(kind):
    tokenizer = _ours(kind)
    labels = [tokenizer.token(token_id).label for token_id in range(tokenizer.n_vocab)]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("beyond", [-1, 10_000, 2**40])
def test_an_id_beyond_the_vocabulary_is_shown_by_its_number(beyond):
    assert _ours("Llama 2").token(beyond) == Token(beyond, b"", f"⟨{beyond}⟩")


def test_special_tokens_in_a_text_are_text_unless_asked_for():
    tokenizer = HuggingFaceTokenizer(like_llama3(), start_id=300, starts=True, end_ids=(301, 302))
    assert tokenizer.has_special
    assert tokenizer.start_label == "<|begin_of_text|>"
    assert tokenizer.end_ids == {301, 302}
    text = "A<|eot_id|>"
    assert tokenizer.encode(text, special=True) == (*tokenizer.encode("A"), 302)
    assert not {300, 301, 302} & set(tokenizer.encode(text))
    assert tokenizer.encode(text, start_token=True, special=True) == (300, *tokenizer.encode("A"), 302)
    assert tokenizer.encode("A") == tokenizer.encode("A", start_token=True)[1:]


def test_added_tokens_that_are_not_special_are_always_read():
    tokenizer = HuggingFaceTokenizer(add(byte_level(), "obey the", special=False))
    assert [token.label for token in tokenizer.tokens(tokenizer.encode("obey the"))] == ["obey·the"]


def test_without_a_start_token_none_can_be_asked_for():
    tokenizer = HuggingFaceTokenizer(byte_level(special=()))
    assert not tokenizer.has_special
    assert tokenizer.start_label == ""
    with pytest.raises(TokenizerError, match="no start token"):
        tokenizer.encode("a", start_token=True)


def test_lone_surrogates_become_the_replacement_character():
    assert _joined(_ours("GPT-2"), "a\ud800b") == "a\ufffdb"


def test_threads_do_not_read_each_others_way():
    tokenizer = _ours("GPT-2")
    text = "<|endoftext|> the robot " * 50
    expected = {special: tokenizer.encode(text, special=special) for special in (False, True)}
    with ThreadPoolExecutor(4) as pool:
        ways = [bool(number % 2) for number in range(200)]
        found = pool.map(lambda special: tokenizer.encode(text, special=special), ways)
    assert all(ids == expected[special] for special, ids in zip(ways, found, strict=True))


def test_what_is_for_training_or_batches_is_switched_off():
    tokenizer = byte_level()
    tokenizer.model.dropout = 1.0
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=9)
    assert HuggingFaceTokenizer(tokenizer).encode("the robot must obey") == _ours("GPT-2").encode("the robot must obey")


def _changed(**parts: object) -> HuggingFaceTokenizer:
    tokenizer = byte_level()
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    return HuggingFaceTokenizer(tokenizer)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@given(text=ANY_TEXT)
def test_a_normal_form_is_said(form, text):
    tokenizer = _changed(normalizer=getattr(normalizers, form)())
    assert tokenizer.normalises == f"It writes equal characters in one way only (Unicode's {form})."
    # The library's tables are newer or older than Python's for a few characters.
    assert _joined(tokenizer, text) == getattr(normalizers, form)().normalize_str(text)
    assert unicodedata.normalize(form, "é ﬁ") == _joined(tokenizer, "é ﬁ")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"normalizer": normalizers.Lowercase()}, "It makes capital letters small."),
        ({"normalizer": normalizers.Strip()}, "It changes white space."),
        ({"normalizer": normalizers.Replace("’", "'")}, "It replaces some characters by others."),
        ({"normalizer": normalizers.BertNormalizer(lowercase=False)}, "It replaces some characters by others."),
        ({"pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=True)}, "puts a space in front of the text"),
        (
            {"pre_tokenizer": pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.ByteLevel()])},
            "It changes white space.",
        ),
    ],
)
def test_each_change_is_said(parts, said):
    assert said in _changed(**parts).normalises


def test_characters_without_tokens_are_said():
    some = tokenizers.Tokenizer(models.BPE(vocab={"a": 0, "b": 1}, merges=[]))
    some.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = HuggingFaceTokenizer(some)
    assert "It has no tokens for some characters" in tokenizer.normalises
    assert _joined(tokenizer, "axb") == "ab"
    partly = HuggingFaceTokenizer(like_llama2(bytes_of_fallback=range(128)))
    assert "It has no tokens for some characters" in partly.normalises
    assert partly.token(partly.encode("é")[-1]).label == "<unk>"


def test_white_space_beside_special_tokens_is_said():
    tokenizer = HuggingFaceTokenizer(add(byte_level(), "<mask>", special=True, lstrip=True))
    assert tokenizer.normalises == "It takes away white space beside some special tokens."
    assert _joined(tokenizer, "a <mask>", special=True) == "a<mask>"


def test_word_pieces_are_words_in_small_letters():
    tokenizer = _ours("SimpleStories")
    shown = tokenizer.tokens(tokenizer.encode("The Róbot, obeying 橩"))
    assert [token.label for token in shown][:3] == ["·the", "·robot", "·,"]
    assert shown[-1] == Token(0, b"[UNK]", "[UNK]")
    assert {token.label[:1] for token in shown[3:-1]} > {"·"}  # pieces inside of words have no space
    for said in ("a space in front", "capital letters small", "accents off", "white space", "no tokens for some"):
        assert said in tokenizer.normalises


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"), "WordLevel"),
        (models.BPE(vocab={"a": 0}, merges=[]), "BPE"),
        (models.BPE(vocab={"a</w>": 0}, merges=[], end_of_word_suffix="</w>"), "BPE with signs at the pieces of words"),
    ],
)
def test_vocabularies_that_do_not_tell_the_text_are_refused(model, kind):
    with pytest.raises(TokenizerError, match=rf"This kind of tokenizer \({kind}\) is not read"):
        HuggingFaceTokenizer(tokenizers.Tokenizer(model))
