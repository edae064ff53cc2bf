"""The private parts of Streamlit that the app touches are still there, and it touches no others."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
import streamlit
from streamlit import net_util
from streamlit.runtime.scriptrunner import ScriptRunContext, script_runner
from streamlit.web import bootstrap, cli

from viz import streamlit_internals

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = {"streamlit"}


def test_streamlit_is_the_version_that_was_read() -> None:
    """Another version: read each part of `viz/streamlit_internals.py` there, then raise `READ_IN`."""
    assert streamlit.__version__ == streamlit_internals.READ_IN
    assert f"streamlit=={streamlit_internals.READ_IN}" in (ROOT / "requirements.txt").read_text("utf-8").split()


def test_what_is_replaced_is_still_what_streamlit_asks() -> None:
    assert "gc.collect(" in inspect.getsource(script_runner)
    assert next(iter(inspect.signature(bootstrap.run).parameters)) == "main_script_path"
    assert "bootstrap.run(" in inspect.getsource(cli)
    assert callable(net_util.get_external_ip)
    assert "is_history_navigation" in {field.name for field in ScriptRunContext.__dataclass_fields__.values()}


def test_a_served_folder_has_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file.js").write_text("1")
    address = streamlit_internals.serve_folder("test_folder", tmp_path)
    assert re.fullmatch(r"/component/[\w.]*\.test_folder/file\.js", address("file.js"))
    monkeypatch.setattr("streamlit.get_option", lambda _: "/below/")
    assert address("file.js").startswith("/below/component/")


def test_nothing_else_touches_any() -> None:
    files = {*ROOT.glob("viz/**/*.py"), ROOT / "app.py", ROOT / "serve.py"} - {Path(streamlit_internals.__file__)}
    assert len(files) > 80
    for file in files:
        text = file.read_text("utf-8")
        named = {
            node.module if isinstance(node, ast.ImportFrom) else alias.name
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        assert {name for name in named if name and name.split(".")[0] == "streamlit"} <= PUBLIC, file
        assert not re.search(r"\bst\._|streamlit\.(runtime|web)", text), file
