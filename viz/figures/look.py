"""What all figures share: the page's ground, the theme's font and hover box, a small toolbar, dragging that scrolls."""

from __future__ import annotations

from typing import Any

from viz.theme import Theme

CLEAR = "rgba(0,0,0,0)"
CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "doubleClick": "reset",  # the whole figure again; autosizing would move tiles off their titles
    "showSendToCloud": False,  # what is drawn here goes nowhere unless the person saves it
    "plotlyServerURL": "",
    "toImageButtonOptions": {"format": "svg"},
}
"""What to show a figure with: plotly's `config`."""


_AXIS: dict[str, Any] = {
    # Every figure makes room for its labels itself; to let plotly measure them, twice, is a third of its drawing time.
    "automargin": False,
    "ticklabeloverflow": "allow",
    # What a figure does not colour is not there.
    "gridcolor": CLEAR,
    "linecolor": CLEAR,
    "zerolinecolor": CLEAR,
    "ticks": "",
    "title": {"standoff": 15},
}
_ZOOM = ("zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d")
_BARE = {"line": {"color": CLEAR, "width": 0}}
TEMPLATE: dict[str, Any] = {
    "layout": {"xaxis": _AXIS, "yaxis": _AXIS},
    "data": {
        "bar": [{"type": "bar", "marker": _BARE}],
        "heatmap": [{"type": "heatmap", "colorbar": {"outlinewidth": 0, "ticks": ""}}],
    },
}
"""In place of plotly's own template, whose automatic margins and white lines no figure here wants."""


def base_layout(theme: Theme, *, zooms: bool = False) -> dict[str, Any]:
    """The layout every figure starts from; a click chooses a point, dragging scrolls the page instead of zooming.

    Only a figure that `zooms` has plotly's tools for that: in a drawing, or in panels side by side, they would move
    titles, and panels that nobody pointed at, out of view.
    The ground is the page's own colour and not transparent, so that a saved picture can be read wherever it is put.
    """
    return {
        "template": TEMPLATE,
        "paper_bgcolor": theme.paper,
        "plot_bgcolor": CLEAR,
        "font": {"family": theme.font, "size": 12, "color": theme.text},
        "hoverlabel": {
            "bgcolor": theme.hover,
            "bordercolor": theme.frame,
            "font": {"family": theme.font, "color": theme.text, "size": 13},
            "align": "left",
        },
        "hovermode": "closest",
        "clickmode": "event",
        "dragmode": False,
        "showlegend": False,
        "modebar": {
            "bgcolor": CLEAR,
            "color": theme.muted,
            "activecolor": theme.text,
            "remove": ["select2d", "lasso2d", "autoScale2d", *([] if zooms else _ZOOM)],
        },
    }
