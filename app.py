"""Headlight: what GPT-2's attention heads do to a sentence. Run with `make run`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from viz.components.address import keep_history
from viz.components.plot import fetch_library
from viz.components.theme_change import follow_theme
from viz.garbage import spare_the_collector
from viz.state.link import follow_address

HERE = Path(__file__).parent


def tab_title(page: str) -> str:
    """What the browser's tab and history call a page."""
    return f"{page} – Headlight"


st.set_page_config(page_icon=HERE / "assets" / "icon.svg", layout="wide")
follow_address()
st.html(HERE / "assets" / "style.css")
pages = [
    st.Page("viz/pages/attention/page.py", title="Attention", default=True),
    st.Page("viz/pages/three_steps/page.py", title="Three steps", url_path="steps"),
    st.Page("viz/pages/mask/page.py", title="Mask", url_path="mask"),
    st.Page("viz/pages/generation/page.py", title="One token at a time", url_path="generation"),
    st.Page("viz/pages/block/page.py", title="Inside a block", url_path="block"),
    st.Page("viz/pages/compare/page.py", title="Compare heads", url_path="compare"),
    st.Page("viz/pages/two_sentences/page.py", title="Two sentences", url_path="sentences"),
    st.Page("viz/pages/heads/page.py", title="All heads", url_path="heads"),
    st.Page("viz/pages/change/page.py", title="Change heads", url_path="change"),
    st.Page("viz/pages/lens/page.py", title="Logit lens", url_path="lens"),
    st.Page("viz/pages/weights/page.py", title="Weights", url_path="weights"),
    st.Page("viz/pages/models/page.py", title="Models", url_path="models"),
]
page = st.navigation(pages, position="top")
st.set_page_config(page_title=tab_title(page.title))
# This much is on the screen before torch is imported.
st.html(
    '<div class="masthead"><h1>Headlight</h1><p>See what each attention head of GPT-2 does to your words, after Jay '
    "Alammar's article “The Illustrated GPT-2”.</p></div>"
)
with st.container(key="unseen"):
    keep_history({tab_title(one.title): one.url_path for one in pages}, key="history")
    follow_theme(key="theme")
    fetch_library(key="fetch_library")  # while torch is imported
from viz.shell.shell import sentence  # noqa: E402 - imports torch, so not before the first text is on the screen

sentence(page.title)
page.run()
spare_the_collector()
