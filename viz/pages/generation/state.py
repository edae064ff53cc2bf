"""What the page keeps between reruns: the tokens written after the sentence, the iteration, what it measured."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

from model.logits.generation import (
    Step,
    cache_of,
    multiplications,
    read_again,
    read_next,
    step_difference,
    timed,
    written,
)
from model.logits.sampling import Sampling, choose
from viz.state.kept import Kept
from viz.state.notices import notify
from viz.state.session import get_focus, set_focus
from viz.state.shared import turns
from viz.state.turn import at_the_model
from viz.state.view import View
from viz.state.writing import Writing, get_kept
from viz.text.catalogue import _, ngettext

BURST_SECONDS = 0.3
"""So long the model writes before the page is drawn again, a stop is heard and other sessions get their turn."""
FREE_MULTIPLICATIONS = 2_000_000_000
"""A whole pass up to this size is made without being asked for."""


@dataclass(frozen=True, eq=False)
class Iteration:
    """One iteration as it was run here: through the cache and, if that was asked for, without it."""

    step: Step
    cached_ms: float
    full_ms: float | None = None
    difference: float | None = None


ITERATION = Kept[Iteration]("generation_iteration")


def get_writing(view: View) -> Writing:
    """What was written after this view's sentence; nothing if the sentence or the model has changed since."""
    kept = get_kept()
    return kept if kept is not None and kept.sentence == view.revision else Writing(view.revision)


def whole_text(view: View) -> View:
    """The view of the sentence and all that was written after it."""
    ids = view.ids + get_writing(view).ids
    return replace(view, ids=ids, tokens=view.model.tokenizer.tokens(ids))


def is_full(view: View) -> bool:
    """Whether sentence and written tokens fill the model's context."""
    return len(view.tokens) + len(get_writing(view).ids) >= view.model.config.n_ctx


def get_position(view: View) -> int:
    """The iteration's token, from 0: the focus's, or one beyond the sentence."""
    writing, last = get_writing(view), len(view.tokens) - 1
    query = min(get_focus().query, last)
    if writing.at is None or query != last:  # the focus was moved on another page
        return query
    return min(writing.at, last + len(writing.ids))


def go_to(view: View, position: int) -> None:
    """Make `position` the iteration."""
    last = len(view.tokens) - 1
    replace(get_writing(view), at=position if position > last else None).keep()
    set_focus(get_focus().with_query(min(position, last)))


def write_on(view: View, n: int) -> None:
    """Ask for `n` more tokens, beside those that were asked for and are not written yet."""
    writing = get_writing(view)
    replace(writing, left=writing.left + n).keep()


def stop(view: View) -> None:
    """Write no more."""
    replace(get_writing(view), left=0).keep()


def clear(view: View) -> None:
    """Take back what was written."""
    go_to(view, min(get_position(view), len(view.tokens) - 1))
    Writing(view.revision).keep()


def write_some(view: View, sampling: Sampling) -> None:
    """Write for a moment of what is asked for, at least one token, and go to the last of the text.

    Writing ends at the model's context, and where the model itself ends its text.
    """
    writing, text = get_writing(view), whole_text(view)
    end, new = time.monotonic() + BURST_SECONDS, list[int]()
    left = writing.left
    trace = text.trace
    with at_the_model() as turn:
        for token in written(trace, lambda logits, position: choose(logits, sampling, position).id):
            new.append(token)
            left = 0 if token in view.model.tokenizer.end_ids else left - 1
            if left == 0 or time.monotonic() > end:
                break
            turns().give_way(turn)
    replace(writing, ids=writing.ids + tuple(new), left=left).keep()
    if is_full(view):
        stop(view)
    go_to(view, len(text.tokens) + len(new) - 1)


def take_over(view: View) -> None:
    """Make the text, up to where the model ended it, the sentence of all pages; a notice says if its tokens differ.

    Tokens that stand for no text cannot be in a sentence: with one of them, what was written stays where it is.
    """
    tokenizer, focus, new = view.model.tokenizer, get_focus(), get_writing(view).ids
    n_new = next((n for n, token in enumerate(new) if token in tokenizer.end_ids), len(new))
    beyond, new = len(new) - n_new - 1, new[:n_new]
    if nameless := sum(not tokenizer.token_bytes(token) for token in new):
        notify(
            ngettext(
                "{n} of the {n_new:,} tokens that the model wrote stands for no text: the model has more rows than its "
                "vocabulary has tokens. A sentence cannot hold it, so the sentence stays as it is.",
                "{n} of the {n_new:,} tokens that the model wrote stand for no text: the model has more rows than its "
                "vocabulary has tokens. A sentence cannot hold them, so the sentence stays as it is.",
                nameless,
                n_new=n_new,
            )
        )
        return
    if beyond > 0:
        notify(
            ngettext(
                "The model ended its text and began another one: its {n} token is left out of the sentence.",
                "The model ended its text and began another one: its {n} tokens are left out of the sentence.",
                beyond,
            )
        )
    ids = view.ids + new
    taken = focus.with_text(focus.text + tokenizer.decode(new)).with_query(min(get_position(view), len(ids) - 1))
    again = view.encode(taken.text)
    if again != ids:
        notify(
            _(
                "The model wrote {n:,} tokens in pieces that its vocabulary would not cut a text into; "
                "read as text, they are {n_again:,} tokens.",
                n=n_new,
                n_again=len(again) - len(view.ids),
            )
        )
    set_focus(taken)


def is_quick(text: View, position: int) -> bool:
    """Whether a whole pass up to `position` is made without being asked for."""
    return multiplications(text.model.config, position + 1) <= FREE_MULTIPLICATIONS


def read(text: View, position: int) -> Iteration:
    """The iteration at `position`, run through the cache."""
    if (kept := ITERATION.get((text.revision, position))) is not None:
        return kept
    trace, cache = text.trace, cache_of(text.trace, position, capacity=position + 1)
    with at_the_model():
        reading = Iteration(*timed(lambda: read_next(trace.network, trace.ids[position], cache)[0], most_runs=1))
    return ITERATION.put((text.revision, position), reading)


def measure(text: View, reading: Iteration) -> Iteration:
    """The iteration run through the cache once more, now timed, and without the cache: what differs, and the times."""
    trace, position = text.trace, reading.step.position
    cache = cache_of(trace, position, capacity=position + 1)
    with at_the_model() as turn:
        between = partial(turns().give_way, turn)
        _, cached_ms = timed(lambda: read_next(trace.network, trace.ids[position], cache)[0])
        full, full_ms = timed(
            lambda: read_again(trace.network, trace.ids[: position + 1], between=between), lambda: turn.waited
        )
    difference = step_difference(reading.step, full)
    timed_reading = Iteration(reading.step, min(cached_ms, reading.cached_ms), full_ms, difference)
    return ITERATION.put((text.revision, position), timed_reading)
