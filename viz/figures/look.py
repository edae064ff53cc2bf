"""What all figures share: transparent, the theme's font and hover box, a small toolbar, no drag box in the way."""

from __future__ import annotations

from typing import Any

from viz.theme import Theme

CLEAR = "rgba(0,0,0,0)"
CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "doubleClick": "reset",  # the whole figure again; autosizing would move tiles off their titles
    "toImageButtonOptions": {"format": "svg"},
}
"""What to show a figure with: `st.plotly_chart(figure, theme=None, config=CONFIG, ...)`."""


def base_layout(theme: Theme) -> dict[str, Any]:
    """The layout every figure starts from; a click chooses a point, dragging scrolls the page instead of zooming."""
    return {
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": theme.font, "size": 12, "color": theme.text},
        "hoverlabel": {
            "bgcolor": theme.hover,
            "bordercolor": theme.frame,
            "font": {"family": theme.font, "color": theme.text, "size": 13},
            "align": "left",
        },
        "hovermode": "closest",
        "clickmode": "event+select",
        "dragmode": False,
        "showlegend": False,
        "modebar": {
            "bgcolor": CLEAR,
            "color": theme.muted,
            "activecolor": theme.text,
            "remove": ["select2d", "lasso2d", "autoScale2d"],
        },
    }
