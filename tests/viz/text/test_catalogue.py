"""Every text that a person reads is marked for the catalogue: looked for in the syntax trees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NOT_YET_COVERED = re.compile(
    r"viz/figures/(bars|change|next_token)|viz/pages/\w+/figure(?!_weight\.py)|viz/pages/block/drawing"
)
MARKS = {"_", "N_", "ngettext", "say", "remark", "heading"}
# Streamlit's calls whose first argument is read by a person, and the arguments that are, of whatever call.
SHOWN_FIRST = {
    *("button", "caption", "checkbox", "code", "download_button", "error", "expander", "form_submit_button", "header"),
    *("info", "link_button", "markdown", "metric", "multiselect", "number_input", "pills", "popover", "radio"),
    *("segmented_control", "select_slider", "selectbox", "slider", "spinner", "subheader", "success", "tab", "table"),
    *("text", "text_area", "text_input", "title", "toast", "toggle", "warning"),
}
SHOWN_NAMES = {"label", "help", "placeholder", "alt", "title", "page_title", "caption", "body"}
LETTERS = re.compile(r"[^\W\d_]{2,}")
PROSE = re.compile(r"[^\W\d_]{2,},? [^\W\d_]{2,}")
# Styles, tags, paths, and the places of texts in charts.
NO_PROSE = re.compile(r"[{}]\s*\w[\w-]*: |^<|</|: \w+;|\dpx\b|sans-serif|^/[\w/]+$|^(top|middle|bottom) \w+$")


def unmarked(source: str) -> Iterator[str]:
    """Each text in `source` that a person reads and that is not marked, with its line."""
    tree = ast.parse(source)
    marked: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MARKS:
            marked.update(ast.walk(node))
            if any(not isinstance(part, ast.Constant) for part in node.args[:1]) and node.func.id == "N_":
                yield f"{node.lineno}: N_ marks no literal"
            if any(isinstance(part, ast.JoinedStr) for part in node.args):
                yield f"{node.lineno}: a marked text is put together"
        elif isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            # Docstrings, also those of constants and fields.
            marked.update(statement.value for statement in node.body if isinstance(statement, ast.Expr))
        elif isinstance(node, ast.Subscript):
            marked.update(ast.walk(node.slice))  # a key, or the axes of an array
        elif isinstance(node, ast.Compare):
            marked.update(ast.walk(node))  # an id
        elif isinstance(node, ast.Raise) and "ValueError" in ast.unparse(node):
            marked.update(ast.walk(node))  # a mistake of the program, which nobody reads on screen
    shown: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            shows = isinstance(node.func, ast.Attribute) and node.func.attr in SHOWN_FIRST
            first = node.args[:1] if shows and ast.unparse(node.func) != "pa.table" else []
            named = [word.value for word in node.keywords if word.arg in SHOWN_NAMES]
            for part in [*first, *named]:
                shown.update(_literals(part))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in marked:
            pattern = LETTERS if node in shown else PROSE
            if pattern.search(re.sub(r"`[^`]*`|&\w+;", "", node.value)) and not NO_PROSE.search(node.value):
                yield f"{node.lineno}: {node.value!r}"


def _literals(node: ast.AST) -> Iterator[ast.Constant]:
    """The literals that `node` is made of, not those that it looks up or hands to a call."""
    if isinstance(node, ast.Constant):
        yield node
    elif isinstance(node, (ast.JoinedStr, ast.BinOp, ast.IfExp, ast.BoolOp, ast.Dict, ast.List, ast.Tuple)):
        for part in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.IfExp) and part is node.test):
                yield from _literals(part)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        yield from _literals(node.func.value)


def modules() -> list[str]:
    """The modules of the app that are covered."""
    files = [ROOT / "app.py", *sorted((ROOT / "viz").rglob("*.py"))]
    names = [file.relative_to(ROOT).as_posix() for file in files]
    return [name for name in names if not NOT_YET_COVERED.match(name)]


@pytest.mark.parametrize("module", modules())
def test_every_text_on_screen_is_marked(module: str) -> None:
    assert list(unmarked((ROOT / module).read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        'st.caption("Layer")',
        'left.button(f"Go to {n}")',
        'st.selectbox("Model", names)',
        'st.toggle(_("Mask"), help="Hides later tokens.")',
        'st.markdown("It reads " + words)',
        'st.markdown("On" if on else _("Off"))',
        'chart(figure, key="bars", alt=f"Weights of {head}")',
        'st.info("{n} tokens".format(n=n))',
        'words = f"{head} rests on {token}."\nst.markdown(words)',
        'NAMES = {"key": "Scores and weights"}',
        '_(f"{n} tokens")',
    ],
)
def test_an_unmarked_text_is_found(line: str) -> None:
    assert len(list(unmarked(line))) == 1


@pytest.mark.parametrize(
    "line",
    [
        '"""What it is for."""',
        'st.caption(_("Layer"))',
        'st.button(_("Go to {n}").format(n=f"{n:,}"), key="go_to")',
        'st.markdown(f"**{head}**: {words}")',
        'st.markdown(words["some key"])',
        'NAMES = {"key": N_("Scores and weights")}',
        'st.html("<style>.x { color: red; margin: 0 auto }</style>")',
        'raise ValueError(f"{n} heads to compare")',
        'st.code(command(view), language="sh")',
        'say("**Step {n}** sums up.", n=n)',
        'share = entry.unit == "share of weight"',
    ],
)
def test_what_is_marked_or_read_by_nobody_is_not_found(line: str) -> None:
    assert list(unmarked(line)) == []
