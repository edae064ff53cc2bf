"""Two buttons that save a chart as a picture; plotly renders it in the browser."""

from __future__ import annotations

from viz.components.build import build
from viz.text.catalogue import _

_component = build("picture_buttons", "buttons.js")


def picture_buttons(chart: str, *, name: str, key: str) -> None:
    """Offer the chart whose key is `chart` as SVG and PNG files called `name`."""
    labels = {"svg": _("Save the picture as SVG"), "png": _("Save the picture as PNG")}
    _component(data={"chart": chart, "name": name, "labels": labels}, key=key, width="content")
