"""Small vocabularies as `.gguf` files tell them, trained on a few lines."""

from __future__ import annotations

import json
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

LINES = (
    "A robot must obey the orders given it, but it can't harm 1234 people; we'll see what they've done.",
    "def obey(orders):\n\n    return [order for order in orders if order != 42]  # not HARM\r\n",
    "Der Roboter gehorcht 3.14 Befehlen – naïve Café-Gäste, 東京 2025 ２０２５ ½ \t tabs   and spaces   ",
)


def byte_level(
    pre: str | None = "gpt-2", n: int = 420, special: tuple[str, ...] = ("<|endoftext|>",)
) -> dict[str, Any]:
    """Byte-level BPE of `n` tokens, `special` first; the keys of `tokenizer.ggml`."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=n,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(special),
        show_progress=False,
    )
    trained.train_from_iterator(LINES * 2, trainer)
    tokens = sorted(trained.get_vocab(), key=trained.token_to_id)
    told = {
        "model": "gpt2",
        "pre": pre,
        "tokens": tokens,
        "token_type": [3 if token in special else 1 for token in tokens],
        "merges": merges_of(trained),
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    return {name: value for name, value in told.items() if value is not None}


def sentencepiece(n: int = 500) -> dict[str, Any]:
    """SentencePiece's BPE with bytes, scored as its trainer does: the later a token was found, the less."""
    trained = Tokenizer(models.BPE())
    spaced = [("▁" + line.replace(" ", "▁")) for line in LINES * 2]
    alphabet = sorted({char for line in LINES[:2] for char in line.replace(" ", "▁") if char.isprintable()})
    trainer = trainers.BpeTrainer(
        vocab_size=n - 259, initial_alphabet=alphabet, limit_alphabet=len(alphabet), show_progress=False
    )
    trained.train_from_iterator(spaced, trainer)
    learnt = sorted(trained.get_vocab(), key=trained.token_to_id)
    pieces = [piece for piece in learnt if len(piece) > 1] + [piece for piece in learnt if len(piece) == 1]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    return {
        "model": "llama",
        "tokens": tokens,
        "scores": [0.0] * 259 + [-float(rank) for rank in range(len(pieces))],
        "token_type": [2, 3, 3] + [6] * 256 + [1] * len(pieces),
        "bos_token_id": 1,
        "eos_token_id": 2,
        "unknown_token_id": 0,
    }


def merges_of(trained: Tokenizer) -> list[str]:
    """The merges in the order that they were learnt, as `merges.txt` has them."""
    return [" ".join(pair) for pair in json.loads(trained.to_str())["model"]["merges"]]
