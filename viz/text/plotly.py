"""Typed text inside a plotly figure: shown as it was typed.

plotly reads tags such as `<b>` and entities such as `&amp;` as markup in every text that it draws, and `%{x}` as the
place of a value in every template.
"""

from __future__ import annotations

import unicodedata

_RIGHT_TO_LEFT = {"R", "AL", "AN", "RLE", "RLO", "LRE", "LRO", "RLI", "LRI", "FSI", "PDI", "PDF"}
_SHOWN = {
    **dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), "\ufffd"),
    **{code: chr(0x2400 + code) for code in range(0x20)},
    **{ord(character): shown for character, shown in {"\n": "⏎", "\x7f": "␡"}.items()},
    **{ord(character): escaped for character, escaped in {"&": "&amp;", "<": "&lt;", ">": "&gt;"}.items()},
}
"""What is written for a character that plotly would not show as it is."""


def plain(text: str) -> str:
    """`text` for any text or template of a figure: markup escaped, control characters visible, direction kept apart."""
    shown = text.translate(_SHOWN).replace("%{", "%&#123;")
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in shown):
        return f"\u2068{shown}\u2069"  # isolated, so that the number before a right-to-left token stays before it
    return shown
