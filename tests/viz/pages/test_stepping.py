"""Stepping through the tokens: what does not depend on the token is not computed again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from model.network import attention
from model.network.gpt2 import GPT2
from model.steps.three_steps import HeadProjection

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"
LINK = {"model": "tiny", "text": TEXT, "layer": "1", "head": "2", "compare": "L0H1,L0mean", "second": "a robot in"}
PAGES = ["attention", "three_steps", "mask", "generation", "block", "compare", "two_sentences", "heads"]
PAGES += ["change", "lens"]


def step(app: AppTest, by: int = 1) -> AppTest:
    """Choose a token further on and draw the whole page, of which a step in the browser draws a part."""
    focus = app.session_state["focus"]
    app.session_state["focus"] = focus.with_query(focus.query + by)
    app.run()
    assert not app.exception, app.exception
    return app


@pytest.mark.parametrize("page", PAGES)
def test_a_step_scores_no_head_again(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    app, scored, score = open_app(page, query="3", **LINK), [], attention.attn_scores

    def counted(q, k, scale):
        if q.ndim == 2:  # one head's queries: of them a page shows matrices
            scored.append(q.shape)
        return score(q, k, scale)

    monkeypatch.setattr(attention, "attn_scores", counted)
    assert app.session_state["focus"].head == (1, 2)
    step(app)
    assert not scored
    app.session_state["focus"] = app.session_state["focus"].with_head(head=0)
    app.run()
    assert 1 <= len(scored) <= 2  # another head: once, on Two sentences for either text, on Mask also before scaling


@pytest.mark.parametrize("page", ["change", "lens"])
def test_the_next_tokens_logits_are_made_once(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    app, made, logits = open_app(page, query="3", **LINK), [], GPT2.logits
    monkeypatch.setattr(GPT2, "logits", lambda self, resid: made.append(resid.ndim) or logits(self, resid))
    step(app)
    assert made.count(1) == 1  # the chosen token's; the lens reads several at once


def test_the_check_of_step_1_is_made_once_for_all_tokens(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    callers, make = [], HeadProjection.__call__

    def counted(self, x):
        callers.append(len(x))
        return make(self, x)

    monkeypatch.setattr(HeadProjection, "__call__", counted)
    app = open_app("three_steps", query="3", **LINK)
    assert len(callers) == 3  # q, k and v
    step(app)
    assert len(callers) == 3
