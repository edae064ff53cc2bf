"""Redraws the page when the browser switches theme; see `theme_change/theme_change.js`."""

from __future__ import annotations

from viz.components.build import build

_component = build("theme_change", "theme_change.js")


def follow_theme(*, key: str) -> None:
    """Rerun the page whenever the browser switches between light and dark."""
    _component(key=key, on_ground_change=lambda: None)
