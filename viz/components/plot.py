"""A plotly figure on a page, drawn by plotly.js itself in a component of our own.

`st.plotly_chart` takes every change of a figure for another chart: it removes the old one, with its zoom, and draws the
new one twice. Here plotly changes the picture in place (`Plotly.react`), which takes a fraction of that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import streamlit as st

from viz.components.build import build
from viz.streamlit_internals import serve_folder

OnClick = Callable[[int, int], None]
"""What is called with the numbers of the clicked point's trace, and of the point in it."""

_render = build(
    "plot",
    "plot.js",
    isolate_styles=False,  # plotly puts its styles into the page
)
_library = serve_folder("plotly_js", Path(str(files("plotly") / "package_data")))


def plot(
    figure: str, *, key: str, alt: str, config: Mapping[str, Any], min_width: int, on_click: OnClick | None = None
) -> None:
    """Draw a figure as wide as its container; `alt` is what it is called where it cannot be seen.

    `figure` is its JSON with a height in the layout; `config` what plotly.js is to draw it with. Where there are fewer
    than `min_width` pixels, it scrolls inside its frame, to the layout's `meta.in_view`, a place on its x axis.
    """
    revision = hashlib.blake2b(figure.encode(), digest_size=8).hexdigest()

    def clicked() -> None:
        click: Any = (st.session_state.get(key) or {}).get("click")
        # A click on the figure that was there before may arrive after this one was sent.
        if on_click is not None and isinstance(click, Mapping) and click.get("revision") == revision:
            on_click(int(click["curve"]), int(click["point"]))

    frame = {
        "revision": revision,
        "alt": alt,
        "clicks": on_click is not None,
        "config": dict(config),
        "min_width": min_width,
        "library": _library("plotly.min.js"),
    }
    message = f'{json.dumps(frame)[:-1]}, "figure": {figure}}}'
    _render(key=key, data=message.encode(), on_click_change=clicked)


def fetch_library(*, key: str) -> None:
    """Have the browser fetch plotly.js before the first figure is there."""
    _render(key=key, data=json.dumps({"library": _library("plotly.min.js")}).encode())
