"""How a token's bytes are shown: every byte recognisable, nothing invisible, nothing interpreted."""

from __future__ import annotations

import unicodedata

_NAMED = {" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "\x7f": "␡"}
_PICTURES = 0x2400  # Unicode's own pictures of the control characters: ␀ of 0x00, ␁ of 0x01, ...
# Characters the labels use as signs: typed ones are written by number, so that a sign always means the same.
_SIGNS = {*"·⏎⇥␍␡⟨⟩◌", *(chr(_PICTURES + code) for code in range(0x20))}
_INVISIBLE = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}
# Letters, marks and a pattern of Braille that are drawn as nothing, whatever their category says.
_BLANK = set("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def _character(char: str, first: bool) -> str:
    if char in _NAMED:
        return _NAMED[char]
    if ord(char) < 0x20:
        return chr(_PICTURES + ord(char))
    category = unicodedata.category(char)
    blank = char in _BLANK or category in _INVISIBLE or "VARIATION SELECTOR" in unicodedata.name(char, "")
    if blank or char in _SIGNS:
        return f"⟨U+{ord(char):04X}⟩"
    if category.startswith("M") and first:
        return "◌" + char  # a combining mark alone needs something to stand on
    return char


def token_label(token: bytes) -> str:
    """`token` for the eye: `·robot`, `⏎`, and `⟨E6⟩⟨A9⟩` for bytes that are no whole character.

    Distinct tokens have distinct labels; the label is plain text and must be drawn as such.
    """
    shown, rest = "", token
    while rest:
        try:
            text, bad = rest.decode("utf-8"), b""
            rest = b""
        except UnicodeDecodeError as error:
            text, bad, rest = rest[: error.start].decode("utf-8"), rest[error.start : error.end], rest[error.end :]
        for char in text:
            shown += _character(char, first=not shown)
        shown += "".join(f"⟨{byte:02X}⟩" for byte in bad)
    return shown
