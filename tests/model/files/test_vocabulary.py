"""The tokenizer of a folder: which file is read, what the files beside it say, and what is refused by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.errors import CheckpointError, HeadlightError, TokenizerError
from model.files.vocabulary import read_vocabulary
from model.text.tokenizer import ASSETS, Tokenizer
from tests.models import N_REDUCED, write_vocabulary
from tests.vocabularies import (
    add,
    byte_level,
    like_llama2,
    like_llama3,
    like_simple_stories,
    write_files,
    write_tokenizer,
    write_vocab_and_merges,
)

MERGES, VOCAB = "6d1cbeee0f20b3d9449abfede4726ed8212e3aee", "6c7ea1a7e38e3a7f062df639a5b80947f075ffe6"
TEXTS = [
    "A robot must obey the orders given it, 12 or 345",
    "  It's  the 1st of  2024,\n\n\tisn't it?  ",
    "e\u0301 é ﬁ 👩‍👩‍👧‍👦 橩 عربي \x00\x7f\r\n",
    "<|endoftext|> <|begin_of_text|><s></s><pad>",
]
ROWS = 400


def _read(folder: Path, d_vocab: int = ROWS) -> Tokenizer:
    tokenizer, notes = read_vocabulary(folder, d_vocab)
    assert notes == ()
    return tokenizer


def _check_against_transformers(folder: Path, *, special: bool = True) -> None:
    from transformers import AutoTokenizer

    ours, theirs = _read(folder, 60_000), AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    for text in TEXTS:
        ids = theirs.encode(text, add_special_tokens=False, split_special_tokens=True)
        assert ours.encode(text) == tuple(ids), text
        if special:
            assert ours.encode(text, special=True) == tuple(theirs.encode(text, add_special_tokens=False)), text
        with_start = theirs.encode(text, add_special_tokens=True, split_special_tokens=True)
        assert ours.encode(text, start_token=ours.starts) == tuple(with_start), text
    assert ours.start_id == theirs.bos_token_id


# --- which file ----------------------------------------------------------------------------------------------------


def test_only_tokenizer_json_beside_gpt2s_number_of_rows_is_used(tmp_path):
    """What transformers 5 saves; GPT-2's own vocabulary would name every token wrongly."""
    tokenizer = _read(write_tokenizer(tmp_path, byte_level()), 50_257)
    assert tokenizer.n_vocab == byte_level().get_vocab_size()
    assert tokenizer.start_id == 0
    assert [token.label for token in tokenizer.tokens(tokenizer.encode("A robot"))] == ["A", "·robot"]


def test_a_tiktoken_file_is_used(tmp_path):
    write_vocabulary(tmp_path / "vocab.tiktoken")
    tokenizer = _read(tmp_path)
    assert (tokenizer.n_vocab, tokenizer.start_id, tokenizer.starts) == (N_REDUCED, N_REDUCED - 1, False)
    assert tokenizer.end_ids == {N_REDUCED - 1}


def test_tokenizer_json_goes_before_vocab_and_merges(tmp_path):
    write_vocab_and_merges(tmp_path, byte_level())
    assert (
        _read(write_tokenizer(tmp_path, like_simple_stories())).encode("A")[0]
        != _read(write_tokenizer(tmp_path / "other", byte_level())).encode("A")[0]
    )


def test_gpt2s_published_files_give_gpt2s_ids(tmp_path, gpt2):
    shutil.copy(ASSETS / "tiktoken" / VOCAB, tmp_path / "vocab.json")
    shutil.copy(ASSETS / "tiktoken" / MERGES, tmp_path / "merges.txt")
    write_files(tmp_path, config={"model_type": "gpt2", "bos_token_id": 50256, "eos_token_id": 50256})
    tokenizer = _read(tmp_path, 50_257)
    assert (tokenizer.n_vocab, tokenizer.start_id, tokenizer.starts) == (50_257, 50_256, False)
    assert (tokenizer.end_ids, tokenizer.normalises) == ({50_256}, "")
    for text in TEXTS:
        assert tokenizer.encode(text) == gpt2.encode(text)
        assert tokenizer.encode(text, special=True) == gpt2.encode(text, special=True)
    assert all(tokenizer.token(n) == gpt2.token(n) for n in range(0, 50_257, 7))


@pytest.mark.parametrize("rows", [50_257, 50_304, 50_688])
def test_without_any_file_gpt2s_own_is_assumed_and_said(tmp_path, gpt2, rows):
    tokenizer, notes = read_vocabulary(write_files(tmp_path, config={}), rows)
    assert tokenizer.encode("A robot") == gpt2.encode("A robot")
    (note,) = notes
    assert f"Since the model has {rows:,} rows, GPT-2's own is assumed" in note


