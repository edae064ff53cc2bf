"""A plotly figure, drawn by plotly.js in a component of our own.

`st.plotly_chart` treats every changed figure as a new chart: it removes the old one, loses its zoom, and draws the new
one twice. This component updates the chart in place (`Plotly.react`), which takes a fraction of the time.
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
from viz.text.catalogue import _

OnClick = Callable[[int, int], None]
"""Called with the index of the clicked trace and the index of the point in it."""

_render = build(
    "plot",
    "plot.js",
    isolate_styles=False,  # plotly puts its styles into the page
)
_library = serve_folder("plotly_js", Path(str(files("plotly") / "package_data")))


def plot(
    figure: str, *, key: str, alt: str, config: Mapping[str, Any], min_width: int, on_click: OnClick | None = None
) -> None:
    """Draw a figure as wide as its container; `alt` is its text for screen readers.

    `figure` is its JSON, with a height in the layout; `config` is plotly.js's configuration. In a container narrower
    than `min_width` pixels the chart scrolls inside its frame, to `meta.in_view` of the layout, a place on its x axis.
    """
    revision = hashlib.blake2b(figure.encode(), digest_size=8).hexdigest()

    def clicked() -> None:
        click: Any = (st.session_state.get(key) or {}).get("click")
        # A click on the previous figure may arrive after this one was sent.
        if on_click is not None and isinstance(click, Mapping) and click.get("revision") == revision:
            on_click(int(click["curve"]), int(click["point"]))

    frame = {
        "revision": revision,
        "alt": alt,
        "failed": _("This chart could not be drawn. Reload the page to try again."),
        "clicks": on_click is not None,
        "config": dict(config),
        "min_width": min_width,
        "library": _library("plotly.min.js"),
    }
    message = f'{json.dumps(frame)[:-1]}, "figure": {figure}}}'
    _render(key=key, data=message.encode(), on_click_change=clicked)


def fetch_library(*, key: str) -> None:
    """Make the browser fetch plotly.js before the first figure arrives."""
    _render(key=key, data=json.dumps({"library": _library("plotly.min.js")}).encode())
