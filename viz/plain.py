"""Typed text and numbers inside Markdown: a text as it was typed, a difference in a few characters."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=^\"'])")


def as_text(text: str) -> str:
    """`text` with every character that Streamlit's Markdown interprets escaped, on one line."""
    return re.sub(r"[\r\n]", " ", _SPECIAL.sub(r"\\\1", text))


def difference_text(value: float) -> str:
    """A largest difference as a number: `4.8e−07`, and `0` where there is none."""
    return f"{value:.1e}".replace("-", "−") if value else "0"
