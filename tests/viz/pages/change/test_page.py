"""The page Change heads: both passes' numbers, the state in link and session, the marks on all other pages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.changes.interventions import NO_CHANGES, Changes, Link, Off
from model.files.checkpoint import EMBEDDED, load_model
from model.heads.effects import pattern_shifts
from model.logits.probability import kl_bits, probabilities
from model.trace.trace import Trace, run_trace
from tests.viz.decode import array, as_read, charts, panel_values
from tests.viz.navigation import go_to
from viz.registry import PAGES
from viz.shell import next_token
from viz.text.numbers import bits_text

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"
HERE = {"text": TEXT, "layer": "1", "head": "2", "query": "5"}
OFF = "Not in this model, so no longer switched off"


def traced(text: str = TEXT, changes: Changes = NO_CHANGES) -> Trace:
    model = load_model(EMBEDDED)
    return run_trace(model.network, model.tokenizer.encode(text), changes=changes)


def said(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.warning]).replace("\\", "")


def fine(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]
    return app


def bars(app: AppTest) -> tuple[np.ndarray, np.ndarray]:
    before, after = charts(app)["change_next"]["data"]
    return array(before["customdata"]), array(after["customdata"])


def test_without_a_change_nothing_differs(open_app: OpenApp) -> None:
    app = fine(open_app("change", **HERE))
    before, after = bars(app)
    assert np.array_equal(before, after)
    assert "KL(before ‖ after) = 0 bits" in said(app)
    assert "every difference is 0" in said(app)
    assert set(charts(app)) == {"change_next"}
    assert not {"off", "cut", "renorm"} & set(app.query_params)


def test_switching_a_head_off_shows_what_the_changed_pass_computes(open_app: OpenApp) -> None:
    app = open_app("change", **HERE)
    app.segmented_control(key="change_chosen").set_value("zero")
    app.multiselect(key="change_mean").set_value([(0, 0)]).run()
    fine(app)
    changes = Changes((Off(1, 2, "zero"), Off(0, 0, "mean")))
    assert app.session_state["changes"] == changes
    assert app.query_params["off"] == "L0H0:mean,L1H2:zero"
    before, after = traced(), traced(changes=changes)
    logits = before.logits(4), after.logits(4)
    shares = [probabilities(row) for row in logits]
    drawn = bars(app)
    expected = np.sort(np.maximum(*shares))[::-1][:8]
    np.testing.assert_allclose(np.maximum(*drawn)[:8], expected, rtol=1e-3)
    np.testing.assert_allclose([side.sum() for side in drawn], [1.0, 1.0])
    assert f"KL(before ‖ after) = {bits_text(kl_bits(*logits))} bits" in said(app)

    shifts = sorted(pattern_shifts(before, after), key=lambda shift: -shift.largest)
    first = shifts[0]
    ranked = charts(app)["change_ranked"]["data"][0]
    np.testing.assert_allclose(array(ranked["x"]), [shift.largest for shift in shifts[:10]], rtol=1e-3)
    seen = np.tril(np.ones((6, 6), bool))
    matrices = charts(app)["change_matrices"]
    patterns = [trace.pattern(first.layer, first.head) for trace in (before, after)]
    for panel, values in enumerate([*patterns, patterns[1] - patterns[0]]):
        np.testing.assert_allclose(panel_values(matrices, panel)[seen], values[seen], atol=1e-5)

    app.segmented_control(key="change_rank_by").set_value("mean")
    head = (5, 3)
    app.selectbox(key="change_head").set_value(head).run()
    values = panel_values(charts(fine(app))["change_matrices"], 1)
    np.testing.assert_allclose(values[seen], after.pattern(*head)[seen], atol=1e-5)
    app.button(key="restore_all").click().run()
    assert app.session_state["changes"] == NO_CHANGES
    assert "off" not in app.query_params


def test_links_are_cut_from_the_chosen_token(open_app: OpenApp) -> None:
    app = open_app("change", **HERE)
    app.multiselect(key="change_cuts").set_value([Link(1, 2, 4, 1)]).run()
    app.selectbox(key="change_query").set_value(3).run()
    assert app.session_state["focus"].query == 3
    app.multiselect(key="change_cuts").set_value([Link(1, 2, 4, 1), Link(1, 2, 3, 0)]).run()
    app.toggle(key="change_renormalise").set_value(True).run()
    fine(app)
    assert app.query_params["cut"] == "L1H2:4>1,L1H2:5>2"
    assert app.query_params["renorm"] == "1"
    changes = Changes((), (Link(1, 2, 4, 1), Link(1, 2, 3, 0)), True)
    expected = kl_bits(traced().logits(3), traced(changes=changes).logits(3))
    assert f"= {bits_text(expected)} bits" in said(app)
    assert "links cut: L1H2 4 → 1, L1H2 5 → 2 (rows renormalised)" in said(app)


@pytest.mark.parametrize("sure", [0.0, 1.1])
def test_where_the_model_is_sure_the_nearest_open_token_is_offered(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, sure: float
) -> None:
    monkeypatch.setattr(next_token, "SURE", sure)
    monkeypatch.setattr(next_token, "open_position", lambda trace, query: 2)
    app = fine(open_app("change", **HERE))
    offered = [button for button in app.button if button.key == "open_guess"]
    assert len(offered) == (sure == 0)
    if offered:
        assert offered[0].label.replace("\\", "") == "Go to 3 “·must”, where it is not"
        assert offered[0].click().run().session_state["focus"].query == 2


def test_every_page_marks_what_is_changed_and_shows_the_unchanged_model(open_app: OpenApp) -> None:
    app = open_app(**HERE, off="L0H0:zero", cut="L1H2:5>2")
    for page in PAGES:
        go_to(app, page)
        assert not app.exception, (page, app.exception)
        words = said(app)
        assert "L0H0 (zero); links cut: L1H2 5 → 2 (rows not renormalised)" in words, page
        assert ("This page shows the unchanged model" in words) == (page != "change"), page
        assert app.query_params["off"] == "L0H0:zero", page
    app.button(key="restore_all").click().run()
    assert "links cut" not in said(app)


def test_a_link_that_asks_for_what_is_not_there_is_made_to_fit(open_app: OpenApp) -> None:
    app = open_app(**HERE, off="L0H0:zero,L99H0:mean,rubbish", cut="L1H2:5>2,L1H2:2>5,L1H2:99>1,L1H2:0>0", renorm="x")
    told = as_read("\n".join(warning.value for warning in app.warning))
    assert f"{OFF}: L99H0." in told
    assert "no longer cut: L1H2 1 → 1" not in told
    assert "L1H2 2 → 5, L1H2 99 → 1" in told
    assert "switched-off heads: 1 of 3, not written like L0H1:zero" in told
    assert "renorm is neither" in told
    assert app.session_state["changes"] == Changes((Off(0, 0, "zero"),), (Link(1, 2, 4, 1),))


def test_the_changes_follow_the_sentence_the_start_token_and_the_model(open_app: OpenApp) -> None:
    app = open_app("change", **HERE, off="L0H0:zero,L5H5:zero", cut="L1H2:5>2")
    app.toggle(key="start_box").set_value(True).run()
    assert app.session_state["changes"].cuts == (Link(1, 2, 5, 2),)  # the same words
    app.toggle(key="start_box").set_value(False).run()
    assert app.session_state["changes"].cuts == (Link(1, 2, 4, 1),)
    app.session_state["focus"] = app.session_state["focus"].with_text("a robot")
    fine(app.run())
    assert "no longer cut: L1H2 5 → 2." in said(app)
    assert app.session_state["changes"] == Changes((Off(0, 0, "zero"), Off(5, 5, "zero")))
    app.selectbox(key="model_box").set_value("tiny").run()
    assert f"{OFF}: L5H5." in said(app)
    assert app.session_state["changes"] == Changes((Off(0, 0, "zero"),))


@pytest.mark.parametrize("text", ["a", "**x** `y` $z$ <b> مرحبا", "a " * 400])
def test_hard_texts_and_the_last_layer(open_app: OpenApp, text: str) -> None:
    app = open_app("change", layer="5", head="1", query="1", off="L5H1:zero")
    app.session_state["focus"] = app.session_state["focus"].with_text(text).with_query(0)
    fine(app.run())
    assert "no head comes after the change" in said(app)
    app.multiselect(key="change_cuts").set_value([Link(5, 1, 0, 0)])
    app.multiselect(key="change_zero").set_value([(0, 0)]).run()
    fine(app)
    assert "change_matrices" in charts(app)


def test_an_empty_text_keeps_the_changes(open_app: OpenApp) -> None:
    app = open_app("change", text="", off="L0H0:zero")
    assert len(app.error) == 1
    assert app.query_params["off"] == "L0H0:zero"
