"""Two buttons that save a chart as a picture; plotly renders it in the browser."""

from __future__ import annotations

from viz.components.build import build

_component = build("picture_buttons", "buttons.js")


def picture_buttons(chart: str, *, name: str, key: str) -> None:
    """Offer the chart whose key is `chart` as SVG and PNG files called `name`."""
    _component(data={"chart": chart, "name": name}, key=key, width="content")
