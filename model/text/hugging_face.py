"""Tokenizers of the `tokenizers` library: byte-level BPE, vocabularies in sentencepiece's way, and WordPiece.

Ids are whatever the file says, not merge ranks. What a token stands for is read from its spelling in the vocabulary:

- byte-level BPE (GPT-2, Llama 3, Qwen, SmolLM2): each character stands for a byte;
- sentencepiece's way (Llama 2, TinyLlama): `▁` is a space, and `<0x0A>` is that byte;
- WordPiece (SimpleStories): a piece that does not begin with `##` begins a word, with a space in front of it.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections.abc import Collection, Iterator
from gettext import gettext as _
from typing import Any, Literal

import tokenizers
from tokenizers.models import BPE, Unigram, WordPiece

from model.errors import TokenizerError
from model.text.token_label import token_label
from model.text.tokenizer import Tokenizer

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_SPACE = "▁"
_FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")
_TRIED = {"ByteLevel", "Prepend", "Lowercase", "StripAccents", "Strip", *_FORMS}
_BYTES_OF_TEXT = [*range(0xC0), *range(0xC2, 0xF5)]  # the others stand nowhere in UTF-8


def _byte_of_character() -> dict[str, int]:
    """The 256 characters that stand for bytes in byte-level vocabularies (GPT-2's `bytes_to_unicode`, turned round)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


_BYTE_OF = _byte_of_character()
_CHARACTER_OF = {byte: char for char, byte in _BYTE_OF.items()}


class HuggingFaceTokenizer(Tokenizer):
    """A tokenizer around `tokenizers.Tokenizer`, which belongs to it from then on. No token is added by itself.

    Raises:
        TokenizerError: a kind of vocabulary that does not tell what text its tokens stand for.
    """

    def __init__(
        self,
        tokenizer: tokenizers.Tokenizer,
        *,
        start_id: int | None = None,
        starts: bool = False,
        end_ids: Collection[int] = (),
    ) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        if isinstance(tokenizer.model, BPE):
            tokenizer.model.dropout = None  # merges left out at random, for training
        self._tokenizer, self._lock = tokenizer, threading.Lock()
        self._byte_level = bool({"ByteLevel"} & (_kinds(tokenizer.pre_tokenizer) | _kinds(tokenizer.normalizer)))
        _check_kind(tokenizer, self._byte_level)
        self._added = tokenizer.get_added_tokens_decoder()
        super().__init__(
            max(tokenizer.get_vocab().values(), default=-1) + 1,
            start_id=start_id,
            starts=starts,
            end_ids=frozenset(end_ids),
            has_special=any(added.special for added in self._added.values()),
        )
        self.normalises = " ".join(self._changes())

    def _encode(self, text: str, special: bool) -> tuple[int, ...]:
        with self._lock:
            self._tokenizer.encode_special_tokens = not special
            return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _spelling(self, token_id: int) -> tuple[bytes, str] | None:
        spelt = self._tokenizer.id_to_token(token_id) if 0 <= token_id < self.n_vocab else None
        if spelt is None:
            return None
        if token_id in self._added:
            return spelt.encode(), token_label(spelt.encode())
        token = self._bytes_of(spelt)
        # Where the vocabulary has the character itself as well, the byte must look different.
        twice = not self._byte_level and _BYTE.fullmatch(spelt) and token.isascii() and self._has(token.decode())
        return token, f"⟨{token[0]:02X}⟩" if twice else token_label(token)

    def _bytes_of(self, spelt: str) -> bytes:
        if self._byte_level:
            return b"".join(bytes((_BYTE_OF[char],)) if char in _BYTE_OF else char.encode() for char in spelt)
        if isinstance(model := self._tokenizer.model, WordPiece):
            prefix = model.continuing_subword_prefix
            return spelt.removeprefix(prefix).encode() if spelt.startswith(prefix) else f" {spelt}".encode()
        if byte := _BYTE.fullmatch(spelt):
            return bytes.fromhex(byte[1])
        return spelt.replace(_SPACE, " ").encode()

    def _has(self, char: str) -> bool:
        return self._tokenizer.token_to_id(_SPACE if char == " " else char) is not None

    def _reaches(self, byte: int) -> bool:
        """Whether texts with this byte have tokens."""
        if self._byte_level:
            return self._tokenizer.token_to_id(_CHARACTER_OF[byte]) is not None
        model = self._tokenizer.model
        falls_back = "ByteFallback" in _kinds(self._tokenizer.decoder) or getattr(model, "byte_fallback", False)
        spelt = f"<0x{byte:02X}>"
        return (falls_back and self._tokenizer.token_to_id(spelt) is not None) or (byte < 0x80 and self._has(chr(byte)))

    def _changes(self) -> Iterator[str]:
        """What differs between a text and its tokens' bytes, a sentence each, found by trying."""

        def read(text: str) -> str:
            return self.decode(self.encode(text))

        def normal(text: str) -> str:
            normalizer = self._tokenizer.normalizer
            return text if normalizer is None else normalizer.normalize_str(text).removeprefix(_SPACE)

        front = " " if read("a") == " a" else ""
        if front:
            yield _("The tokenizer puts a space in front of the text, or of each part between special tokens.")
        if normal("AB") == "ab":
            yield _("It makes capital letters small.")
        if "e" in (normal("é"), normal("e\u0301")):
            yield _("It takes accents off letters.")
        else:
            probes = ("é", "e\u0301", "ﬁ")
            for form in _FORMS:
                if all(normal(probe) == unicodedata.normalize(form, probe) for probe in probes):
                    yield _("It writes equal characters in one way only (Unicode's {form}).").format(form=form)
        spaced = ("a b", "a  b", " a", "a ", "a\tb", "a\n\nb\n", "a,b")
        if any(read(text) not in (text, front + text) for text in spaced):
            yield _("It changes white space.")
        if read("a▁a").removeprefix(front) == "a a":
            yield _("It reads the sign ▁ as a space.")
        if isinstance(self._tokenizer.model, WordPiece) or not all(map(self._reaches, _BYTES_OF_TEXT)):
            yield _("It has no tokens for some characters; they are left out, or one token stands for all of them.")
        if any(added.lstrip or added.rstrip for added in self._added.values()):
            yield _("It takes away white space beside some special tokens.")
        if any(_replaces(part) for part in _parts(self._tokenizer.normalizer)):
            yield _("It replaces some characters by others.")


def _check_kind(tokenizer: tokenizers.Tokenizer, byte_level: bool) -> None:
    """Raise where the vocabulary does not tell which text a token stands for."""
    model, kind = tokenizer.model, type(tokenizer.model).__name__
    parts = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder)
    with_sign = any(part is not None and _SPACE in part.__getstate__().decode() for part in parts)
    if isinstance(model, BPE) and (model.continuing_subword_prefix or model.end_of_word_suffix):
        kind = _("BPE with signs at the pieces of words")
    elif isinstance(model, WordPiece) or (isinstance(model, BPE | Unigram) and (byte_level or with_sign)):
        return
    raise TokenizerError(
        _(
            "This kind of tokenizer ({kind}) is not read. Byte-level BPE is (as in GPT-2 and Llama 3), vocabularies "
            "with ▁ for a space (as in Llama 2), and WordPiece."
        ).format(kind=kind)
    )


def _parts(part: Any) -> list[dict[str, Any]]:
    """A normaliser, pre-tokenizer or decoder as in tokenizer.json; a sequence as its members, and nothing as none."""
    if part is None:
        return []
    state = json.loads(part.__getstate__())
    members = (value for value in state.values() if isinstance(value, list) and value and isinstance(value[0], dict))
    return next(members, [state]) if state["type"] == "Sequence" else [state]


def _kinds(part: Any) -> set[str]:
    return {member["type"] for member in _parts(part)}


def _replaces(normalizer: dict[str, Any]) -> bool:
    """Whether a normaliser changes more than `_changes` tries."""
    if normalizer["type"] == "Replace":
        return (normalizer["pattern"], normalizer["content"]) != ({"String": " "}, _SPACE)
    return normalizer["type"] not in _TRIED
