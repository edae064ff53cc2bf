"""Builds a component from the files in the folder of its name, without a bundler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

_FOLDER = Path(__file__).parent


def build(name: str, *scripts: str, **options: Any) -> Any:
    """The component in the folder `name`, with its HTML, its CSS and `scripts` in the order given.

    Streamlit takes one script per component, so `shared.js` and `scripts` are concatenated.
    """
    folder = _FOLDER / name
    files = [_FOLDER / "shared.js", *(folder / script for script in scripts)]
    js = "".join(file.read_text("utf-8") for file in files)
    html, css = (
        "".join(path.read_text("utf-8") for path in folder.glob(f"*.{kind}")) or None for kind in ("html", "css")
    )
    return st.components.v2.component(f"headlight_{name}", html=html, css=css, js=js, **options)
