"""Two buttons that save a chart of the page as a picture, made in the browser by plotly itself."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_FILES = Path(__file__).with_suffix("")
_component = st.components.v2.component(
    "headlight_picture_buttons",
    html='<div class="row"><button data-format="svg">SVG</button><button data-format="png">PNG</button></div>',
    css=(_FILES / "buttons.css").read_text("utf-8"),
    js=(_FILES / "buttons.js").read_text("utf-8"),
)


def picture_buttons(chart: str, *, name: str, key: str) -> None:
    """SVG and PNG of the chart whose key is `chart`, as files called `name`."""
    _component(data={"chart": chart, "name": name}, key=key, width="content")
