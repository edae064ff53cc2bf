"""Matrices on a page: what a click on a cell says, and the cells around it where a text is too long for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, load_model
from model.text.words import group_pattern, group_words
from model.trace.trace import Trace, run_trace
from tests.viz.decode import charts, panel_values
from viz.figures.chart import Chart
from viz.shell import matrices

OpenApp = Callable[..., AppTest]
SHORT = "a robot must obey a robot"
LONG = " ".join(["a robot must obey the orders given it by a human being, and"] * 16)


def traced(text: str) -> Trace:
    model = load_model(EMBEDDED)
    return run_trace(model.network, model.tokenizer.encode(text)[: model.config.n_ctx])


def said(app: AppTest) -> str:
    words = "\n".join(element.value for element in [*app.markdown, *app.caption])
    return words.replace("\\", "").replace("\u2068", "").replace("\u2069", "")


@pytest.fixture
def open_page(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """A page whose matrices are clicked by a button with their key: on the cell given as `cell=(row, column)`."""
    wanted: list[tuple[int, int]] = []
    draw = matrices.chart

    def chart(drawn: Chart, *, key: str, on_click: Callable[[int, int], None], **options: object) -> None:
        draw(drawn, key=key, on_click=on_click, **options)  # type: ignore[arg-type]
        st.button(f"click {key}", key=f"click_{key}", on_click=lambda: on_click(*point_at(drawn, *wanted[0])))

    def open_with(page: str | None, *, cell: tuple[int, int], **params: str) -> AppTest:
        wanted[:] = [cell]
        return open_app(page, **params)

    monkeypatch.setattr(matrices, "chart", chart)
    return open_with


def point_at(drawn: Chart, row: int, column: int) -> tuple[int, int]:
    """The curve and point of the first panel's cell at row and column (from 0), or of the block that it is in."""
    block = drawn.grid.tiles[0].blocks.block
    for curve, trace in enumerate(drawn.figure.data):
        for point in range(len(trace.x) if (trace.meta or {}).get("panel") == 0 else 0):
            cell = drawn.cell_at(curve, point)
            if cell and (cell.row // block[0], cell.column // block[1]) == (row // block[0], column // block[1]):
                return curve, point
    raise AssertionError(f"no cell at {row}, {column}")


@pytest.mark.parametrize(("page", "key"), [(None, "matrices"), ("mask", "mask_steps"), ("compare", "pair")])
def test_a_click_chooses_the_query_and_says_the_pair_until_another_is_chosen(
    open_page: Callable[..., AppTest], page: str | None, key: str
) -> None:
    app = open_page(page, cell=(4, 1), text=SHORT, layer="2", head="1", query="2")
    assert "Click a cell to choose its query token." in said(app)
    app.button(key=f"click_{key}").click().run()
    assert not app.exception
    assert app.session_state["focus"].query == 4
    weight = traced(SHORT).pattern(2, 1)[4, 1]
    assert f"**query 5 “·a”** reads **key 2 “·robot”**: {weight:.3g}" in said(app)
    assert key in charts(app)  # short enough to be drawn whole
    app.session_state["focus"] = app.session_state["focus"].with_query(3)
    assert "**query 5" not in said(app.run())


@pytest.mark.parametrize(("page", "key"), [(None, "matrices"), ("mask", "mask_steps"), ("compare", "pair")])
def test_a_click_on_a_long_text_shows_the_cells_around_it_in_place_of_the_whole(
    open_page: Callable[..., AppTest], page: str | None, key: str
) -> None:
    app = open_page(page, cell=(150, 120), text=LONG, layer="2", head="1", query="2")
    assert "and to see the cells around it one by one" in said(app)
    app.button(key=f"click_{key}").click().run()
    assert not app.exception
    drawn = charts(app)
    assert key not in drawn
    assert len(drawn) <= 3
    pattern, panel = traced(LONG).pattern(2, 1), {"matrices": 2, "mask_steps": 3, "pair": 0}[key]

    def assert_part(spec: dict, weights: np.ndarray) -> None:
        assert "strongest" not in str(spec["data"])  # drawn cell by cell
        (note,) = {found[0] for found in re.finditer(r"rows \d+–\d+, columns \d+–\d+", str(spec["data"]))}
        top, bottom, left, right = (int(number) for number in re.findall(r"\d+", note))
        rows, columns = slice(top - 1, bottom), slice(left - 1, right)
        assert rows.start <= 150 < rows.stop
        assert columns.start <= 120 < columns.stop
        seen = np.tril(np.ones_like(weights, bool))
        expected = np.where(seen, weights, np.nan)[rows, columns]
        np.testing.assert_allclose(panel_values(spec, panel), expected, atol=1e-6)

    assert_part(drawn[f"{key}_part"], pattern)
    app.segmented_control(key="first_head").set_value(3).run()  # another head at the same place
    assert_part(charts(app)[f"{key}_part"], traced(LONG).pattern(2, 3))
    app.button(key=f"{key}_whole").click().run()
    assert key in charts(app)
    assert f"{key}_part" not in charts(app)


def test_a_click_on_a_word_chooses_its_first_token_and_says_the_pair(open_page: Callable[..., AppTest]) -> None:
    text = "a robot must xylophone obey"
    trace = traced(text)
    tokens = load_model(EMBEDDED).tokenizer.tokens(trace.ids)
    words = group_words([token.bytes for token in tokens])
    assert words.starts[4] > 4  # the word before it is several tokens
    weight = group_pattern(trace.pattern(2, 1), words)[4, 1]
    app = open_page(None, cell=(4, 1), text=text, layer="2", head="1", query="2", words="1")
    assert "Click a cell to choose its query word." in said(app)
    app.button(key="click_matrix_by_word").click().run()
    assert not app.exception
    assert f"**query 5 “·obey”** reads **key 2 “·robot”**: {weight:.3g}" in said(app)
    assert app.query_params["query"] == str(words.starts[4] + 1)
    app = open_page(None, cell=(1, 4), text=text, layer="2", head="1", query="2", words="1")
    app.button(key="click_matrix_by_word").click().run()
    assert "**query 2 “·robot”** does not count **key 5 “·obey”**" in said(app)
