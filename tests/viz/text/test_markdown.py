"""Typed text inside Markdown: every sign that Markdown reads is escaped, and nothing else is changed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.emojis import ALL_EMOJIS
from streamlit.string_util import extract_leading_icon

from tests.viz.text.texts import TEXTS
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
        ("[x](https://example.org)", r"\[x\]\(https\:/:color[]/example\.org\)"),
        (":red[x] $x^2$ ~~x~~", r"\::color[]red\[x\] \$x\^2\$ \~\~x\~\~"),
        ("1. a\n- b\r\n# c", r"1\. a \- b  \# c"),
        ("&lt; \\n", r"\&lt; \\n"),
        ("a | b", r"a \| b"),
        ("a -> b", r"a \-:color[]\> b"),
        (":smile:", r"\::color[]smile\:"),
        ("www.example.org", r"www:color[]\.example\.org"),
        ("me@example.org", r"me:color[]@example\.org"),
        ("\ta ", ":color[]\ta :color[]"),
        ("👩 a", ":color[]👩 a"),
        ("⏎ a", "⏎ a"),
        ("橩 👩‍👩‍👧 עברית", "橩 👩‍👩‍👧 עברית"),
    ],
)
def test_known_texts(text, shown):
    assert as_text(text) == shown


@given(st.text() | st.text(READ_BY_MARKDOWN + "a \n\r"))
def test_no_sign_is_left_unescaped_and_the_text_can_be_read_back(text):
    shown = as_text(text).replace(":color[]", "")
    assert not re.search(r"[\r\n]", shown)
    without_escapes = re.sub(r"\\[!-/:-@\[-`{-~]", "", shown)
    assert not set(without_escapes) & set(READ_BY_MARKDOWN)
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown) == re.sub(r"[\r\n]", " ", text)


@pytest.mark.parametrize("text", TEXTS)
def test_nothing_is_left_that_streamlit_looks_for_in_the_parsed_text(text):
    """What the text says between two spans, backslashes gone. That this is what a browser shows is tested in one."""
    for between in as_text(f"x {text} x").split(":color[]"):
        parsed = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", between)
        assert not re.search(r"->|<-|--|>=|<=|~=|:[\w+-]+:|//|www\.|\w@\w", parsed, re.IGNORECASE), parsed
        assert not re.search(r":material", between)


def test_no_emoji_at_the_beginning_becomes_an_icon():
    assert [emoji for emoji in ALL_EMOJIS if extract_leading_icon(as_text(f"{emoji} x"))[0]] == []


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (4.77e-7, "4.8e−07"), (0.25, "2.5e−01")])
def test_differences(value, text):
    assert difference_text(value) == text
