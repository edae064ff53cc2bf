"""Choosing the heads that stand beside the first one: from a list, the next one, one more, one less."""

from __future__ import annotations

from functools import partial

import streamlit as st

from viz.shell.looks import look_name
from viz.state.focus import MEAN, MOST_BESIDE, Head
from viz.state.kept import bound
from viz.state.session import get_focus, set_focus
from viz.state.view import View
from viz.text.catalogue import N_, _

PLACES = (N_("Second head"), N_("Third head"), N_("Fourth head"))


def heads_beside(view: View) -> None:
    """A list and buttons for each head beside the first, and buttons to add one."""
    config, beside = view.model.config, get_focus().compare
    layers, heads = range(config.n_layers), range(config.n_heads)
    options: list[Head] = [(layer, head) for layer in layers for head in heads]
    options += [(layer, MEAN) for layer in layers]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="beside"):
        for slot, head in enumerate(beside):
            _one_head(view, slot, head, options, removable=len(beside) > 1)
        if len(beside) < MOST_BESIDE:
            with st.container(horizontal=True, gap="small", width="content", key="beside_more"):
                add = following(beside[-1] if beside[-1][1] != MEAN else get_focus().head, options)
                st.button(_("Add a head"), key="beside_add", on_click=_add, args=(add,), icon=":material/add:")
                layer = get_focus().layer
                if (layer, MEAN) not in beside:
                    st.button(
                        _("Add layer {layer}'s average", layer=layer),
                        key="beside_mean",
                        on_click=_add,
                        args=((layer, MEAN),),
                        icon=":material/add:",
                        help=_(
                            "The mean over all heads of the first head's layer. Every layer's mean is at the end of "
                            "the lists."
                        ),
                    )


def following(head: Head, options: list[Head]) -> Head:
    """The head after `head`, through all layers and round again; after a layer's mean the next layer's."""
    alike = [option for option in options if (option[1] == MEAN) == (head[1] == MEAN)]
    return alike[(alike.index(head) + 1) % len(alike)]


def _one_head(view: View, slot: int, head: Head, options: list[Head], *, removable: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", width="content", key=f"slot_{slot}"):
        st.selectbox(
            _(PLACES[slot]),
            options,
            format_func=lambda option: look_name(view.trace, option),
            width=165,
            **bound(f"beside_{slot}", head, partial(_put, slot)),
        )
        st.button(_("Next head"), key=f"next_{slot}", on_click=_put, args=(slot, following(head, options)))
        if removable:
            st.button(
                _("Remove"), key=f"remove_{slot}", on_click=_remove, args=(slot,), type="tertiary", help=_(PLACES[slot])
            )


def _put(slot: int, head: Head) -> None:
    beside = list(get_focus().compare)
    beside[slot] = head
    set_focus(get_focus().with_compare(*beside))


def _add(head: Head) -> None:
    set_focus(get_focus().with_compare(*get_focus().compare, head))


def _remove(slot: int) -> None:
    beside = list(get_focus().compare)
    del beside[slot]
    set_focus(get_focus().with_compare(*beside))
