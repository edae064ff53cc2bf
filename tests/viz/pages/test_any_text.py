"""Whatever is typed and whatever a link says: every page shows it, or says calmly why not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, load_model
from tests.viz.decode import charts
from viz.registry import PAGES
from viz.text.markdown import as_text

MARKUP = "<>&$*_`[]()!|~:#\\{}=^-+.\"'"
STRANGE = "\0\n\r\t\x1b\u00ad\u0301\u200b\u200d\u202e\u2028\ufeff\ufffd\ud800🏳️‍🌈👩漢字مرحبا"
TEXT = st.text(max_size=24) | st.text(st.sampled_from(MARKUP + STRANGE + "ab "), max_size=24)
HTML = "<b>zq</b> <img src=x onerror=zq()> **zq** [zq](http://zq.example) $zq^2$ :red[zq] `zq` <br>&lt;zq"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_bears_any_link_and_any_text(open_app: Callable[..., AppTest], name: str) -> None:
    page = open_app(
        name,
        layer="999",
        head="-1",
        query="nan",
        model="../../etc",
        compare="L1H1,<b>,L999H0",
        textz="AAAA",
        start="<script>",
        off="L9H9~~",
        cut="x",
    )
    _is_calm(page)
    assert page.query_params["model"] == EMBEDDED

    page.session_state["focus"] = page.session_state["focus"].with_model("tiny").with_text(HTML)
    _is_calm(page.run())
    for key, spec in charts(page).items():
        assert not any(raw in repr(spec) for raw in ("<b>zq", "<img")), key
    for words in (*page.markdown, *page.caption, *page.warning):
        assert not any(raw in words.value for raw in ("<b>zq", "<img", "](http", "$zq^", "**zq", ":red[")), words.value

    @settings(max_examples=3)
    @given(text=TEXT)
    def bears(text: str) -> None:
        page.session_state["focus"] = page.session_state["focus"].with_text(text)
        _is_calm(page.run())

    bears()


def test_a_sentence_and_what_was_written_are_sent_as_text(open_app: Callable[..., AppTest]) -> None:
    """One token at a time shows them in Markdown as one text: nothing in it is left for Streamlit to read."""
    typed = "a -> b -- :zq: :material/zq: http://zq.example www.zq.example zq@zq.example :red[zq] 1. <= zq"
    page = open_app("generation", text=typed, written="1.2.3")
    _is_calm(page)
    (sentence,) = (words.value for words in page.markdown if ":primary-background[" in words.value)
    before, _, after = sentence.partition(":primary-background[")
    assert before == as_text(typed)
    model = load_model(EMBEDDED)
    assert after == f"{as_text(model.tokenizer.decode([1, 2, 3]))}]"


def _is_calm(page: AppTest) -> None:
    """No exception, and no error but that there is no token to look at."""
    assert not page.exception, page.exception
    assert all("There is no token to look at" in error.value for error in page.error), page.error
