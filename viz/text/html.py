"""Typed text inside HTML: shown as it was typed."""

from __future__ import annotations

import html


def as_html(text: str) -> str:
    """`text` for an element's content or a quoted attribute."""
    return html.escape(text).replace("\r", "&#13;").replace("\0", "\ufffd")
