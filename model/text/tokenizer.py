"""Text to tokens and back, with GPT-2's byte-level BPE (Radford et al. 2019, section 2.2) through tiktoken.

A vocabulary comes from one of three places, all read the same way into a `tiktoken.Encoding`: tiktoken's own `gpt2`, a
`vocab.tiktoken` file beside the weights, or Hugging Face's `vocab.json` + `merges.txt`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import threading
from dataclasses import dataclass
from functools import cache, lru_cache
from gettext import gettext as _
from pathlib import Path
from typing import Any

import tiktoken
from tiktoken_ext.openai_public import r50k_pat_str

from model.errors import TokenizerError
from model.text.token_label import token_label

ASSETS = Path(__file__).resolve().parents[2] / "assets"
START_TOKEN = "<|endoftext|>"
# tiktoken caches its two source files under the SHA-1 of their address and checks their SHA-256.
_GPT2_FILES = {
    "6d1cbeee0f20b3d9449abfede4726ed8212e3aee": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
    "6c7ea1a7e38e3a7f062df639a5b80947f075ffe6": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
}
_MOST_TOKENS = 10_000_000  # more than any vocabulary has
_environment = threading.Lock()


@dataclass(frozen=True)
class Token:
    """One piece of the text: its number in the vocabulary, its exact bytes, and how it is shown."""

    id: int
    bytes: bytes
    label: str


class Tokenizer:
    """Encodes text into ids and tells what each id stands for. Immutable; safe to share between threads."""

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self._encoding = encoding
        self.n_vocab: int = encoding.n_vocab
        self.start_id: int | None = encoding._special_tokens.get(START_TOKEN)
        self._token = lru_cache(maxsize=100_000)(self._make_token)

    @classmethod
    def gpt2(cls) -> Tokenizer:
        """GPT-2's own vocabulary, from the files in `assets/`: nothing is downloaded."""
        return cls(_gpt2_encoding())

    @classmethod
    def from_tiktoken_file(cls, path: Path | str) -> Tokenizer:
        """Read a `.tiktoken` file: a token in base64 and its rank on each line; the start token gets the next id.

        Raises:
            TokenizerError: the file is unreadable, its ranks are not 0, 1, 2, ..., or a single byte is missing.
        """
        path = Path(path)
        ranks: dict[bytes, int] = {}
        try:
            for line in path.read_bytes().splitlines():
                token, rank = line.split()
                ranks[base64.b64decode(token, validate=True)] = int(rank)
        except (OSError, ValueError, binascii.Error) as error:
            raise TokenizerError(
                _(
                    "{name} cannot be read as a .tiktoken vocabulary ({error}); each line must hold a token "
                    "in base64, a space and its rank."
                ).format(name=path.name, error=error)
            ) from error
        return cls(_encoding(path.name, ranks, {START_TOKEN: len(ranks)}))

    @classmethod
    def from_hugging_face_files(cls, vocab: Path, merges: Path) -> Tokenizer:
        """Read `vocab.json` and `merges.txt` of a GPT-2 checkpoint.

        Raises:
            TokenizerError: not byte-level BPE, or a vocabulary whose ids do not follow its merges.
        """
        to_byte = byte_of_character()
        try:
            ids: dict[str, Any] = json.loads(vocab.read_text("utf-8"))
            lines = merges.read_text("utf-8").splitlines()
            pairs = [line.split() for line in lines if line and not line.startswith("#version")]
            ordered = [bytes([to_byte[c]]) for c in _byte_order()]
            ordered += [bytes(to_byte[c] for c in left + right) for left, right in pairs]
            ranks = {token: rank for rank, token in enumerate(ordered)}
            to_char = {byte: char for char, byte in to_byte.items()}
            mergeable = {"".join(to_char[b] for b in token): rank for token, rank in ranks.items()}
            agree = all(ids.get(text) == rank for text, rank in mergeable.items())
        except (OSError, ValueError, KeyError, AttributeError, RecursionError) as error:
            raise TokenizerError(
                _("{vocab} and {merges} cannot be read as GPT-2's byte-level vocabulary ({error!r}).").format(
                    vocab=vocab.name, merges=merges.name, error=error
                )
            ) from error
        if not agree:
            raise TokenizerError(
                _(
                    "The ids in {vocab} do not follow the order of {merges}; only vocabularies built like "
                    "GPT-2's (256 bytes, then one token per merge) can be read."
                ).format(vocab=vocab.name, merges=merges.name)
            )
        return cls(_encoding(vocab.name, ranks, {text: ids[text] for text in ids.keys() - mergeable.keys()}))

    def encode(self, text: str, *, start_token: bool = False) -> tuple[int, ...]:
        """The ids of `text`, with the start token in front when asked for.

        Everything typed is text: a typed `<|endoftext|>` becomes ordinary tokens. Lone surrogates become U+FFFD, as in
        tiktoken; any other text is reproduced exactly by `decode`.

        Raises:
            TokenizerError: a start token is asked for and the vocabulary has none.
        """
        ids = tuple(self._encoding.encode_ordinary(text))
        if not start_token:
            return ids
        if self.start_id is None:
            raise TokenizerError(
                _("This vocabulary has no start token {start_token}; switch the start token off.").format(
                    start_token=START_TOKEN
                )
            )
        return (self.start_id, *ids)

    def decode(self, ids: tuple[int, ...] | list[int]) -> str:
        """The text of `ids`; bytes that are no whole character become U+FFFD."""
        return b"".join(self._token(token_id).bytes for token_id in ids).decode("utf-8", "replace")

    def token(self, token_id: int) -> Token:
        """What an id stands for. One beyond the vocabulary (padding rows of a checkpoint) has no bytes."""
        return self._token(token_id)

    def tokens(self, ids: tuple[int, ...]) -> tuple[Token, ...]:
        """`token` for each of `ids`."""
        return tuple(self._token(token_id) for token_id in ids)

    def token_bytes(self, token_id: int) -> bytes:
        """The exact bytes of an id."""
        return self._token(token_id).bytes

    def _make_token(self, token_id: int) -> Token:
        try:
            token = self._encoding.decode_single_token_bytes(token_id)
        except (KeyError, OverflowError):
            return Token(token_id, b"", f"⟨{token_id}⟩")
        if token_id in self._encoding._special_tokens.values():
            return Token(token_id, token, token.decode("utf-8"))
        return Token(token_id, token, token_label(token))


