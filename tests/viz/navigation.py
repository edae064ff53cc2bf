"""From page to page in the app without a browser."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from viz.registry import PAGES


def go_to(app: AppTest, page_id: str) -> AppTest:
    """Open another page of the app, as its link in the navigation does.

    `AppTest.switch_page` finds pages by their files; those of the app are functions.
    """
    app._page_hash = calc_hash(PAGES[page_id].path or page_id)
    return app.run()
