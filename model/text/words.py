"""Tokens grouped to words, in any script, and a pattern read word by word.

GPT-2 cuts rare words, and most words outside English, into pieces; in many scripts a single character is two or three.
The rule, on the text's characters (`RULE` says it in plain words for the app):

- letters, digits and their marks in a row are one word, an apostrophe between letters included;
- in scripts that put no spaces between words (`_UNSPACED`) each character with its marks is one;
- punctuation marks and symbols in a row are one; an emoji with its modifiers is one;
- a space before any of these belongs to it, as in GPT-2's own tokens; other white space is a word of its own.

A token is never cut: what shares a token is one word. So are the tokens of one character, and neighbouring bytes that
are no whole character. Tokens that stand for no text (the start token) are words of their own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

RULE = (
    "Letters and digits in a row are one word, with the space before them. In scripts without spaces between words, "
    "such as Chinese, Japanese and Thai, each character is one. Punctuation in a row is one, and so is an emoji. No "
    "token is cut: pieces of one character, and bytes that form none, stay together."
)

# The first words of the Unicode names of letters that are written without spaces between words.
_UNSPACED = {"CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR", "TAI", "YI", "JAVANESE"}
_JOINERS = {"\u200c", "\u200d"}  # zero width: they hold what stands around them together
_APOSTROPHES = {"'", "’"}
# Drawn into what stands before them, whatever their category says: the long-vowel mark, skin tones, emoji tags.
_ATTACHED = {"ー", *map(chr, range(0x1F3FB, 0x1F400)), *map(chr, range(0xE0020, 0xE0080))}
_FLAG_LETTERS = set(map(chr, range(0x1F1E6, 0x1F200)))


@dataclass(frozen=True)
class Words:
    """Consecutive groups of tokens: word `w` is the tokens `starts[w]` up to the next start."""

    starts: tuple[int, ...]
    n_tokens: int

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def spans(self) -> tuple[range, ...]:
        """The token positions of each word."""
        ends = (*self.starts[1:], self.n_tokens)
        return tuple(range(start, end) for start, end in zip(self.starts, ends, strict=True))

    @property
    def are_tokens(self) -> bool:
        """Whether each token is a word, so that grouping changes nothing."""
        return len(self.starts) == self.n_tokens

    def word_of(self, token: int) -> int:
        """The word that the token at this position is part of."""
        return int(np.searchsorted(self.starts, token, side="right")) - 1


class _Character(NamedTuple):
    start: int  # first byte in the text
    char: str  # "" for bytes that are no whole character


def group_words(tokens: Sequence[bytes], alone: Collection[int] = ()) -> Words:
    """The words of a text given as its tokens' bytes; the tokens at the positions `alone` are words by themselves."""
    starts: list[int] = []
    position = 0
    while position < len(tokens):
        end = position
        while end < len(tokens) and end not in alone and tokens[end]:
            end += 1
        if end > position:
            starts += [position + start for start in _starts_in_text(tokens[position:end])]
        if end < len(tokens):
            starts.append(end)
        position = end + 1
    return Words(tuple(starts), len(tokens))


def group_pattern(pattern: Float[np.ndarray, "query key"], words: Words) -> Float[np.ndarray, "query_word key_word"]:
    """Weights word by word: to a word the sum over its tokens, from a word the mean over its tokens.

    Rows that add up to 1 still do, and no word reads a later one.
    """
    if pattern.shape != (words.n_tokens, words.n_tokens):
        raise ValueError(f"a pattern of shape {pattern.shape} for {words.n_tokens} tokens")
    to_words = np.add.reduceat(pattern, words.starts, axis=1)
    sizes = np.diff((*words.starts, words.n_tokens)).astype(pattern.dtype)
    return np.add.reduceat(to_words, words.starts, axis=0) / sizes[:, None]


def _starts_in_text(tokens: Sequence[bytes]) -> list[int]:
    """Where words start, as positions in `tokens`: where a token starts at a byte at which a word starts."""
    at = _word_starts(list(_characters(b"".join(tokens))))
    found, byte = [], 0
    for position, token in enumerate(tokens):
        if byte in at:
            found.append(position)
        byte += len(token)
    return found


def _characters(text: bytes) -> Iterator[_Character]:
    byte = 0
    for char in text.decode("utf-8", "surrogateescape"):
        if "\udc80" <= char <= "\udcff":
            yield _Character(byte, "")
            byte += 1
        else:
            yield _Character(byte, char)
            byte += len(char.encode())


def _word_starts(characters: Sequence[_Character]) -> set[int]:
    """The bytes at which words start."""
    starts = {0}
    kinds = [_kind(character.char) for character in characters]
    for i in range(1, len(characters)):
        if kinds[i] == "attached":  # it is what it is attached to, for what follows
            kinds[i] = kinds[i - 1]
        elif not _joined(characters, kinds, i):
            starts.add(characters[i].start)
    return starts


def _joined(characters: Sequence[_Character], kinds: Sequence[str], i: int) -> bool:
    """Whether the character `i` belongs to the same word as the one before it."""
    before, here = kinds[i - 1], kinds[i]
    after = kinds[i + 1] if i + 1 < len(kinds) else ""
    if characters[i - 1].char in _JOINERS:
        return True
    if here == "space":
        # The last space before a word is the word's own.
        return before == "space" and not (characters[i].char == " " and after not in ("space", ""))
    if before == "space":
        return characters[i - 1].char == " "
    if characters[i].char in _APOSTROPHES:
        return before in ("letter", "sign") and (after == "letter" or before == "sign")
    if characters[i - 1].char in _APOSTROPHES and here == "letter":
        return i > 1 and kinds[i - 2] == "letter"
    return before == here and here not in ("unspaced", "picture")


def _kind(char: str) -> str:
    """letter, unspaced, sign, picture, flag, space, attached, or broken (bytes that are no whole character)."""
    if not char:
        return "broken"
    category = unicodedata.category(char)
    if char.isspace():
        return "space"
    if category[0] == "M" or char in _JOINERS or char in _ATTACHED:
        return "attached"
    if category[0] in "LN":
        names = unicodedata.name(char, "").removeprefix("HALFWIDTH ").split(" ", 1)
        return "unspaced" if category[0] == "L" and names[0] in _UNSPACED else "letter"
    if char in _FLAG_LETTERS:
        return "flag"
    return "picture" if category == "So" else "sign"