def _encoding(name: str, ranks: dict[bytes, int], special: dict[str, Any]) -> tiktoken.Encoding:
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        raise TokenizerError(
            _("{name} lacks the single byte {byte:#04x}; without it some texts have no tokens.").format(
                name=name, byte=missing[0]
            )
        )
    if sorted(ranks.values()) != list(range(len(ranks))):
        raise TokenizerError(
            _("The ranks in {name} are not 0 to {last}, each once.").format(name=name, last=len(ranks) - 1)
        )
    for text, token_id in special.items():
        if type(token_id) is not int or not len(ranks) <= token_id < _MOST_TOKENS:
            raise TokenizerError(
                _(
                    "{name} gives {text!r} the id {token_id!r}; the merges use {n:,} ids, so only whole numbers "
                    "from {n} on are free."
                ).format(name=name, text=text, token_id=token_id, n=len(ranks))
            )
    if len(set(special.values())) < len(special):
        raise TokenizerError(_("{name} gives two of the tokens after the merges the same id.").format(name=name))
    return tiktoken.Encoding(name, pat_str=r50k_pat_str, mergeable_ranks=ranks, special_tokens=special)


@cache
def _gpt2_encoding() -> tiktoken.Encoding:
    """tiktoken's `gpt2` from files that are here: the user's own cache if it is whole, else `assets/tiktoken`.

    tiktoken deletes and downloads again what fails its check, so it is never pointed at a folder that would fail.
    """
    with _environment:
        own = os.environ.get("TIKTOKEN_CACHE_DIR")
        folder = Path(own) if own and _complete(Path(own)) else ASSETS / "tiktoken"
        if not _complete(folder):
            raise TokenizerError(
                _("GPT-2's vocabulary files in assets/{folder} are missing or damaged.").format(folder=folder.name)
            )
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
        try:
            return tiktoken.get_encoding("gpt2")
        finally:
            if own is None:
                del os.environ["TIKTOKEN_CACHE_DIR"]
            else:
                os.environ["TIKTOKEN_CACHE_DIR"] = own


def _complete(folder: Path) -> bool:
    try:
        return all(hashlib.sha256((folder / f).read_bytes()).hexdigest() == sha for f, sha in _GPT2_FILES.items())
    except OSError:
        return False


def _byte_order() -> str:
    """The 256 characters that stand for single bytes in `vocab.json`, in the order of their ids."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    return "".join(chr(b) for b in printable) + "".join(chr(256 + n) for n in range(256 - len(printable)))


@cache
def byte_of_character() -> dict[str, int]:
    """Which byte each of those characters stands for (the published code's `bytes_to_unicode`, turned round)."""
    order = _byte_order()
    printable = [ord(c) for c in order if ord(c) < 256]
    others = [b for b in range(256) if b not in set(printable)]
    return dict(zip(order, printable + others, strict=True))
