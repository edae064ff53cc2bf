"""The registry knows every page, at the address it has always had, and needs none of the pages' modules to do so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.viz.navigation import go_to
from viz.registry import PAGES, page_at

ROOT = Path(__file__).resolve().parents[2]
ADDRESSES = {
    "attention": "",
    "three_steps": "steps",
    "mask": "mask",
    "generation": "generation",
    "block": "block",
    "compare": "compare",
    "two_sentences": "sentences",
    "heads": "heads",
    "change": "change",
    "lens": "lens",
    "weights": "weights",
    "models": "models",
}


def test_every_folder_is_a_page_at_the_address_that_links_have() -> None:
    assert set(PAGES) == {path.parent.name for path in ROOT.glob("viz/pages/*/page.py")}
    assert {page.id: page.path for page in PAGES.values()} == ADDRESSES
    assert [page_at(path).id for path in ADDRESSES.values()] == list(ADDRESSES)


def test_the_navigation_is_drawn_before_torch_is_imported() -> None:
    first_text = (ROOT / "app.py").read_text("utf-8").split("from viz.shell")[0]
    imports = [line for line in first_text.splitlines() if line.startswith(("import ", "from "))]
    code = "\n".join([*imports, "import sys", "assert 'torch' not in sys.modules"])
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_each_page_is_drawn_and_known_by_its_id(open_app: Callable[..., AppTest]) -> None:
    app = open_app("models", text="a robot", model="tiny")
    for page in PAGES.values():
        go_to(app, page.id)
        assert not app.exception, (page.id, app.exception)
        assert app.session_state["page"] == page.id
