"""How the pattern is read on the Attention page: token by token or word by word, with or without the first token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from jaxtyping import Bool, Float

from model.heads.measures import first_token_score
from model.heads.sinks import hide_first_token, is_sink
from model.text.token_label import token_label
from model.text.words import RULE, Words, group_pattern, group_words
from viz.components.strip_words import Unit
from viz.components.token_strip import StripHead, chosen_query, token_strip
from viz.figures.bars import token_bars
from viz.pages.attention.figures import share_matrix
from viz.shell.charts import chart
from viz.shell.matrices import matrices
from viz.shell.say import say
from viz.shell.shell import strip_revision, theme
from viz.state.address import write_url
from viz.state.focus import Focus, head_name
from viz.state.kept import bound
from viz.state.session import get_focus, set_focus
from viz.state.view import View
from viz.text.catalogue import N_, _, ngettext
from viz.text.markdown import as_text

GROUP, HIDE = "group_words", "hide_first_token"
_NOT_ITS_OWN = N_("token 1 hidden: not the model’s own numbers")


@dataclass(frozen=True)
class Reading:
    """The chosen head's pattern as it is read now. Places are words if `words` is given, else tokens."""

    view: View
    words: Words | None
    without_first: bool

    @property
    def is_plain(self) -> bool:
        """Whether the page shows the pattern as the model made it."""
        return self.words is None and not self.without_first

    @property
    def unit(self) -> Unit:
        """What a place is."""
        return "token" if self.words is None else "word"

    @property
    def name(self) -> str:
        """The head's name, with what is not its own."""
        name = head_name(self.view.focus.head)
        return _("{head} without token 1", head=name) if self.without_first else name

    @property
    def note(self) -> str:
        """How the weights were made, for below a title."""
        if self.words is None:
            return _(_NOT_ITS_OWN) if self.without_first else ""
        return (
            _("by word; token 1 hidden: not the model’s own numbers")
            if self.without_first
            else _("to a word the sum, from a word the mean")
        )

    def key(self, chart: str) -> str:
        """A chart's key, after which its files are named too: what is not the model's own says so there as well."""
        return f"{chart}_by_{self.unit}{'_without_token_1' if self.without_first else ''}"

    @property
    def labels(self) -> list[str]:
        """How each place is shown: a word as its bytes are."""
        tokens = self.view.tokens
        if self.words is None:
            return self.view.labels
        return [
            tokens[span[0]].label if len(span) == 1 else token_label(b"".join(tokens[i].bytes for i in span))
            for span in self.words.spans
        ]

    @property
    def titles(self) -> list[str]:
        """Each place in full: its tokens by their labels and positions."""
        spans = [range(i, i + 1) for i in range(len(self.view.tokens))] if self.words is None else self.words.spans
        labels = self.view.labels
        return [
            " + ".join(
                _("{token} (token {at}, id {id})", token=labels[i], at=i + 1, id=self.view.tokens[i].id) for i in span
            )
            for span in spans
        ]

    def pattern(self) -> Float[np.ndarray, "query key"]:
        """The weights between places; rows add up to 1."""
        pattern = self.view.trace.pattern(*self.view.focus.head)
        if self.without_first:
            pattern = hide_first_token(pattern)
        return pattern if self.words is None else group_pattern(pattern, self.words)

    def place_of(self, token: int) -> int:
        """The place of the token at this position."""
        return token if self.words is None else self.words.word_of(token)

    def token_at(self, place: int) -> int:
        """The token that stands for a place: the chosen one if it is in it, else its first."""
        if self.words is None:
            return place
        chosen = get_focus().query
        return chosen if self.words.word_of(chosen) == place else self.words.starts[place]


def hidden_cells(pattern: Float[np.ndarray, "query key"]) -> Bool[np.ndarray, "query key"]:
    """Where nothing is to be read: later keys, and a first key that gives nothing to anyone but itself."""
    hidden = np.triu(np.ones(pattern.shape, dtype=bool), 1)
    if not pattern[1:, 0].any():
        hidden[1:, 0] = True
    return hidden


