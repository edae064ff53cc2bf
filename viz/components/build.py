"""Builds a component from the files in the folder of its name, without a bundler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

_FOLDER = Path(__file__).parent


def build(name: str, *scripts: str, **options: Any) -> Any:
    """The component in the folder `name`, with its HTML, its CSS and `scripts` in the order given.

    Streamlit takes one script and one style sheet per component, so `shared.js` and `shared.css` are put in front.
    """
    folder = _FOLDER / name

    def joined(*files: Path) -> str | None:
        return "".join(file.read_text("utf-8") for file in files) or None

    html, css = joined(*folder.glob("*.html")), joined(*folder.glob("*.css"))
    js = joined(_FOLDER / "shared.js", *(folder / script for script in scripts))
    if css is not None:
        css = (_FOLDER / "shared.css").read_text("utf-8") + css
    return st.components.v2.component(f"headlight_{name}", html=html, css=css, js=js, **options)
