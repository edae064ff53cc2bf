"""Typed text inside Markdown: every sign that Markdown reads is escaped, and nothing else is changed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.text.markdown import as_text
from viz.text.numbers import difference_text

# What begins something in Streamlit's Markdown: emphasis, code, links, HTML, headings, lists, tables, maths, colours.
READ_BY_MARKDOWN = "\\`*_{}[]()<>#+-.!|~$:&"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words, 12%", "plain words, 12%"),
        ("", ""),
        ("<b>bold</b>", r"\<b\>bold\</b\>"),
        ("**bold** _it_ `code`", r"\*\*bold\*\* \_it\_ \`code\`"),
        ("[x](https://example.org)", r"\[x\]\(https\://example\.org\)"),
        (":red[x] $x^2$ ~~x~~", r"\:red\[x\] \$x\^2\$ \~\~x\~\~"),
        ("1. a\n- b\r\n# c", r"1\. a \- b  \# c"),
        ("&lt; \\n", r"\&lt; \\n"),
        ("a | b", r"a \| b"),
        ("橩 👩‍👩‍👧 עברית", "橩 👩‍👩‍👧 עברית"),
    ],
)
def test_known_texts(text, shown):
    assert as_text(text) == shown


@given(st.text() | st.text(READ_BY_MARKDOWN + "a \n\r"))
def test_no_sign_is_left_unescaped_and_the_text_can_be_read_back(text):
    shown = as_text(text)
    assert not re.search(r"[\r\n]", shown)
    without_escapes = re.sub(r"\\[!-/:-@\[-`{-~]", "", shown)
    assert not set(without_escapes) & set(READ_BY_MARKDOWN)
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown) == re.sub(r"[\r\n]", " ", text)


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (4.77e-7, "4.8e−07"), (0.25, "2.5e−01")])
def test_differences(value, text):
    assert difference_text(value) == text
