"""What all bar charts share: headings, axes, numbers at the bars' ends, hatching and dots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from viz.theme import Theme

NUMBERS: dict[str, Any] = {"textposition": "outside", "cliponaxis": False, "constraintext": "none"}
"""How the numbers at the ends of bars are laid out: never turned, shrunk or cut by plotly."""


def heading(
    title: str, below: str, theme: Theme, *, y: float = 1, left: float | None = None, colour: str = ""
) -> dict[str, Any]:
    """A title in bold and a muted line below it, both plotly markup, hung at `y` (a part of the plot's height).

    With `left`, the width of the left margin, it stands above the plot instead, from the figure's left edge on.
    """
    place: dict[str, Any] = {"yanchor": "top"}
    if left is not None:
        place = {"yanchor": "bottom", "yshift": 4, "xshift": 4 - left}
    return place | {
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": y,
        "xanchor": "left",
        "align": "left",
        "showarrow": False,
        "font": {"size": 13 if left is None else 14, "color": colour or theme.text},
        "text": f'<b>{title}</b><br><span style="font-size:12px;color:{theme.muted}">{below}</span>',
    }


def legend(entries: Iterable[tuple[str, str, str]]) -> str:
    """The colour, the sign and the name of each kind of bar, as plotly markup; names are escaped already."""
    return "   ".join(f'<span style="color:{colour}">{sign}</span> {name}' for colour, sign, name in entries)


def value_axis(theme: Theme, **more: Any) -> dict[str, Any]:
    """The axis that bars are measured on, with a line at 0."""
    return {
        "gridcolor": theme.grid,
        "zeroline": True,
        "zerolinecolor": theme.frame,
        "zerolinewidth": 1,
        "nticks": 5,
        "tickfont": {"size": 11, "color": theme.muted},
        **more,
    }


def share_axis(longest: float, end: float, theme: Theme) -> dict[str, Any]:
    """The value axis of probabilities up to `longest`; the room for words reaches to `end`, beyond 100%."""
    ticks = {"tickvals": [0, 0.5, 1]} if longest > 0.5 else {}
    return value_axis(theme, range=[0, end], tickformat=".3~%", fixedrange=True, **ticks)


def name_axis(names: Sequence[str]) -> dict[str, Any]:
    """The axis of horizontal bars: a name a bar, the first on top."""
    return {
        "range": [len(names) - 0.5, -0.5],
        "tickvals": list(range(len(names))),
        "ticktext": list(names),
        "tickfont": {"size": 13},
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }


def axis_title(text: str, theme: Theme, standoff: int = 6) -> dict[str, Any]:
    """The title of an axis."""
    return {"text": text, "font": {"size": 11, "color": theme.muted}, "standoff": standoff}


def hatching(theme: Theme) -> dict[str, Any]:
    """The pattern of what is masked or cut."""
    return {"shape": "/", "size": 5, "solidity": 0.2, "fgcolor": theme.masked_ink}


def overlay(shape: str, theme: Theme) -> dict[str, Any]:
    """A pattern over a bar's colour, so that kinds of bars differ by more than colour."""
    return {"shape": shape, "size": 5, "solidity": 0.25, "fgcolor": theme.paper, "fillmode": "overlay"}
