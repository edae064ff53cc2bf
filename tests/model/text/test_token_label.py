"""Labels: every byte recognisable, nothing invisible, no two tokens alike."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.text.token_label import token_label

INVISIBLE = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}
# Characters of Unicode's property Default_Ignorable_Code_Point that are no format characters, and blank ones.
BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\ufe00\ufe0f\uffa0\U000e0100\U000e01ef"
# Pieces of text that are likely to be mistaken for each other.
TRICKY = st.sampled_from(
    [*"·⏎⇥␍␡⟨⟩◌␀␟ \n\t\r\x00\x1f\x7f<>U+E6", "⟨E6⟩", "⟨U+00A0⟩", "\u0301", "e\u0301", "\u200d", *BLANK]
)


def _is_visible(label: str) -> bool:
    return all(unicodedata.category(char) not in INVISIBLE and char not in BLANK for char in label)


@pytest.mark.parametrize(
    ("token", "label"),
    [
        (b" robot", "·robot"),
        (b"robot", "robot"),
        (b"\n", "⏎"),
        (b"\n\n", "⏎⏎"),
        (b"\t\r\x7f\x00\x1b", "⇥␍␡␀␛"),
        (b"\xe6\xa9", "⟨E6⟩⟨A9⟩"),
        (b" \xe6", "·⟨E6⟩"),
        (b"\xa9", "⟨A9⟩"),
        (b"a\xffb", "a⟨FF⟩b"),
        (b"", ""),
        ("é".encode(), "é"),
        ("橩".encode(), "橩"),
        ("🤖".encode(), "🤖"),
        ("\u0301".encode(), "◌\u0301"),
        ("e\u0301".encode(), "e\u0301"),
        ("\u200d".encode(), "⟨U+200D⟩"),
        ("\u202e".encode(), "⟨U+202E⟩"),
        ("\u00a0".encode(), "⟨U+00A0⟩"),
        ("\ufe0f".encode(), "⟨U+FE0F⟩"),
        ("\u3164".encode(), "⟨U+3164⟩"),
        ("·".encode(), "⟨U+00B7⟩"),
        ("⟨E6⟩".encode(), "⟨U+27E8⟩E6⟨U+27E9⟩"),
        ("␀".encode(), "⟨U+2400⟩"),
        (b"<b>&amp;*_", "<b>&amp;*_"),
        (b"\xc0\x80", "⟨C0⟩⟨80⟩"),
        (b"\xed\xa0\x80", "⟨ED⟩⟨A0⟩⟨80⟩"),
    ],
)
def test_known_labels(token, label):
    assert token_label(token) == label


def test_every_character_is_visible_and_has_a_label_of_its_own():
    """Of the many alike (ideographs, syllables, unassigned and private ones) every hundredth stands for all."""
    labels: dict[str, int] = {}
    for code in range(0x110000):
        char = chr(code)
        many = unicodedata.name(char, "?").startswith(("?", "CJK", "HANGUL SYLLABLE")) and code >= 0x100
        if (not many or code % 100 == 0) and not 0xD800 <= code < 0xE000:
            label = token_label(char.encode())
            assert label not in labels, f"U+{code:04X} and U+{labels[label]:04X} are both {label}"
            labels[label] = code
    assert len(labels) > 30_000
    assert all(map(_is_visible, labels))


def test_tokens_of_gpt2_have_labels_of_their_own(gpt2):
    labels = [token.label for token in gpt2.tokens(tuple(range(10_000)))]
    assert len(set(labels)) == 10_000
    assert all(map(_is_visible, labels))


@given(st.lists(st.one_of(st.binary(max_size=4), TRICKY.map(str.encode), st.text(max_size=3).map(str.encode))))
def test_the_bytes_can_be_read_back_from_the_label(pieces):
    """So no two tokens share a label."""
    token = b"".join(pieces)
    label = token_label(token)
    assert _is_visible(label)
    assert _bytes_of(label) == token


def _bytes_of(label: str) -> bytes:
    named = {"·": b" ", "⏎": b"\n", "⇥": b"\t", "␍": b"\r", "␡": b"\x7f", "◌": b""}
    read = b""
    while label:
        char, label = label[0], label[1:]
        if char == "⟨":
            number, label = label.split("⟩", 1)
            code = int(number.removeprefix("U+"), base=16)
            read += chr(code).encode() if number.startswith("U+") else bytes([code])
        elif char in named:
            read += named[char]
        else:
            read += bytes([ord(char) - 0x2400]) if 0x2400 <= ord(char) < 0x2420 else char.encode()
    return read
