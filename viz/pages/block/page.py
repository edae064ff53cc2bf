"""Inside a block: one token's way through one layer, step by step, each step checked against the model."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from model.steps.block import STEPS, BlockSteps, Check, block_steps, steps_of
from viz.pages.block.drawing import MOST_ROWS, Scene, Vectors, draw
from viz.pages.block.words import NOT_DRAWN, WORDS, difference, told
from viz.shell.choose import choose
from viz.shell.say import remark, say
from viz.shell.shell import open_view, strip
from viz.state.session import get_focus
from viz.state.settings import choice, switch
from viz.state.view import View
from viz.text.catalogue import _
from viz.text.markdown import as_text

_KEPT: dict[str, Any] = {"persist_state": "session"}
STEP, ZOOM = choice("block_step", "part", STEPS), choice("block_zoom", "zoom", ("numbers", "blocks", "heads"))
SETTINGS = (STEP, ZOOM, switch("block_numbers", "table"))
_NO_ZOOM = ("score", "sum")
# On a narrow screen the list lies in two columns, so that the step it chooses is not a screen further down.
_STYLE = """<style>
.st-key-block_step [role=radiogroup] { gap: 0.15rem; }
.st-key-block_step [role=radiogroup] [data-testid=stCaptionContainer] { font-variant-numeric: tabular-nums; }
@media (max-width: 640px) {
  .st-key-block_step [role=radiogroup] { display: grid; grid-template-columns: 1fr 1fr; gap: 0.3rem; }
}
</style>"""


@st.fragment
def token_section(view: View) -> None:
    """Strip, list and step: all of it depends on the chosen token."""
    focus = strip(view, [get_focus().head])
    layer, head = focus.head
    steps = block_steps(view.trace, layer, focus.query)
    st.html(_STYLE)
    left, right = st.columns([1, 3.2], gap="large")
    with left:
        step = step_list(view, steps)
    with right:
        per_cell = heading(view, step, layer)
        scene = Scene(view, layer, head, focus.query, steps, per_cell)
        vectors = draw(step, scene)
        below(view, step, steps.checks[step], vectors, focus.query)


def step_list(view: View, steps: BlockSteps) -> str:
    """The list of steps, each with its check; the chosen one."""
    network = view.model.network
    own = steps_of(network)
    if st.session_state.get(STEP.key) not in own:  # a step that another model has
        st.session_state[STEP.key] = own[0]
    chosen = st.radio(
        _("Steps of one layer"),
        own,
        format_func=lambda step: _label(view, step),
        captions=[told(steps.checks[step]) for step in own],
        key=STEP.key,
        **_KEPT,
    )
    worst = max(steps.checks.values(), key=lambda check: check.difference)
    remark(
        "Under each step: the largest difference between the model's own numbers and the same recomputed "
        "from the step's inputs. The largest of all is {difference}. Steps in grey are not drawn in the "
        "article.",
        difference=difference(worst),
    )
    return chosen or own[0]


def heading(view: View, step: str, layer: int) -> float:
    """The step's name, the way to its neighbours, what it does, and the zoom: how many numbers a cell stands for."""
    words, network = WORDS[step], view.model.network
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.subheader(as_text(words.title(network)) + ("" if words.drawn else f" {_(NOT_DRAWN)}"), anchor=False)
        with st.container(horizontal=True, gap="small", width="content"):
            _neighbour(view, _("Previous step"), step, -1)
            _neighbour(view, _("Next step"), step, 1)
    st.markdown(words.explain(network, layer))
    if step in _NO_ZOOM:
        return 1.0
    zooms = {"blocks": _("3 blocks"), "heads": _("A block per head"), "numbers": _("Every number")}
    zoom = choose(ZOOM, _("Zoom"), zooms)
    if zoom == "numbers":
        return 1.0
    remark("Each block shows one of the numbers that it stands for: the one farthest from 0.")
    config = view.model.config
    return max(config.d_model / 3, 1.0) if zoom == "blocks" else float(config.d_head)


def below(view: View, step: str, check: Check, vectors: Vectors, query: int) -> None:
    """What the charts leave out, the step's check, and the numbers as a table if wanted."""
    if step in _NO_ZOOM and query >= MOST_ROWS:
        remark(
            "Of {query:,} tokens the {rows} with the largest weights have a row, in the text's order.",
            query=query + 1,
            rows=MOST_ROWS,
        )
    numbers = {"difference": difference(check), "largest": check.largest}
    if check.holds:
        say(
            "✓ **Recomputed from its inputs, equal**: largest difference **{difference}**, the model's own numbers "
            "reaching {largest:.3g}.",
            **numbers,
        )
    else:
        say(
            "✗ **Recomputed from its inputs, not equal**: largest difference **{difference}**, the model's own numbers "
            "reaching {largest:.3g}.",
            **numbers,
        )
    if st.toggle(_("Numbers as a table"), key="block_numbers", **_KEPT):
        table = pd.DataFrame({name: pd.Series(values) for name, values in vectors.items()})
        st.dataframe(table, height=320, placeholder="", alt=_("The numbers of this step's vectors"))


def _label(view: View, step: str) -> str:
    words = WORDS[step]
    title = as_text(words.title(view.model.network))
    return f"**{title}**" if words.drawn else f":gray[{title}]"


def _neighbour(view: View, label: str, step: str, by: int) -> None:
    own = steps_of(view.model.network)
    at = own.index(step) + by
    there = 0 <= at < len(own)
    st.button(
        label,
        key=f"block_go_{by}",
        on_click=_go,
        args=(own[at] if there else step,),
        disabled=not there,
        icon=":material/arrow_back:" if by < 0 else ":material/arrow_forward:",
    )


def _go(step: str) -> None:
    st.session_state[STEP.key] = step


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is not None:
        token_section(view)
