"""Headlight: what GPT-2's attention heads do to a sentence. Run with `make run`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from viz.components.address import keep_history
from viz.components.plot import fetch_library
from viz.components.theme_change import follow_theme
from viz.garbage import spare_the_collector
from viz.registry import PAGES, page_at
from viz.state.link import follow_address
from viz.text.catalogue import _
from viz.text.html import as_html
from viz.theme import css_variables

HERE = Path(__file__).parent


def tab_title(title: str) -> str:
    """What the browser's tab and history call the page with this title."""
    return f"{title} – Headlight"


st.set_page_config(page_icon=HERE / "assets" / "icon.svg", layout="wide")
follow_address()
st.html(f"<style>{css_variables()}{(HERE / 'assets' / 'style.css').read_text('utf-8')}</style>")
chosen = st.navigation([page.entry for page in PAGES.values()], position="top")
page = page_at(chosen.url_path)
st.set_page_config(page_title=tab_title(page.title))
# The first text is on the screen before torch is imported.
about = _(
    "See what each attention head of GPT-2 does to your words, after Jay Alammar's article “The Illustrated GPT-2”."
)
st.html(f'<div class="masthead"><h1>Headlight</h1><p>{as_html(about)}</p></div>')
with st.container(key="unseen"):
    keep_history({tab_title(one.title): one.path for one in PAGES.values()}, key="history")
    follow_theme(key="theme")
    fetch_library(key="fetch_library")  # while torch is imported
from viz.shell.shell import sentence  # noqa: E402 - imports torch: not before the first text

sentence(page.id)
chosen.run()
spare_the_collector()
