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
LONGEST = 400  # lines; a file that grows beyond it has more than one subject

# The rooms of `model`, from the ground up: a room may import those before it, never one behind it. A room is a package,
# or a module that stands by itself. `errors` is everybody's; `__init__` and `__main__` stand above all.
MODEL_ROOMS = ("errors", "network", "text", "files", "changes", "trace", "steps", "heads", "logits", "training")
# The same for `viz`. A page may import no other page.
VIZ_ROOMS = ("text", "theme", "streamlit_internals", "figures", "state", "registry", "components", "shell", "pages")

# What each part may not reach, neither itself nor through the parts of `viz` that it imports.
NOT_REACHED = {
    "model": {"viz", "app", "streamlit", "plotly"},
    "viz.text": {"app", "streamlit", "plotly", "torch"},
    "viz.theme": {"model", "app", "streamlit", "torch"},
    "viz.figures": {"app", "streamlit", "torch"},
    "viz.components": {"model", "app", "plotly", "torch"},
}
# Figures that one page alone draws stand in its folder, in files that begin with this word.
PAGE_FIGURES = re.compile(r"viz\.pages\.\w+\.figure\w*")
# What each part may not import itself: pages bring model and figures together and compute nothing.
NOT_IMPORTED = {"viz.pages": {"app", "torch"}, "viz.shell": {"app", "torch"}}


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
    return _named(ast.parse(file.read_text(encoding="utf-8")), package)


def types_only(file: Path, root: Path) -> set[str]:
    """The modules that `file` imports under `if TYPE_CHECKING:`, for annotations."""
    blocks = [
        node
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {name for block in blocks for name in _named(block, module_name(file, root).split(".")[:-1])}


def _named(tree: ast.AST, package: list[str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
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
        yield from _room_breaches(module, imports[module])
        if is_within(module, "viz.figures") or PAGE_FIGURES.fullmatch(module):
            # They may know the model's types, so that a function takes one object in place of many arrays.
            at_run_time = imports[module] - types_only(files[module], root)
            yield from (f"{module} imports {name}" for name in sorted(at_run_time) if is_within(name, "model"))
        for package, forbidden in NOT_REACHED.items():
            if is_within(module, package) or (package == "viz.figures" and PAGE_FIGURES.fullmatch(module)):
                for path in _paths(module, imports):
                    if any(is_within(path[-1], other) for other in forbidden):
                        yield " imports ".join(path)


def _room_breaches(module: str, imported: set[str]) -> Iterator[str]:
    """Each import of a room that lies above the module's own, or of another page."""
    for house, rooms in (("model", MODEL_ROOMS), ("viz", VIZ_ROOMS)):
        if is_within(module, house) and (room := _room(module)) in rooms:
            above = rooms[rooms.index(room) + 1 :]
            yield from (f"{module} imports {name}" for name in sorted(imported) if _room(name, house) in above)
    if module.startswith("viz.pages.") and module.count(".") > 2:
        others = {
            name for name in imported if name.startswith("viz.pages.") and name.split(".")[2] != module.split(".")[2]
        }
        yield from (f"{module} imports {name}" for name in sorted(others))


def _room(module: str, house: str | None = None) -> str | None:
    """The second part of a module's name, in `house` alone where one is given."""
    first, _, rest = module.partition(".")
    return rest.partition(".")[0] if rest and house in (None, first) else None


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
        (
            "model/heads/measures.py",
            "if TYPE_CHECKING:\n    import viz.theme",
            "model.heads.measures imports viz.theme",
        ),
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
