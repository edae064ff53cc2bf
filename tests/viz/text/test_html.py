"""Typed text inside HTML: a parser reads back what was typed, in an element and in an attribute."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viz.text.texts import TEXTS
from viz.text.html import as_html


class Read(HTMLParser):
    """The tags, titles and text of a document."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags, self.titles, self.text = list[str](), list[str | None](), ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.titles.append(dict(attrs).get("title"))

    def handle_data(self, data: str) -> None:
        self.text += data


def check(text: str) -> None:
    shown = as_html(text)
    read = Read(f'<p title="{shown}">{shown}</p>')
    typed = text.replace("\0", "\ufffd")
    assert (read.tags, read.titles, read.text) == (["p"], [typed], typed)


@pytest.mark.parametrize("text", [*TEXTS, "a\r\nb", "\0"])
def test_known_texts(text: str) -> None:
    check(text)


@given(st.text() | st.text("<>&\"'#;/!-= \r\nabx"))
def test_any_text(text: str) -> None:
    check(text)
