"""The house keeps its shape: who imports whom, how long a file is, what is documented, what is pinned.

Imports are read from the source, also those inside functions and under TYPE_CHECKING: knowing a type is knowing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 330  # lines; a file that grows beyond it has more than one subject

# What each part may not reach, neither itself nor through the parts of `viz` that it imports.
NOT_REACHED = {
    "model": {"viz", "app", "streamlit", "plotly"},
    "viz.figures": {"model", "app", "streamlit", "torch", "viz.components", "viz.focus", "viz.pages"},
    "viz.components": {"model", "app", "plotly", "torch", "viz.figures", "viz.focus", "viz.pages"},
    "viz.focus": {"app", "plotly", "torch", "viz.components", "viz.figures", "viz.pages"},
    "viz.theme": {"model", "app", "streamlit", "torch", "viz.components", "viz.figures", "viz.focus", "viz.pages"},
}
# What each part may not import itself: pages bring model and figures together and compute nothing.
NOT_IMPORTED = {"viz.pages": {"app", "torch"}}


def module_name(file: Path, root: Path) -> str:
    """`viz.figures.bars` for `viz/figures/bars.py`, `viz.figures` for its `__init__.py`."""
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_within(module: str, package: str) -> bool:
    """Whether `module` is `package` or lies in it."""
    return module == package or module.startswith(f"{package}.")


def imports_of(file: Path, root: Path) -> set[str]:
    """The modules named in the import statements of `file`; `from a import b` names `a` and `a.b`."""
    package = module_name(file, root).split(".")
    if file.name != "__init__.py":
        package.pop()
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            found.add(origin)
            found.update(f"{origin}.{alias.name}" for alias in node.names)
    return found


def python_files(root: Path) -> dict[str, Path]:
    """Every Python file of the project but the tests', by its module's name."""
    files = [*root.glob("*.py"), *root.glob("model/**/*.py"), *root.glob("viz/**/*.py")]
    return {module_name(file, root): file for file in sorted(files)}


def breaches(root: Path) -> Iterator[str]:
    """Each import that the two tables forbid, in words."""
    files = python_files(root)
    imports = {module: imports_of(file, root) for module, file in files.items()}
    for module in files:
        for package, forbidden in NOT_IMPORTED.items():
            if is_within(module, package):
                for name in sorted(imports[module]):
                    if any(is_within(name, other) for other in forbidden):
                        yield f"{module} imports {name}"
        for package, forbidden in NOT_REACHED.items():
            if is_within(module, package):
                for path in _paths(module, imports):
                    if any(is_within(path[-1], other) for other in forbidden):
                        yield " imports ".join(path)


def _paths(module: str, imports: dict[str, set[str]]) -> Iterator[list[str]]:
    """From `module` to each module it reaches, one path each; the ways go on only within `viz`."""
    seen, open_paths = {module}, [[module]]
    while open_paths:
        path = open_paths.pop()
        for name in sorted(imports.get(path[-1], ())):
            if name not in seen:
                seen.add(name)
                yield [*path, name]
                if is_within(name, "viz"):
                    open_paths.append([*path, name])


def test_imports_follow_the_design():
    assert sorted(set(breaches(ROOT))) == []


@pytest.mark.parametrize(
    ("file", "line", "breach"),
    [
        ("viz/figures/bars.py", "from model.trace import Trace", "viz.figures.bars imports model.trace"),
        ("viz/figures/bars.py", "from .. import pages", "viz.figures.bars imports viz.pages"),
        ("viz/figures/bars.py", "from viz import labels", "viz.figures.bars imports viz.labels imports streamlit"),
        ("viz/components/strip.py", "import plotly.graph_objects as go", "imports plotly.graph_objects"),
        ("viz/pages/home.py", "def show():\n    import torch", "viz.pages.home imports torch"),
        ("model/heads.py", "if TYPE_CHECKING:\n    import viz.theme", "model.heads imports viz.theme"),
    ],
)
def test_forbidden_import_is_found(tmp_path, file, line, breach):
    for name, text in {"viz/labels.py": "import streamlit", file: line}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert any(breach in found for found in breaches(tmp_path))


def test_pages_may_use_model_figures_and_streamlit(tmp_path):
    (tmp_path / "viz/pages").mkdir(parents=True)
    (tmp_path / "viz/pages/home.py").write_text(
        "import streamlit\nfrom model import trace\nfrom viz import figures, focus"
    )
    assert list(breaches(tmp_path)) == []


@pytest.mark.parametrize("module", python_files(ROOT))
def test_file_is_short_named_for_its_subject_and_documented(module):
    file = python_files(ROOT)[module]
    text = file.read_text(encoding="utf-8")
    assert text.count("\n") <= LONGEST, f"{module} has {text.count(chr(10))} lines"
    assert file.stem not in ("utils", "util", "helpers", "misc", "common")
    statements = ast.parse(text).body
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    bare = [
        node.name
        for node in statements
        if isinstance(node, documented) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert bare == [], f"{module}: no docstring"


@pytest.mark.parametrize("file", [file.name for file in sorted(ROOT.glob("requirements*.txt"))])
def test_every_requirement_is_pinned(file):
    lines = [line.split("#")[0].strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines()]
    loose = [
        line for line in lines if line and not line.startswith("-r ") and not re.fullmatch(r"[\w.\[\]-]+==[\w.]+", line)
    ]
    assert loose == []
