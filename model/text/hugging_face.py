"""Text to tokens and back through the `tokenizers` library: byte-level BPE, and BPE with bytes for rare characters."""

from __future__ import annotations

import re
from functools import lru_cache
from gettext import gettext as _

import tokenizers

from model.errors import TokenizerError
from model.text.token_label import token_label
from model.text.tokenizer import Token, Tokenizer, byte_of_character

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class HuggingFaceTokenizer(Tokenizer):
    """As `Tokenizer`, around one of the `tokenizers` library. Special tokens in a text are text."""

    def __init__(
        self, tokenizer: tokenizers.Tokenizer, *, start_id: int | None, end_ids: frozenset[int], starts: bool
    ) -> None:
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._added = tokenizer.get_added_tokens_decoder()
        self._byte_level = isinstance(tokenizer.decoder, tokenizers.decoders.ByteLevel)
        self.n_vocab = tokenizer.get_vocab_size()
        self.start_id, self.end_ids, self.starts = start_id, end_ids, starts
        self._token = lru_cache(maxsize=100_000)(self._make_token)

    def encode(self, text: str, *, start_token: bool = False) -> tuple[int, ...]:
        """As `Tokenizer.encode`. Lone surrogates become U+FFFD.

        Raises:
            TokenizerError: a start token is asked for and the vocabulary has none.
        """
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        ids = tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)
        if not start_token:
            return ids
        if self.start_id is None:
            raise TokenizerError(_("This vocabulary has no start token; switch the start token off."))
        return (self.start_id, *ids)

    def _make_token(self, token_id: int) -> Token:
        text = self._tokenizer.id_to_token(token_id) if 0 <= token_id < 2**32 else None
        if text is None:
            return Token(token_id, b"", f"⟨{token_id}⟩")
        if token_id in self._added:
            return Token(token_id, text.encode(), text)
        if self._byte_level:
            to_byte = byte_of_character()
            token = b"".join(bytes([to_byte[char]]) if char in to_byte else char.encode() for char in text)
        elif byte := _BYTE.fullmatch(text):
            token = bytes.fromhex(byte[1])
        else:
            token = text.replace("▁", " ").encode()
        return Token(token_id, token, token_label(token))