def choose_reading(view: View) -> Reading:
    """Say where the head rests on the first token, draw the switches that apply, and give what they choose."""
    start = [0] if view.ids[0] == view.model.tokenizer.start_id else []
    words = group_words([token.bytes for token in view.tokens], alone=start)
    pattern = view.trace.pattern(*view.focus.head)
    sink, hides, groups = is_sink(pattern), view.focus.without_first, not words.are_tokens
    if not (sink or hides or groups):
        return Reading(view, None, False)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="reading"):
        if groups:
            groups = st.toggle(
                _("Group tokens to words"),
                help=as_text(_(RULE)),
                **bound(GROUP, view.focus.by_word, lambda on: set_focus(get_focus().with_reading(by_word=on))),
            )
        if sink or hides:
            hides = st.toggle(
                _("Hide token 1 and renormalise"),
                **bound(HIDE, hides, lambda on: set_focus(get_focus().with_reading(without_first=on))),
                help=_(
                    "The weights on token 1 are left out, and the others of each row scaled up to add up to 1 again. "
                    "The model did not use these numbers. A row without any other weight stays as it is."
                ),
            )
        name, label = head_name(view.focus.head), as_text(view.labels[0])
        if hides:
            told = _(
                ":material/warning: **Not the model’s own numbers:** token 1 “{label}” is hidden, the rest scaled up",
                label=label,
            )
            st.markdown(told, width="content")
        elif sink:
            told = _(
                "**{name} rests on the first token:** “{label}” gets {share:.0%} of its weight.",
                name=name,
                label=label,
                share=float(first_token_score(pattern)),
            )
            st.markdown(told, width="content")
    return Reading(view, words if groups else None, hides)


def reading_strip(reading: Reading, pattern: Float[np.ndarray, "query key"]) -> Focus:
    """The token strip of a pattern that is read in another way; the focus with what is chosen in it."""
    view = reading.view

    def stepped() -> None:
        place = chosen_query("strip")
        if place is not None:
            set_focus(get_focus().with_query(reading.token_at(place)))

    token_strip(
        reading.labels,
        [StripHead(reading.name, pattern)],
        query=reading.place_of(get_focus().query),
        # By word or by token is another text to the strip: a choice among the one is none among the other.
        revision=f"{strip_revision(view)} {reading.unit}",
        key="strip",
        on_change=stepped,
        titles=reading.titles,
        unit=reading.unit,
    )
    write_url()
    return get_focus()


def reading_bars(reading: Reading, pattern: Float[np.ndarray, "query key"], query: int, *, width: int) -> None:
    """The weights of the place that the chosen token is in."""
    place = reading.place_of(query)
    figure = token_bars(
        None,
        pattern[place],
        labels=reading.labels,
        query=place,
        note=reading.note,
        theme=theme(),
        unit=reading.unit,
        masked=hidden_cells(pattern)[place],
        width=width,
        height=180,
    )
    chart(
        figure,
        key=reading.key("weights"),
        alt=_("Weights of the chosen token for every key in {head}", head=reading.name)
        if reading.words is None
        else _("Weights of the chosen word for every key in {head}", head=reading.name),
    )


def reading_matrix(reading: Reading) -> None:
    """The head's weights between places; a click chooses the cell's query and names the pair in words."""
    pattern = reading.pattern()
    figure = share_matrix(
        pattern,
        labels=reading.labels,
        head=reading.name,
        note=reading.note,
        theme=theme(),
        hidden=hidden_cells(pattern),
    )
    left, right = st.columns([3, 2], gap="large", vertical_alignment="center")
    with right:
        _how_made(reading)
    note = f" ({reading.note})" if reading.without_first else ""
    with left:
        matrices(
            figure,
            key=reading.key("matrix"),
            alt=_("Weights of {head} by token", head=reading.name)
            if reading.words is None
            else _("Weights of {head} by word", head=reading.name),
            heads=[reading.view.focus.head],
            text=(reading.view.revision, reading.name, reading.unit),
            labels=reading.labels,
            shares=lambda cell: f"{float(pattern[cell.row, cell.column]):.3g}{note}",
            token_at=reading.token_at,
            unit=reading.unit,
            not_read=N_("**query {query}** does not count **key {key}**: it comes later, or is hidden."),
            words_in=right,
        )


def _how_made(reading: Reading) -> None:
    """How the matrix is made, in words."""
    if reading.words is not None:
        made = ngettext(
            "{n_tokens:,} tokens are read as **{n} word**. What a word gets is the sum over its tokens; what it gives "
            "is the mean over them. Each row still adds up to 1.",
            "{n_tokens:,} tokens are read as **{n} words**. What a word gets is the sum over its tokens; what it gives "
            "is the mean over them. Each row still adds up to 1.",
            len(reading.words),
            n_tokens=len(reading.view.tokens),
        )
        st.markdown(made)
    if reading.without_first:
        say(
            "**Not the model’s own numbers:** token 1 is left out, and the others of each row are scaled up to add up "
            "to 1."
        )