@pytest.mark.parametrize("rows", [271, 50_256, 50_689, 100_000])
def test_without_any_file_other_sizes_are_refused(tmp_path, rows):
    folder = tmp_path / "mine"
    folder.mkdir()
    with pytest.raises(CheckpointError, match=rf"mine has {rows:,} tokens and no file that lists them"):
        read_vocabulary(folder, rows)


@pytest.mark.parametrize(
    "name",
    [
        "tokenizer.model", "spiece.model", "vocab.txt", "vocab.json", "merges.txt", "vocab.bpe", "qwen.tiktoken",
        "encoder.json", "tokenizer_config.json", "added_tokens.json", "special_tokens_map.json",
        "sentencepiece.bpe.model",
    ],
)  # fmt: skip
def test_a_folder_whose_tokenizer_cannot_be_read_is_refused_by_name(tmp_path, name):
    (tmp_path / name).write_text("{}")
    with pytest.raises(TokenizerError, match=rf"has {name}, but no vocabulary that can be read"):
        read_vocabulary(tmp_path, 50_257)


def test_more_tokens_than_rows_are_refused_and_more_rows_are_not(tmp_path):
    folder = write_tokenizer(tmp_path / "mine", byte_level())
    n = byte_level().get_vocab_size()
    assert _read(folder, n).n_vocab == n
    assert _read(folder, n + 9).token(n + 8).label == f"⟨{n + 8}⟩"
    with pytest.raises(CheckpointError, match=rf"mine: the vocabulary has {n} tokens, but .* only {n - 1} rows"):
        read_vocabulary(folder, n - 1)


