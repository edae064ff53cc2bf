"""Typed text inside Markdown: shown as it was typed."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=^\"'])")


def as_text(text: str) -> str:
    """`text` with every character that Streamlit's Markdown interprets escaped, on one line."""
    return re.sub(r"[\r\n]", " ", _SPECIAL.sub(r"\\\1", text))
