"""What changed from GPT-2 small, the article's model, to the chosen one: a row for each difference, computed from both
configurations, with the way to the step where it shows.
"""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from model.network.parameters import GPT2_SMALL
from model.network.sizes import Config
from viz.registry import PAGES
from viz.shell.say import heading, remark
from viz.state.view import View
from viz.text.catalogue import _


class Difference(NamedTuple):
    """One row: what is compared, GPT-2's and the model's, the page where it shows, and the choices there by key."""

    what: str
    gpt2: str
    own: str
    page: str
    choices: tuple[tuple[str, str], ...] = ()


def differences(config: Config, *, biases: bool, gpt2: Config = GPT2_SMALL) -> list[Difference]:
    """The rows for a model of `config` whose projections have `biases`, beside `gpt2`."""

    def row(what: str, told: dict[Config, str], page: str, step: str = "") -> Difference:
        return Difference(what, told[gpt2], told[config], page, (("block_step", step),) if step else ())

    both = (gpt2, config)
    positions = {c: _("turn q and k (rotary)") if c.rotary else _("embedded, added to the token") for c in both}
    heads = {
        c: _("{n} query, {kv} key and value", n=f"{c.n_heads:,}", kv=f"{c.n_kv_heads:,}")
        if c.group > 1
        else _("{n} of each", n=f"{c.n_heads:,}")
        for c in both
    }
    mlp = {
        c: _("{d_mlp:,} wide, {name} times a second projection", d_mlp=c.d_mlp, name=ACTIVATIONS[c.activation])
        if c.gated
        else _("{d_mlp:,} wide, {name}", d_mlp=c.d_mlp, name=ACTIVATIONS[c.activation])
        for c in both
    }
    yes_no = {gpt2: _("in every projection"), config: _("in some or all projections") if biases else _("none")}
    if config.kind == gpt2.kind and biases:
        yes_no[config] = yes_no[gpt2]
    return [
        row(_("Layers"), {c: f"{c.n_layers:,}" for c in both}, "heads"),
        row(_("Numbers in a vector"), {c: f"{c.d_model:,}" for c in both}, "block", "input"),
        row(_("Positions"), positions, "block", "rotation" if config.rotary else "input"),
        row(_("Norm"), {c: c.norm for c in both}, "block", "ln_1"),
        row(_("Heads in a layer"), heads, "block", "split"),
        row(_("Norm of each query and key"), {c: _("yes") if c.qk_norm else _("no") for c in both}, "block", "qkv"),
        row(_("MLP"), mlp, "block", "mlp_post"),
        row(_("Biases"), yes_no, "block", "qkv"),
        row(_("Vocabulary"), {c: f"{c.d_vocab:,}" for c in both}, "lens"),
        row(_("Output embedding"), {c: _("the input's") if c.tied else _("its own") for c in both}, "lens"),
        row(_("Longest text, in tokens"), {c: f"{c.n_ctx:,}" for c in both}, "mask"),
        row(_("Bytes of cache a token"), {c: f"{4 * c.cached_numbers:,}" for c in both}, "generation"),
    ]


ACTIVATIONS = {"gelu": "GELU", "gelu_tanh": "GELU", "silu": "SiLU"}


def from_gpt2(view: View) -> None:
    """The table, with a button in each row that leads to where the difference shows."""
    attn = view.model.network.block(0).attn
    biased = attn.out.bias is not None or any(
        linear.bias is not None for linear, _first in view.model.network.qkv_projections(0)
    )
    heading("From GPT-2 to this model")
    remark("What has changed since the article's model, GPT-2 small. A byte count takes 4 bytes a number, as here.")
    rows = differences(view.model.config, biases=biased)
    with st.container(key="from_gpt2", gap=None):
        _cells("", _("**GPT-2 small**"), f"**{_('This model')}**")
        for number, difference in enumerate(rows):
            same = difference.gpt2 == difference.own
            link = _cells(difference.what, difference.gpt2, _("the same") if same else f"**{difference.own}**")
            page = PAGES[difference.page]
            if link.button(page.title, key=f"from_gpt2_{number}", type="tertiary", icon=":material/arrow_forward:"):
                st.session_state.update(difference.choices)
                st.switch_page(page.entry)


def _cells(*texts: str) -> st.delta_generator.DeltaGenerator:
    """A row of the table; its last cell is left for the way on."""
    *cells, last = st.columns([2, 2, 3, 2], vertical_alignment="center", gap="small")
    for cell, text in zip(cells, texts, strict=True):
        cell.markdown(text)
    return last
