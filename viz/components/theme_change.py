"""Another theme in the browser: the page is drawn again in its colours; see `theme_change/theme_change.js`."""

from __future__ import annotations

from viz.components.build import build

_component = build("theme_change", "theme_change.js")


def follow_theme(*, key: str) -> None:
    """Run the page again whenever the browser shows another theme."""
    _component(key=key, on_ground_change=lambda: None)
