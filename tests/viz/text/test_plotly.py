"""Typed text inside a plotly figure: no tag, entity or control character of it is interpreted."""

from __future__ import annotations

import html
import re

import pytest

from tests.viz.text.texts import TEXTS
from viz.text.plotly import plain


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("&amp;", "&amp;amp;"),
        ("<br>", "&lt;br&gt;"),
        ('<a href="x">', '&lt;a href="x"&gt;'),
        ("%{y}", "%&#123;y}"),
        ("a\nb\tc\x00", "a⏎b␉c␀"),
        ("\ud800", "\ufffd"),
        ("שלום", "\u2068שלום\u2069"),
        ("·it", "·it"),
    ],
)
def test_text_shows_as_typed(typed, sent):
    assert plain(typed) == sent
    sent.encode()  # a browser can be sent it


@pytest.mark.parametrize("text", TEXTS)
def test_no_tag_and_no_entity_is_left(text):
    assert html.unescape(plain(text)) == text.replace("\n", "⏎").replace("\t", "␉")
    assert not re.search(r"<|&(?!(amp|lt|gt|#123);)|%\{", plain(text))
