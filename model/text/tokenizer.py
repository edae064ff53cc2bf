"""Text to tokens and back: what every tokenizer tells, and GPT-2's byte-level BPE through tiktoken.

tiktoken reads GPT-2's own vocabulary (Radford et al. 2019, section 2.2) and `vocab.tiktoken` files. What Hugging Face's
`tokenizers` reads is in `hugging_face.py`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache, lru_cache
from gettext import gettext as _
from pathlib import Path

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
_environment = threading.Lock()


@dataclass(frozen=True)
class Token:
    """One piece of the text: its number in the vocabulary, its exact bytes, and how it is shown."""

    id: int
    bytes: bytes
    label: str


class Tokenizer(ABC):
    """Encodes text into ids and tells what each id stands for. Immutable; safe to share between threads.

    `n_vocab` is the number of ids it names. `start_id` can stand in front of a text, and does so where the model was
    trained with it (`starts`). A model ends its text with one of `end_ids`. `normalises` says what is changed in a text
    before it is cut; where it is empty, the tokens' bytes are the text's.
    """

    normalises = ""

    def __init__(
        self, n_vocab: int, *, start_id: int | None, starts: bool, end_ids: frozenset[int], has_special: bool
    ) -> None:
        self.n_vocab, self.start_id, self.starts, self.end_ids = n_vocab, start_id, starts, end_ids
        self.has_special = has_special
        self._token = lru_cache(maxsize=100_000)(self._make_token)

    @property
    def start_label(self) -> str:
        """The start token's own name, such as `<|endoftext|>`; empty where there is none."""
        return "" if self.start_id is None else self.token(self.start_id).label

    def encode(self, text: str, *, start_token: bool = False, special: bool = False) -> tuple[int, ...]:
        """The ids of `text`, with the start token in front when asked for.

        Everything typed is text: a typed `<|endoftext|>` becomes ordinary tokens, unless `special` tokens are to be
        read. Lone surrogates become U+FFFD.

        Raises:
            TokenizerError: a start token is asked for and the vocabulary has none.
        """
        ids = self._encode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), special)
        if not start_token:
            return ids
        if self.start_id is None:
            raise TokenizerError(_("This vocabulary has no start token; switch the start token off."))
        return (self.start_id, *ids)

    def decode(self, ids: tuple[int, ...] | list[int]) -> str:
        """The text of `ids`; bytes that are no whole character become U+FFFD."""
        return b"".join(self._token(token_id).bytes for token_id in ids).decode("utf-8", "replace")

    def token(self, token_id: int) -> Token:
        """What an id stands for. One that the vocabulary does not name (a checkpoint's padding) has no bytes."""
        return self._token(token_id)

    def tokens(self, ids: tuple[int, ...]) -> tuple[Token, ...]:
        """`token` for each of `ids`."""
        return tuple(self._token(token_id) for token_id in ids)

    def token_bytes(self, token_id: int) -> bytes:
        """The exact bytes of an id."""
        return self._token(token_id).bytes

    @abstractmethod
    def _encode(self, text: str, special: bool) -> tuple[int, ...]:
        """The ids of a text without lone surrogates."""

    @abstractmethod
    def _spelling(self, token_id: int) -> tuple[bytes, str] | None:
        """Bytes and label of an id; None for one that is not named."""

    def _make_token(self, token_id: int) -> Token:
        return Token(token_id, *(self._spelling(token_id) or (b"", f"⟨{token_id}⟩")))


class TiktokenTokenizer(Tokenizer):
    """A vocabulary whose ids are its merge ranks, with GPT-2's rule for cutting words and its start token."""

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self._encoding = encoding
        start_id = encoding._special_tokens[START_TOKEN]
        super().__init__(
            encoding.n_vocab, start_id=start_id, starts=False, end_ids=frozenset((start_id,)), has_special=True
        )

    @classmethod
    def gpt2(cls) -> TiktokenTokenizer:
        """GPT-2's own vocabulary, from the files in `assets/`: nothing is downloaded."""
        return cls(_gpt2_encoding())

    @classmethod
    def from_file(cls, path: Path | str) -> TiktokenTokenizer:
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
        return cls(_encoding(path.name, ranks))

    def _encode(self, text: str, special: bool) -> tuple[int, ...]:
        return tuple(
            self._encoding.encode(text, allowed_special="all") if special else self._encoding.encode_ordinary(text)
        )

    def _spelling(self, token_id: int) -> tuple[bytes, str] | None:
        try:
            token = self._encoding.decode_single_token_bytes(token_id)
        except (KeyError, OverflowError):
            return None
        return token, token_label(token)


def _encoding(name: str, ranks: dict[bytes, int]) -> tiktoken.Encoding:
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
    special = {START_TOKEN: len(ranks)}
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
