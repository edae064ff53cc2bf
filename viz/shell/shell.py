"""What every page has at its top: the sentence, the choosers of model and head, and the token strip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from model.errors import HeadlightError
from model.files.checkpoint import EMBEDDED
from viz.components.sentence_box import sentence_box, typed_text
from viz.components.token_strip import StripHead, chosen_query, token_strip
from viz.registry import PAGES, page_on_show, put_on_show
from viz.shell.change_marks import change_marks
from viz.shell.looks import look_name, look_pattern
from viz.shell.matrices import cell_left
from viz.shell.take_away import take_away
from viz.state.address import write_url
from viz.state.examples import EXAMPLES
from viz.state.focus import MAX_CHARACTERS, Focus, Head, head_name
from viz.state.kept import bound
from viz.state.models import model_names, remarks_on
from viz.state.notices import take_notices
from viz.state.session import get_focus, set_focus, show_example, type_text
from viz.state.settings import Sizes, close_settings, open_settings
from viz.state.shown import text_revision
from viz.state.view import View, load_view
from viz.text.catalogue import _
from viz.text.markdown import as_text
from viz.theme import Theme, theme_for

# Up to this many, layers or heads are buttons side by side; more are a list.
_MOST_BUTTONS = 16


def theme() -> Theme:
    """The colours for the theme that the browser shows."""
    return theme_for(st.context.theme.type)


def sentence(page_id: str) -> None:
    """Draw the sentence box. The app draws it above every page, so that no change of page can lose what was typed."""
    put_on_show(page_id)
    close_settings()
    sentence_box(
        get_focus().text,
        revision=text_revision(),
        max_characters=MAX_CHARACTERS,
        key="sentence_box",
        on_change=_typed,
        label=_("Your text"),
    )


def open_view() -> View | None:
    """Draw examples and choosers; the view they choose, or None (and why) if there is nothing to show.

    After this call the session has a value for each of the page's own settings.
    """
    _examples()
    choosers = st.container(key="choosers")
    try:
        view = load_view()
    except HeadlightError as error:
        with choosers:
            _chooser_row(get_focus(), None)
        show_notices()
        st.error(as_text(str(error)))
        write_url()
        return None
    with choosers:
        _chooser_row(view.focus, view)
    config = view.model.config
    sizes = Sizes(len(view.tokens), config.d_vocab, config.n_layers, config.n_heads)
    open_settings(page_on_show().settings, sizes, view.revision)
    change_marks()
    _about(view)
    show_notices()
    if view.n_typed > len(view.tokens):
        st.warning(
            _(
                "The text has {n_typed:,} tokens; {model} reads {n_ctx:,}. The first {n_shown:,} are shown.",
                n_typed=view.n_typed,
                model=as_text(view.model.name),
                n_ctx=config.n_ctx,
                n_shown=len(view.tokens),
            )
        )
    write_url()
    return view


def show_notices() -> None:
    """Tell what has not been told yet."""
    for notice in take_notices():
        st.warning(as_text(notice))


def strip_revision(view: View) -> str:
    """Names the text for a page's strip.

    Each page's strip starts from the focus: a step that a change of page has cut off is not taken up there.
    """
    return f"{view.revision} {page_on_show().id}"


def strip(view: View, heads: Sequence[Head], *, hover: bool = False) -> Focus:
    """Draw the token strip for `heads`; the focus with the query token that is chosen in it.

    With `hover` the token under the pointer is previewed until one is chosen.
    """
    token_strip(
        view.labels,
        [StripHead(look_name(view.trace, head), look_pattern(view.trace, head)) for head in heads],
        query=get_focus().query,
        revision=strip_revision(view),
        key="strip",
        on_change=_stepped,
        titles=[
            _("{token} — id {id}, bytes {bytes}", token=token.label, id=token.id, bytes=token.bytes.hex(" ").upper())
            for token in view.tokens
        ],
        hover=hover,
    )
    write_url()
    if cell_left(get_focus().query):
        st.rerun()  # the words about the cell stand outside the part of the page that a step draws again
    return get_focus()


def model_chooser(name: str, *, width: int) -> None:
    """Draw the list of models; `name` is the chosen one."""
    st.selectbox(
        _("Model"),
        model_names(),
        width=width,
        **bound("model_box", name, lambda chosen: set_focus(get_focus().with_model(chosen))),
    )


def _chooser_row(focus: Focus, view: View | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        model_chooser(focus.model, width=190)
        if view is not None:
            (layer, head), config = focus.head, view.model.config
            by_layer = bound("first_layer", layer, lambda chosen: set_focus(get_focus().with_head(layer=chosen)))
            by_head = bound("first_head", head, lambda chosen: set_focus(get_focus().with_head(head=chosen)))
            _one_of(_("Layer"), config.n_layers, by_layer)
            _one_of(_("Head"), config.n_heads, by_head)
        _text_switches(focus, view)
        if view is not None:
            take_away(view)


def _text_switches(focus: Focus, view: View | None) -> None:
    """Whether the start token stands in front and, where the text has special tokens, whether they are read as such."""
    tokenizer = None if view is None else view.model.tokenizer
    name = as_text(tokenizer.start_label) if tokenizer else ""
    on = view.start_token if view else bool(focus.start_token)
    st.toggle(
        name or _("Start token"),
        disabled=tokenizer is not None and tokenizer.start_id is None,
        help=_(
            "Put the model’s start token in front. Many heads rest on the first token when they have nothing to do."
        ),
        **bound("start_box", on, lambda wanted: set_focus(get_focus().with_start_token(wanted))),
    )
    if tokenizer is None or not tokenizer.has_special:
        return
    if focus.special or tokenizer.encode(focus.text, special=True) != tokenizer.encode(focus.text):
        st.toggle(
            _("Read special tokens in the text"),
            help=_("Read names of the model’s own signs, such as those for a text’s start and end, as these signs."),
            **bound("special_box", focus.special, lambda on: set_focus(get_focus().with_special(on))),
        )


def _one_of(label: str, n: int, to_layer_or_head: dict[str, Any]) -> None:
    if n == 1:
        return  # nothing to choose
    if n <= _MOST_BUTTONS:
        st.segmented_control(label, range(n), required=True, **to_layer_or_head)
    else:
        st.selectbox(label, range(n), width=110, **to_layer_or_head)


def _examples() -> None:
    with st.container(horizontal=True, gap="small", key="examples"):
        for number, example in enumerate(EXAMPLES):
            st.button(
                example.title,
                key=f"example_{number}",
                help=_(
                    "{shows} ({head} of {model})",
                    shows=as_text(example.shows),
                    head=head_name(example.head),
                    model=EMBEDDED,
                ),
                on_click=show_example,
                args=(example,),
                type="tertiary",
            )


def _about(view: View) -> None:
    """What the example on show is there for, and what the embedded model is; of others, that there is more to know."""
    if view.model.source != "embedded":
        if remarks_on(view.model):
            with st.container(key="about"):
                label = _("How {model} was read", model=as_text(view.model.name))
                st.page_link(PAGES["models"].entry, label=label, icon=":material/info:", width="content")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="about"):
        for example in EXAMPLES:
            if example.text == view.focus.text:
                st.caption(f"**{head_name(example.head)}**: {as_text(example.shows)}", width="content")
        about = _("{model} is a small GPT-2 trained for this app.", model=as_text(view.model.name))
        st.caption(about, width="content")
        st.page_link(PAGES["models"].entry, label=_("Its card, and how to open GPT-2 itself"), width="content")


def _typed() -> None:
    text = typed_text("sentence_box")
    if text is not None:
        type_text(text, second_on_show=page_on_show().id == "two_sentences")


def _stepped() -> None:
    query = chosen_query("strip")
    if query is not None:
        set_focus(get_focus().with_query(query))