# --- the same ids as transformers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokenizer", "config"),
    [
        (byte_level(), {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}),
        (byte_level(digits=True), {"bos_token": "<|endoftext|>"}),
        (like_llama3(), {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"}),
        (like_llama2(), {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}),
        (like_llama2(metaspace=True), {"bos_token": "<s>", "add_bos_token": False}),
        (like_simple_stories(), {"eos_token": "[EOS]", "unk_token": "[UNK]"}),
        (add(byte_level(), "obey the"), {"bos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}),
    ],
    ids=["GPT-2", "SmolLM2", "Llama 3", "Llama 2", "Llama 2, newer", "SimpleStories", "an added word"],
)
def test_tokenizer_json_gives_the_ids_of_transformers(tmp_path, tokenizer, config):
    folder = write_tokenizer(
        tmp_path,
        tokenizer,
        tokenizer_config={"tokenizer_class": "PreTrainedTokenizerFast", **config},
        config={"model_type": "llama"},
    )
    _check_against_transformers(folder)


def test_vocab_and_merges_with_the_start_token_at_0_give_the_ids_of_transformers(tmp_path):
    """What `train_new_from_iterator` leaves: ids do not follow merges."""
    folder = write_vocab_and_merges(tmp_path, byte_level(special=("<|endoftext|>", "<pad>")))
    _check_against_transformers(folder, special=False)
    tokenizer = _read(folder)
    assert (tokenizer.start_id, tokenizer.token(1).label) == (0, "<pad>")
    assert tokenizer.encode("a<|endoftext|>", special=True)[-1] == 0


def test_what_transformers_saves_is_read(tmp_path):
    from transformers import PreTrainedTokenizerFast

    theirs = PreTrainedTokenizerFast(
        tokenizer_object=like_llama3(), bos_token="<|begin_of_text|>", eos_token="<|eot_id|>"
    )
    theirs.add_special_tokens({"pad_token": "<pad>", "additional_special_tokens": ["<|im_start|>"]})
    theirs.save_pretrained(str(tmp_path))
    _check_against_transformers(write_files(tmp_path, config={"model_type": "llama"}))
    assert _read(tmp_path).n_vocab == len(theirs)


# --- the files beside it -------------------------------------------------------------------------------------------


def test_added_tokens_stand_where_their_file_says(tmp_path):
    n = byte_level(special=()).get_vocab_size()
    folder = write_vocab_and_merges(
        tmp_path,
        byte_level(special=()),
        added_tokens={"<pad>": n + 1, "<|endoftext|>": n, "  ": n + 2},
        special_tokens_map={"bos_token": "<|endoftext|>", "pad_token": {"content": "<pad>"}},
    )
    tokenizer = _read(folder)
    assert (tokenizer.n_vocab, tokenizer.start_id) == (n + 3, n)
    assert tokenizer.encode("<|endoftext|><pad>", special=True) == (n, n + 1)
    assert not {n, n + 1} & set(tokenizer.encode("<|endoftext|><pad>"))
    assert tokenizer.encode("  ") == (n + 2,)  # not special: always read


def test_tokens_that_only_the_settings_list_are_added(tmp_path):
    n = byte_level().get_vocab_size()
    decoder = {
        "0": {"content": "<|endoftext|>", "special": True},
        str(n): {"content": "<|im_start|>", "special": True},
        str(n + 1): {"content": "<tool>", "special": False},
    }
    folder = write_tokenizer(
        tmp_path, byte_level(), tokenizer_config={"added_tokens_decoder": decoder, "bos_token": "<|im_start|>"}
    )
    tokenizer = _read(folder)
    assert tokenizer.start_id == n
    assert tokenizer.encode("<tool>") == (n + 1,)
    assert tokenizer.encode("<|im_start|>", special=True) == (n,) != tokenizer.encode("<|im_start|>")


@pytest.mark.parametrize("wrong", [7, 10_000, "last", None])
def test_an_added_token_that_cannot_have_its_id_is_refused(tmp_path, wrong):
    folder = write_vocab_and_merges(tmp_path, byte_level(), added_tokens={"<pad>": wrong})
    with pytest.raises(TokenizerError, match=rf"added_tokens\.json gives '<pad>' the id {wrong}"):
        read_vocabulary(folder, ROWS)


def test_an_added_token_that_the_library_would_number_anew_is_refused(tmp_path):
    folder = write_tokenizer(tmp_path, add(byte_level(), "<pad>", special=True))
    raw = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    raw["added_tokens"][-1]["id"] += 5
    write_files(folder, tokenizer=raw)
    with pytest.raises(TokenizerError, match=r"tokenizer\.json gives '<pad>' the id"):
        read_vocabulary(folder, ROWS)


PLAIN = {"model_type": "gpt2"}


@pytest.mark.parametrize(
    ("tokenizer", "files", "start", "starts"),
    [
        (byte_level(), {}, "<|endoftext|>", False),
        (byte_level(), {"tokenizer_config": {"add_bos_token": True}}, "<|endoftext|>", True),
        (like_llama3(), {}, "<|begin_of_text|>", True),
        # transformers goes by the template of tokenizer.json, whatever the setting says.
        (like_llama3(), {"tokenizer_config": {"add_bos_token": False}}, "<|begin_of_text|>", True),
        (like_llama3(), {"tokenizer_config": {"bos_token": "<|eot_id|>"}}, "<|eot_id|>", False),
        (like_llama2(), {"special_tokens_map": {"bos_token": {"content": "<s>"}}}, "<s>", True),
        (byte_level(special=("<a>", "<b>")), {"config": PLAIN | {"bos_token_id": 1}}, "<b>", False),
        (byte_level(special=("<a>", "<b>")), {"generation_config": {"bos_token_id": 1}}, "<b>", False),
        # transformers' defaults name an id that is an ordinary token of a smaller vocabulary.
        (byte_level(special=("<a>",)), {"config": PLAIN | {"bos_token_id": 9}}, "", False),
        (byte_level(special=("<a>",)), {"tokenizer_config": {"bos_token": "<none>", "add_bos_token": True}}, "", False),
        (byte_level(special=("<a>",)), {"tokenizer_config": {"bos_token": 7, "extra_special_tokens": {}}}, "", False),
    ],
)
def test_where_texts_start(tmp_path, tokenizer, files, start, starts):
    read = _read(write_tokenizer(tmp_path, tokenizer, **files))
    assert (read.start_label, read.starts) == (start, starts)


@pytest.mark.parametrize(
    ("tokenizer", "files", "ends"),
    [
        (byte_level(), {}, {"<|endoftext|>"}),
        (like_llama3(), {"tokenizer_config": {"eos_token": "<|eot_id|>"}}, {"<|eot_id|>"}),
        (like_llama3(), {"generation_config": {"eos_token_id": [301, 5, 9_999]}}, {"<|end_of_text|>"}),
        (like_llama2(), {"config": {"eos_token_id": 2}}, {"</s>"}),
        (like_llama2(), {}, set()),
        (
            byte_level(special=("<|endoftext|>", "<|im_end|>")),
            {"tokenizer_config": {"eos_token": "<|im_end|>"}, "config": PLAIN | {"eos_token_id": 0}},
            {"<|endoftext|>", "<|im_end|>"},
        ),
    ],
)  # fmt: skip
def test_where_texts_end(tmp_path, tokenizer, files, ends):
    read = _read(write_tokenizer(tmp_path, tokenizer, **files))
    assert {read.token(token_id).label for token_id in read.end_ids} == ends


def test_a_start_token_that_is_only_named_becomes_special(tmp_path):
    folder = write_vocab_and_merges(tmp_path, byte_level(special=("<s>",)), tokenizer_config={"bos_token": "<s>"})
    tokenizer = _read(folder)
    assert tokenizer.has_special
    assert tokenizer.encode("<s>", special=True) == (0,) != tokenizer.encode("<s>")


def test_a_space_in_front_is_read_from_the_settings(tmp_path):
    folder = write_vocab_and_merges(tmp_path, byte_level(), tokenizer_config={
        "add_prefix_space": True, "tokenizer_class": "GPT2Tokenizer"
    })  # fmt: skip
    assert [token.label for token in _read(folder).tokens(_read(folder).encode("robot"))] == ["·robot"]
    assert "puts a space in front" in _read(folder).normalises


# --- damaged -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "settings", "kind"),
    [
        ({"model_type": "qwen2"}, {}, "qwen2"),
        ({"model_type": "gpt2"}, {"tokenizer_class": "Qwen2Tokenizer"}, "Qwen2Tokenizer"),
        ({}, {}, "None"),
    ],
)
def test_vocab_and_merges_whose_words_are_cut_in_another_way_are_refused(tmp_path, config, settings, kind):
    folder = write_vocab_and_merges(tmp_path, byte_level(), config=config, tokenizer_config=settings)
    with pytest.raises(TokenizerError, match=rf"do not say how {kind} cuts words"):
        read_vocabulary(folder, ROWS)


@pytest.mark.parametrize(
    ("vocab", "merges", "message"),
    [
        ("", "", r"vocab\.json cannot be read as JSON"),
        ("[" * 100_000, "", r"vocab\.json cannot be read as JSON"),
        ("[1, 2]", "", r"vocab\.json must hold an object, not list"),
        ('{"a": "x"}', "", r"vocab\.json \+ merges\.txt cannot be read as a tokenizer"),
        ('{"a": -1}', "", r"vocab\.json \+ merges\.txt cannot be read as a tokenizer"),
        ('{"a": 1000000000000}', "", r"vocab\.json \+ merges\.txt cannot be read as a tokenizer"),
        ('{"a": 0, "b": 1}', "a b", r"vocab\.json \+ merges\.txt cannot be read as a tokenizer"),
        ('{"a": 0, "b": 1, "ab": 2}', "a b c", r"vocab\.json \+ merges\.txt cannot be read as a tokenizer"),
        ('{"a": 0, "b": 1, "ab": 2}', "ab", r"vocab\.json \+ merges\.txt cannot be read as a tokenizer"),
        ('{"a": 0, "b": 0}', "", r"vocab\.json gives two tokens the same id"),
        ('{"a": 4000000000}', "", r"has 4,000,000,001 tokens, but the model has only 400 rows"),
    ],
)
def test_a_published_vocabulary_that_is_wrong(tmp_path, vocab, merges, message):
    (tmp_path / "vocab.json").write_text(vocab)
    (tmp_path / "merges.txt").write_text(merges)
    with pytest.raises(HeadlightError, match=message):
        read_vocabulary(write_files(tmp_path, config={"model_type": "gpt2"}), ROWS)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b'{"model": {"type": "BPE"}}', b"[" * 100_000])
def test_a_tokenizer_json_that_is_none(tmp_path, content):
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(TokenizerError, match=r"tokenizer\.json cannot be read as a tokenizer"):
        read_vocabulary(tmp_path, ROWS)


@pytest.mark.parametrize("name", ["tokenizer_config", "special_tokens_map", "added_tokens", "generation_config"])
def test_damaged_settings_are_named(tmp_path, name):
    folder = write_tokenizer(tmp_path, byte_level())
    (folder / f"{name}.json").write_text("{")
    with pytest.raises(TokenizerError, match=rf"{name}\.json cannot be read as JSON"):
        read_vocabulary(folder, ROWS)


@settings(max_examples=150)
@given(data=st.data())
def test_no_damage_of_a_tokenizer_escapes_as_another_error(tmp_path_factory, data):
    raw = json.loads(byte_level().to_str())
    place: Any = raw
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(st.sampled_from([None, -1, 2**40, 1.5, "x", [], {}, True, ["a", "b"]]))
    folder = write_files(tmp_path_factory.mktemp("damaged"), tokenizer=raw)
    try:
        tokenizer = _read(folder)
    except HeadlightError:
        return
    tokenizer.tokens(tokenizer.encode("A robot é<|endoftext|>", special=True))
