"""The app's pages, each known by its id: the name of its folder in `viz/pages`.

The navigation needs titles and addresses before torch is imported. Therefore a page's modules are imported only when
the page is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import streamlit as st

from viz.text.catalogue import N_, _

if TYPE_CHECKING:
    from viz.state.settings import Setting


@dataclass(frozen=True)
class Page:
    """One page. `path` is the last part of its address, empty for the page that the app opens with."""

    id: str
    name: str
    path: str

    @property
    def title(self) -> str:
        """The page's title, as the navigation and links to the page show it."""
        return _(self.name)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What can be chosen on this page only."""
        return getattr(self._module, "SETTINGS", ())

    def draw(self) -> None:
        """Draw the page below the sentence box."""
        self._module.page()

    @property
    def entry(self) -> st.Page:
        """The page as Streamlit's navigation, links and switches take it."""
        return st.Page(self.draw, title=self.title, url_path=self.path or self.id, default=not self.path)

    @property
    def _module(self) -> ModuleType:
        return import_module(f"viz.pages.{self.id}.page")


PAGES = {
    page.id: page
    for page in (
        Page("attention", N_("Attention"), ""),
        Page("three_steps", N_("Three steps"), "steps"),
        Page("mask", N_("Mask"), "mask"),
        Page("generation", N_("One token at a time"), "generation"),
        Page("block", N_("Inside a block"), "block"),
        Page("compare", N_("Compare heads"), "compare"),
        Page("two_sentences", N_("Two sentences"), "sentences"),
        Page("heads", N_("All heads"), "heads"),
        Page("change", N_("Change heads"), "change"),
        Page("lens", N_("Logit lens"), "lens"),
        Page("weights", N_("Weights"), "weights"),
        Page("models", N_("Models"), "models"),
    )
}
"""All pages by their ids, in the order of the navigation."""


def page_on_show() -> Page:
    """The page that this session's run draws."""
    return PAGES[st.session_state.page]


def put_on_show(page_id: str) -> None:
    """Draw this page in this run."""
    st.session_state.page = page_id


def page_at(path: str) -> Page:
    """The page whose address ends in `path`."""
    return next(page for page in PAGES.values() if page.path == path)
