"""The words that a person reads in a component come from Python, where they are marked: scripts and HTML hold none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.javascript.scripts import COMPONENTS

SOURCES = sorted(path for kind in ("js", "html") for path in COMPONENTS.rglob(f"*.{kind}"))
_COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL)
_LITERAL = r"\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`"
_PROSE = re.compile(r"[^\W\d_]{2,},? [^\W\d_]{2,}")
_SHOWN = re.compile(
    rf"(?:\.(?:title|textContent|placeholder|innerText|alt) = |\"(?:aria-label|title|alt)\", )({_LITERAL})"
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
FORMATS = {"SVG", "PNG"}  # names that are the same everywhere


def prose(path: Path) -> Iterator[str]:
    """What a person would read of the file's own words."""
    text = path.read_text("utf-8")
    if path.suffix == ".html":
        shown = [*re.findall(r">([^<>]+)<", text), *re.findall(r'(?:aria-label|title|alt|placeholder)="([^"]+)"', text)]
        yield from (words for words in shown if _LETTERS.search(words) and words not in FORMATS)
        return
    code = re.sub(r"new Error\([^)]*\)", "", _COMMENT.sub("", text))  # for the console
    for literal in re.findall(_LITERAL, code):
        words = re.sub(r"\$\{[^}]*\}", "", literal)
        if _PROSE.search(words) and not re.search(r"[\[\]]|^.\.", words):  # a selector
            yield literal
    for literal in _SHOWN.findall(code):
        if _LETTERS.search(re.sub(r"\$\{[^}]*\}", "", literal)):
            yield literal


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(COMPONENTS).as_posix())
def test_a_component_has_no_words_of_its_own(path: Path) -> None:
    assert list(prose(path)) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.js", 'const words = ["looks mostly at "];'),
        ("a.js", "play.title = `Play ${unit}`;"),
        ("a.js", 'cell.setAttribute("aria-label", "Chosen");'),
        ("a.js", 'hint.textContent = "Wait";'),
        ("a.html", "<span>more</span>"),
        ("a.html", '<section aria-label="Attention"></section>'),
    ],
)
def test_words_in_a_file_are_found(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert len(list(prose(tmp_path / name))) == 1
