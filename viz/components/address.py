"""Browser history: one entry per page and sentence, not per choice; see `address/address.js`."""

from __future__ import annotations

from collections.abc import Mapping

from viz.components.build import build

_component = build("address", "address.js")


def keep_history(pages: Mapping[str, str], *, key: str) -> None:
    """Keep one entry in the browser's history for each page and sentence visited.

    `pages` maps each tab title to the last part of that page's address, which is empty for the first page.
    """
    _component(data=dict(pages), key=key)
