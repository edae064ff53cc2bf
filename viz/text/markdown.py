"""Typed text inside Streamlit's Markdown: shown as it was typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&=^\"'])")
_BREAK = ":color[]"
"""An empty span. It shows nothing, and cuts a text in two for everything that looks at whole texts."""
_EMOJI = (
    "[0-9#*]\ufe0f?\u20e3|[©®\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23cd\u23cf-\u23ff\u24c2\u25a0-\u27bf"
    "\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
# Where a backslash has no effect, since Streamlit (1.67) looks at the text before or after Markdown is parsed.
_CUTS = re.compile(
    "|".join(
        (
            r"(?<=-)(?=[->])|(?<=<)(?=[-=])|(?<=[>~])(?==)",  # arrows and other signs of two characters
            r"(?<=:)(?=[\w+-])",  # icons and emoji, `:name:`
            r"(?<=/)(?=/)|(?<=www)(?=\.)|(?=@)",  # addresses: `http://`, `www.`, `name@host`
            rf"^(?={_EMOJI})",  # taken for the icon of a warning or a button
            r"^(?=[ \t])|(?<=[ \t])$",  # would begin a block of code, or take the effect of `**` around the text
        )
    ),
    re.IGNORECASE,
)


def as_text(text: str) -> str:
    """`text` for any place where Streamlit takes Markdown, labels and tooltips among them; on one line.

    Join texts before they are escaped: two of them side by side can make an arrow or an address.
    """
    line = re.sub(r"[\r\n]", " ", text)
    return _BREAK.join(_SPECIAL.sub(r"\\\1", part) for part in _CUTS.split(line))


def table(rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; the second row has each column's alignment, such as `--:`."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
