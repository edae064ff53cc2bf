"""Weights: what the model has learnt, matrix by matrix, and how many numbers that is."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from model.network.parameters import (
    ARTICLE_TOTAL,
    BlockMatrix,
    ParameterRow,
    ParameterTable,
    Statistic,
    article_gaps,
    block_matrices,
    gpt2_small_table,
    parameter_table,
    reduced_block,
    reduced_embeddings,
)
from model.network.sizes import Config
from viz.pages.weights.figure_stack import stack_diagram
from viz.pages.weights.figure_weights import Matrix, Row, article_table, block_weights, counts_table, embedding_weights
from viz.pages.weights.from_gpt2 import from_gpt2
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
    places = {"query": query + 1, "label": as_text(token.label), "id": token.id}
    if view.model.network.wpe is None:
        remark(
            "{query} “{label}” comes in as row {id:,} of `wte`, its id. All other weights serve every token alike.",
            **places,
        )
    else:
        remark(
            "{query} “{label}” comes in as row {id:,} of `wte`, its id, plus the row of position {query} of "
            "`wpe`. All other weights serve every token alike.",
            **places,
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
            {row.name: row.shape for row in table.rows},
            block_matrices(network, layer),
            n_layers=table.n_layers,
            layer=layer,
            theme=theme(),
        )
        alt = _(
            "The network: embeddings, {n_layers} blocks, output; block {layer} open",
            n_layers=table.n_layers,
            layer=layer,
        )
        chart(figure, key="stack", alt=alt, heads=[])
        remark(
            "A token's vector rises through all of it. Not drawn, but in the table below: biases, and each block's "
            "{norm}s. The last {norm}, `ln_f`, is not drawn in the article.",
            norm=config.norm,
        )
    with right:
        heading("Block {layer}", layer=layer)
        names = {statistic: _(name) for statistic, name in STATISTICS.items()}
        statistic = choose(STATISTIC, _("Each cell stands for several weights and shows the"), names)
        write_url()
        words = names[statistic]
        matrices = block_matrices(network, layer)
        shown = [
            Matrix(matrix.name, matrix.role, part.values, part.size, part.block, _columns_of(head, matrix, config))
            for matrix, part in zip(matrices, reduced_block(network, layer, statistic), strict=True)
        ]
        figure = block_weights(shown, statistic=words, theme=theme())
        chart(figure, key="block_weights", alt=_("Weight matrices of block {layer}", layer=layer))
        remark(
            "Outlined is {head}: the columns that make its query, key and value, and the rows that read its z. A row "
            "is an input, a column an output. Each matrix has its own colour range.",
            head=head_name((layer, head)),
        )
        if config.group > 1:
            remark("The columns of key and value serve {group} query heads together.", group=config.group)
    heading("Embeddings")
    titles = {
        "wte": _("wte: a row per token"),
        "wpe": _("wpe: a row per position"),
        "lm_head": _("lm_head: a row per token"),
    }
    tables = reduced_embeddings(network, statistic).items()
    embeddings = [Matrix(titles[name], name, part.values, part.size, part.block) for name, part in tables]
    figure = embedding_weights(embeddings, statistic=words, theme=theme())
    chart(figure, key="embedding_weights", alt=_("Embeddings"), heads=[])


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


def _columns_of(head: int, matrix: BlockMatrix, config: Config) -> tuple[int, int] | None:
    """The columns, or rows of the output matrix, that belong to the head; None if the matrix is not cut into heads."""
    if not matrix.n_heads:
        return None
    own = head * matrix.n_heads // config.n_heads
    return own * config.d_head, (own + 1) * config.d_head


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is not None:
        token_section(view)
        table = parameter_table(view.model.network)
        matrices_section(view, table)
        table_section(view, table)
        from_gpt2(view)
