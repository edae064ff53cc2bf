"""What a page draws from: the focus brought into the range of its model and text, the tokens, the trace."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, replace

from model.changes.interventions import Changes
from model.errors import TextError
from model.files.checkpoint import LoadedModel
from model.text.tokenizer import Token, Tokenizer
from model.trace.trace import Trace
from viz.state.changes import fit_changes
from viz.state.focus import Focus
from viz.state.follow import followed
from viz.state.link import get_link
from viz.state.models import current_model
from viz.state.notices import notify
from viz.state.session import get_focus, set_focus
from viz.state.shared import traces
from viz.state.shown import Shown, last_shown, show
from viz.state.turn import caller, told_if_busy
from viz.state.writing import Writing, get_kept
from viz.text.catalogue import _


class _Drawing(threading.local):
    """The traces that the page under way draws from; Streamlit draws in a thread that ends with the page."""

    def __init__(self) -> None:
        self.traces = deque[Trace](maxlen=2)


_drawing = _Drawing()


@dataclass(frozen=True)
class View:
    """The focus, its model, and the tokens and trace of its text.

    Streamlit keeps a view as long as its tab is open. So that the traces of all sessions stay within the cache's bound,
    a view holds no trace but asks for it.
    """

    focus: Focus
    model: LoadedModel
    ids: tuple[int, ...]
    tokens: tuple[Token, ...]
    n_typed: int  # tokens of the whole text; more than len(tokens) if it does not fit into the model's context

    @property
    def trace(self) -> Trace:
        """The trace of `ids`, computed again only if the cache had no room for it."""
        with told_if_busy():
            return _trace(self.model, self.ids)

    @property
    def labels(self) -> list[str]:
        """How each token is shown."""
        return [token.label for token in self.tokens]

    @property
    def start_token(self) -> bool:
        """Whether the first token is the start token."""
        return _has_start(self.focus, self.model.tokenizer)

    def encode(self, text: str) -> tuple[int, ...]:
        """The ids of `text`, read as the view's own is."""
        return _encoded(self.focus, self.model.tokenizer, text)

    @property
    def revision(self) -> str:
        """Changes whenever the tokens do."""
        return f"{self.model.name}:{hash(self.ids)}"


def load_view() -> View:
    """The view of this session's focus, which is clamped to what the model and the text allow.

    Raises:
        HeadlightError: the text has no token, the model cannot trace it, or too many sessions wait for the model.
    """
    model, before = current_model(), last_shown()
    focus, config, tokenizer = get_focus(), model.config, model.tokenizer
    ids, start = _encoded(focus, tokenizer, focus.text), _has_start(focus, tokenizer)
    kept = ids[: config.n_ctx]
    all_tokens = tuple(token.bytes for token in tokenizer.tokens(ids))
    if before is not None:
        focus = focus.with_query(followed(focus.query, before.tokens, all_tokens))
    sizes = {"n_layers": config.n_layers, "n_heads": config.n_heads, "n_pos": len(kept)}
    clamped = focus.clamped(**sizes)
    view = View(clamped, model, kept, tokenizer.tokens(kept), len(ids))
    if not kept:
        if before is not None:
            show(replace(before, revision=view.revision, n_pos=0))
        raise TextError(_("There is no token to look at; type at least one character."))
    show(Shown(view.revision, len(kept), all_tokens, start))
    if before is None:
        notify(*clamped.correction(focus, get_link()))
    set_focus(clamped)
    _trace(model, kept)  # now, so that its errors are told in place of the page
    if get_kept() is None:
        writing, notices = Writing.from_params(
            get_link(), view.revision, n_typed=len(kept), d_vocab=config.d_vocab, n_ctx=config.n_ctx
        )
        writing.keep()
        notify(*notices)
    # Cut links stay with their words where the start token has come or gone.
    fit_changes(**sizes, moved=0 if before is None else start - before.start_token)
    return view


def changed_trace(view: View, changes: Changes) -> Trace:
    """The trace of the view's text in a pass with `changes`.

    Raises:
        HeadlightError: the model cannot make it, or too many sessions wait for the model.
    """
    return traces().get(view.model.network, view.ids, changes, caller=caller()) if changes else view.trace


def _has_start(focus: Focus, tokenizer: Tokenizer) -> bool:
    wanted = tokenizer.starts if focus.start_token is None else focus.start_token
    return wanted and tokenizer.start_id is not None


def _encoded(focus: Focus, tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    return tokenizer.encode(text, start_token=_has_start(focus, tokenizer), special=focus.special)


def _trace(model: LoadedModel, ids: tuple[int, ...]) -> Trace:
    for kept in _drawing.traces:
        if kept.network is model.network and kept.ids == ids:
            return kept
    trace = traces().get(model.network, ids, caller=caller())
    _drawing.traces.append(trace)
    return trace
