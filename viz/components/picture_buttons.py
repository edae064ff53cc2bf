"""Two buttons that save a chart of the page as a picture, made in the browser by plotly itself."""

from __future__ import annotations

from viz.components.build import build

_component = build("picture_buttons", "buttons.js")


def picture_buttons(chart: str, *, name: str, key: str) -> None:
    """SVG and PNG of the chart whose key is `chart`, as files called `name`."""
    _component(data={"chart": chart, "name": name}, key=key, width="content")
