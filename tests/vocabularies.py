"""Tiny tokenizers of the `tokenizers` library, one of each kind that is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers

STORY = ["A robot must obey the orders given it by human beings.", "The robot obeys the robot, and 12 or 345 others."]
LLAMA3_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_level(*, special: tuple[str, ...] = ("<|endoftext|>",), digits: bool = False) -> tokenizers.Tokenizer:
    """Byte-level BPE, its special tokens first, as `train_new_from_iterator` leaves them; `digits` as in SmolLM2."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), words]) if digits else words
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(STORY, trainer)
    return tokenizer


def like_llama3() -> tokenizers.Tokenizer:
    """Byte-level BPE as Llama 3 has it: its own rule for words, special tokens last, the start token put in front."""
    tokenizer = byte_level(special=())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(LLAMA3_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"])
    return with_start(tokenizer, "<|begin_of_text|>")


def like_llama2(*, bytes_of_fallback: range = range(256), metaspace: bool = False) -> tokenizers.Tokenizer:
    """BPE with `▁` for a space and bytes to fall back on, as Llama 2 has it, or as newer files say the same."""
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2} | {f"<0x{byte:02X}>": 3 + byte for byte in bytes_of_fallback}
    merges = [("▁", "t"), ("h", "e"), ("▁t", "he"), ("r", "o"), ("b", "o"), ("bo", "t"), ("ro", "bot"), ("▁", "robot")]
    for token in (*"▁abcdehimnorstuy.", *(left + right for left, right in merges)):
        vocab[token] = max(vocab.values()) + 1
    model = models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer = tokenizers.Tokenizer(model)
    if metaspace:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="first", split=False)
    else:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return with_start(tokenizer, "<s>")


def like_simple_stories() -> tokenizers.Tokenizer:
    """WordPiece in small letters without accents."""
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Punctuation(), pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True)]
    )
    trainer = trainers.WordPieceTrainer(vocab_size=80, special_tokens=["[UNK]", "[EOS]"], show_progress=False)
    tokenizer.train_from_iterator(STORY, trainer)
    return tokenizer


def with_start(tokenizer: tokenizers.Tokenizer, token: str) -> tokenizers.Tokenizer:
    """`tokenizer`, which puts `token` in front of a text by itself."""
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{token} $A", pair=f"{token} $A {token} $B", special_tokens=[(token, tokenizer.token_to_id(token))]
    )
    return tokenizer


def add(tokenizer: tokenizers.Tokenizer, content: str, **flags: bool) -> tokenizers.Tokenizer:
    """`tokenizer` with one more token."""
    tokenizer.add_tokens([AddedToken(content, **flags)])
    return tokenizer


def write_tokenizer(folder: Path, tokenizer: tokenizers.Tokenizer, **files: Any) -> Path:
    """Write `tokenizer.json`, and what `files` say under their names (`tokenizer_config={...}`)."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return write_files(folder, **files)


def write_files(folder: Path, **files: Any) -> Path:
    """Write each of `files` as JSON under its name."""
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), "utf-8")
    return folder


def write_vocab_and_merges(folder: Path, tokenizer: tokenizers.Tokenizer, **files: Any) -> Path:
    """Write `vocab.json` and `merges.txt`, the layout that GPT-2 was published in, for a GPT-2 model."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.model.save(str(folder))
    return write_files(folder, **{"config": {"model_type": "gpt2"}, **files})
