"""Weights: what the model has learnt, matrix by matrix, and how many numbers that is."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from model.network.parameters import (
    ARTICLE_TOTAL,
    ParameterRow,
    ParameterTable,
    Reduced,
    Statistic,
    article_gaps,
    gpt2_small_table,
    parameter_table,
    reduced_block,
    reduced_embeddings,
)
from viz.pages.weights.figure_stack import stack_diagram
from viz.pages.weights.figure_weights import Matrix, Row, article_table, block_weights, counts_table, embedding_weights
from viz.shell.charts import chart
from viz.shell.choose import choose
from viz.shell.say import heading, remark
from viz.shell.shell import open_view, strip, theme
from viz.state.address import write_url
from viz.state.focus import head_name
from viz.state.session import get_focus
from viz.state.settings import choice
from viz.state.view import View
from viz.text.catalogue import N_, _
from viz.text.markdown import as_text

STATISTICS: dict[Statistic, str] = {
    "farthest": N_("one farthest from 0"),
    "mean": N_("mean"),
    "smallest": N_("smallest"),
    "largest": N_("largest"),
}


STATISTIC = choice("weights_statistic", "statistic", tuple(STATISTICS))
SETTINGS = (STATISTIC,)


@st.fragment
def token_section(view: View) -> None:
    """The strip, and the rows by which the chosen token enters the model: all that depends on it here."""
    query = strip(view, [get_focus().head]).query
    token = view.tokens[query]
    remark(
        "{query} “{label}” comes in as row {id:,} of `wte`, its id, plus the row of position {query} of "
        "`wpe`. All other weights serve every token alike.",
        query=query + 1,
        label=as_text(token.label),
        id=token.id,
    )


@st.fragment
def matrices_section(view: View, table: ParameterTable) -> None:
    """The stack and the chosen block's matrices; then the embeddings. Another statistic reruns this alone."""
    layer, head = view.focus.head
    network, config = view.model.network, view.model.config
    left, right = st.columns([2, 3.6], gap="large")
    with left:
        heading("The stack")
        figure = stack_diagram(
            {row.name: row.shape for row in table.rows}, n_layers=table.n_layers, layer=layer, theme=theme()
        )
        alt = _(
            "The network: embeddings, {n_layers} blocks, output; block {layer} open",
            n_layers=table.n_layers,
            layer=layer,
        )
        chart(figure, key="stack", alt=alt, heads=[])
        remark(
            "A token's vector rises through all of it. Not drawn, but in the table below: every matrix's bias "
            "and each block's two LayerNorms. The last LayerNorm, `ln_f`, is not drawn in the article."
        )
    with right:
        heading("Block {layer}", layer=layer)
        names = {statistic: _(name) for statistic, name in STATISTICS.items()}
        statistic = choose(STATISTIC, _("Each cell stands for several weights and shows the"), names)
        write_url()
        words = names[statistic]
        figure = block_weights(
            _matrices(reduced_block(network, layer, statistic)),
            head=head,
            d_head=config.d_head,
            statistic=words,
            theme=theme(),
        )
        chart(figure, key="block_weights", alt=_("Weight matrices of block {layer}", layer=layer))
        remark(
            "`attn.c_attn` is one matrix of {d_model:,} × {wide:,}; its three parts lie side by side. "
            "Outlined is {head}: its columns there, and the rows of `attn.c_proj` that read its z. A row is an "
            "input, a column an output. Each matrix has its own colour range.",
            d_model=config.d_model,
            wide=3 * config.d_model,
            head=head_name((layer, head)),
        )
    heading("Embeddings")
    figure = embedding_weights(_matrices(reduced_embeddings(network, statistic)), statistic=words, theme=theme())
    chart(figure, key="embedding_weights", alt=_("Token and position embeddings"), heads=[])


def table_section(view: View, table: ParameterTable) -> None:
    """Every tensor counted, and the article's count beside it."""
    left, right = st.columns([3, 2.6], gap="large")
    with left:
        heading("Parameters")
        st.markdown(
            counts_table(
                _rows(table.block),
                _rows(table.others),
                block_total=table.block_total,
                n_layers=table.n_layers,
                total=table.total,
            )
        )
        held = view.model.n_parameters
        remark(
            "Check: the loaded tensors hold {held:,} numbers, {off:,} off the table's sum.",
            held=held,
            off=abs(held - table.total),
        )
    with right:
        small = gpt2_small_table()
        heading("GPT-2 small in the article")
        st.markdown(
            article_table(
                ((gap.row.name, gap.printed, gap.row.count, gap.row.copies) for gap in article_gaps(small)),
                printed=ARTICLE_TOTAL,
                counted=small.total,
            )
        )
        name = as_text(view.model.name)
        same = (
            _("{model} has this shape.", model=name) if table == small else _("{model} has another shape.", model=name)
        )
        fixed = _(
            "The article's numbers are fixed, as printed there; the others are counted on an empty network of GPT-2 "
            "small's shape."
        )
        miscount = _("The often quoted 117 million is an early miscount; 124 million is right.")
        st.caption(f"{fixed} {same} {miscount}")


def _rows(rows: Iterable[ParameterRow]) -> list[Row]:
    return [(row.name, row.shape, row.count, row.copies) for row in rows]


def _matrices(reduced: dict[str, Reduced]) -> dict[str, Matrix]:
    return {name: Matrix(part.values, part.size, part.block) for name, part in reduced.items()}


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is not None:
        token_section(view)
        table = parameter_table(view.model.network)
        matrices_section(view, table)
        table_section(view, table)
