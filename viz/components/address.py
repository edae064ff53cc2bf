"""The browser's history: pages and sentences, each as it was left, not every choice; see `address/address.js`."""

from __future__ import annotations

from collections.abc import Mapping

from viz.components.build import build

_component = build("address", "address.js")


def keep_history(pages: Mapping[str, str], *, key: str) -> None:
    """Make one entry in the browser's history for each page and sentence visited.

    `pages` gives for every title that the tab can have the last part of that page's address, empty for the first page.
    """
    _component(data=dict(pages), key=key)
