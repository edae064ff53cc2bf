"""All heads: every head's pattern at a glance, who looks where, and the measures of all heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st

from model.heads.all_heads import measure_heads
from model.heads.search import mean_weights_to
from model.heads.thumbnails import MAX_CELLS, Thumbnails, thumbnails
from model.trace.trace import Trace
from viz.components.head_grid import cells_for, chosen_head, head_grid, mark_heads
from viz.pages.heads.figures import sheet_cells, thumbnail_sheet
from viz.pages.heads.find import SETTINGS as FIND_SETTINGS
from viz.pages.heads.find import finder
from viz.pages.heads.measures import SETTINGS as MEASURE_SETTINGS
from viz.pages.heads.measures import measures_section
from viz.registry import PAGES
from viz.shell.charts import chart
from viz.shell.say import say
from viz.shell.shell import open_view, strip, theme
from viz.state.changes import get_changes
from viz.state.focus import MEAN
from viz.state.measured import repeated_measures
from viz.state.session import get_focus, set_focus
from viz.state.settings import switch
from viz.state.turn import at_the_model
from viz.state.view import View
from viz.text.catalogue import _

GRID = "head_grid"
_OPENS = {"open": "attention", "beside": "compare"}
_GO, _AGAIN = "heads_go", "heads_again"
SETTINGS = (*FIND_SETTINGS, *MEASURE_SETTINGS, switch("heads_sheet", "sheet"))


@st.cache_resource(show_spinner=False)
def _kept() -> WeakKeyDictionary[Trace, dict[str, Any]]:
    """What was derived for all heads of a trace, as long as the trace itself is kept."""
    return WeakKeyDictionary()


def _queued(make: Callable[[Trace], Any], trace: Trace) -> Callable[[], Any]:
    """`make(trace)` for later, at the model's own turn: work of seconds in a long text."""

    def made() -> Any:
        with at_the_model():
            return make(trace)

    return made


def _once(trace: Trace, name: str, make: Callable[[], Any]) -> Any:
    kept = _kept().setdefault(trace, {})
    if name not in kept:
        kept[name] = make()
    return kept[name]


def grid_section(view: View) -> None:
    """All heads in one picture. Nothing in it depends on the chosen token; `mark_heads` adds what does."""
    config = view.model.config
    cells = cells_for(config.n_layers * config.n_heads, len(view.tokens), most=MAX_CELLS)
    shown: Thumbnails = _once(view.trace, "thumbnails", lambda: thumbnails(view.trace, max_cells=cells))
    head_grid(
        shown.weights,
        queries=shown.queries,
        note=how_drawn(shown, len(view.tokens)),
        revision=view.revision,
        key=GRID,
        on_choice=_chosen,
    )


def how_drawn(shown: Thumbnails, n_tokens: int) -> str:
    """What a cell of a thumbnail is, in words."""
    each = _("Each square is a head's pattern: a row for each query, a column for each key, stronger for more weight.")
    if shown.block == 1:
        return f"{each} {_('Later keys are grey. All {n:,} × {n:,} weights are drawn.', n=n_tokens)}"
    rows = _(
        "Of the {n:,} queries every {block}th has a row, and a cell adds up its weights on {block} neighbouring keys, "
        "so that a row still adds up to 1. The mark is at the row of the chosen token's group.",
        n=n_tokens,
        block=shown.block,
    )
    return f"{each} {rows}"


@st.fragment
def token_section(view: View) -> None:
    """The strip and who looks where: what depends on the chosen token."""
    if st.session_state.pop(_AGAIN, False):
        st.rerun()
    say("#### Who looks where?")
    focus = strip(view, [get_focus().head])
    found = finder(view, focus.query, lambda: means(view), _show_from_list)
    mark_heads(
        GRID,
        revision=view.revision,
        key="grid_marks",
        first=focus.head,
        beside=[head for head in focus.compare if head[1] != MEAN],
        off=[(off.layer, off.head) for off in get_changes().off],
        query=focus.query,
        found=found,
    )


def sheet_section(view: View) -> None:
    """The same picture as a chart, to be saved; drawn only when asked for, as it is the largest of the page."""
    if not st.toggle(
        _("All heads as a chart, to save as a picture or as data"), key="heads_sheet", persist_state="session"
    ):
        return
    config = view.model.config
    cells = sheet_cells(config.n_layers * config.n_heads, most=MAX_CELLS)
    shown: Thumbnails = _once(view.trace, "sheet", lambda: thumbnails(view.trace, max_cells=cells))
    figure = thumbnail_sheet(shown.weights, queries=shown.queries, block=shown.block, theme=theme())
    chart(figure, key="sheet", alt=_("The patterns of all heads, layers down and heads across"))
    st.caption(how_drawn(shown, len(view.tokens)))


def means(view: View) -> np.ndarray:
    """The mean weight of every head on every key."""
    with st.spinner(_("Adding up the weights of all heads…")):
        found: np.ndarray = _once(view.trace, "means", _queued(mean_weights_to, view.trace))
    return found


def measured(view: View) -> Mapping[str, np.ndarray]:
    """Every measure of every head, by its name: on the text, and on repeated random tokens."""
    return _once(view.trace, "measures", _queued(measure_heads, view.trace)) | repeated_measures(view.model)


def page() -> None:
    """Draw the page."""
    wish = st.session_state.pop(_GO, None)
    if wish is not None:
        st.switch_page(PAGES[_OPENS[wish]].entry)
    view = open_view()
    if view is None:
        return
    grid_section(view)
    token_section(view)
    # Measuring every head takes a while in a long text; by now everything above is on the screen.
    with st.spinner(_("Measuring all heads…")):
        scores = measured(view)
    words = measures_section(view, scores, _show)
    mark_heads(GRID, revision=view.revision, key="grid_words", words=words)
    sheet_section(view)


def _chosen() -> None:
    choice = chosen_head(GRID)
    if choice is None:
        return
    focus, (layer, head) = get_focus(), choice.head
    if choice.wish == "open":
        set_focus(focus.with_head(layer=layer, head=head))
    elif choice.head not in focus.compare:
        set_focus(focus.with_compare(choice.head, *focus.compare[1:]))
    st.session_state[_GO] = choice.wish


def _show(layer: int, head: int) -> None:
    """Choose a head and stay here."""
    set_focus(get_focus().with_head(layer=layer, head=head))


def _show_from_list(layer: int, head: int) -> None:
    """The same from the part of the page that redraws alone: the rest has to follow."""
    _show(layer, head)
    st.session_state[_AGAIN] = True
