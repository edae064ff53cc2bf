"""How a component is built: from the files in the folder of its name, without a build step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

_FOLDER = Path(__file__).parent


def build(name: str, *scripts: str, **options: Any) -> Any:
    """The component whose folder is `name`: its markup, its style, and its scripts in this order.

    Streamlit takes a single script for each component, so `scripts` are joined, `shared.js` before them.
    """
    folder = _FOLDER / name
    files = [_FOLDER / "shared.js", *(folder / script for script in scripts)]
    js = "".join(file.read_text("utf-8") for file in files)
    html, css = (
        "".join(path.read_text("utf-8") for path in folder.glob(f"*.{kind}")) or None for kind in ("html", "css")
    )
    return st.components.v2.component(f"headlight_{name}", html=html, css=css, js=js, **options)
