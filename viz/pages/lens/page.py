"""Logit lens: the next-token guess after every layer, and which parts of the network a token's logit is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from jaxtyping import Float

from model.logits.direct import DirectLogits, direct_logits
from model.logits.probability import entropy_bits, log_probabilities, n_tied, ranking, top
from viz.figures.labels import hover_name
from viz.pages.lens.figure_contributions import head_contributions, other_contributions
from viz.pages.lens.figure_table import LensRow, lens_table
from viz.shell.charts import chart
from viz.shell.choose import choose
from viz.shell.say import heading, remark
from viz.shell.shell import open_view, strip, theme
from viz.state.focus import head_name
from viz.state.kept import bound
from viz.state.session import get_focus
from viz.state.settings import choice, token_id
from viz.state.view import View
from viz.text.catalogue import _, ngettext
from viz.text.markdown import as_text, table
from viz.text.numbers import difference_text

N_GUESSES, N_OFFERED, N_NAMED = 5, 40, 3
TOP_GUESS = -1  # in place of a token's id: whichever token the model holds most likely
LESS = choice("lens_shown", "less", ("nothing", "average"))
SETTINGS = (token_id("lens_wanted", "token", TOP_GUESS), LESS)


@st.fragment
def token_section(view: View) -> None:
    """All of it depends on the chosen token."""
    query = strip(view, [get_focus().head]).query
    own = view.trace.logits(query)
    lens_part(view, query, own)
    heading("What one logit is made of")
    order = ranking(own)
    token, less_average = choices(view, order.tolist())
    offered = [token, *(token_id for token_id in order[:N_OFFERED].tolist() if token_id != token)]
    parts = direct_logits(view.trace, query, offered, less_average=less_average)
    parts_part(view, parts, query, less_average=less_average)


def lens_part(view: View, query: int, own: Float[np.ndarray, " d_vocab"]) -> None:
    """A row for every place the lens reads, the final LayerNorm and the output matrix put to each; `own` are the
    model's logits."""
    logits = view.trace.lens(query)
    shares = np.exp(log_probabilities(logits))
    orders = np.stack([top(row, N_GUESSES) for row in logits])
    final = int(orders[-1, 0])
    n_layers = view.model.config.n_layers
    label = view.model.tokenizer.token(final).label
    ranks = (logits > logits[:, [final]]).sum(axis=1) + 1
    ranks[-1] = 1  # of equal ones the lower id counts as the guess
    names = [
        _("embeddings"),
        *(_("layer {layer}", layer=layer) for layer in range(n_layers - 1)),
        _("layer {layer} = output", layer=n_layers - 1),
    ]
    entropies = entropy_bits(logits).tolist()
    rows = [
        LensRow(
            name,
            guesses=[view.model.tokenizer.token(token_id).label for token_id in order],
            shares=shares[row, order].tolist(),
            final=order.index(final) if final in order else None,
            final_share=float(shares[row, final]),
            final_rank=int(ranks[row]),
            entropy=entropies[row],
        )
        for row, (name, order) in enumerate(zip(names, orders.tolist(), strict=True))
    ]
    figure = lens_table(rows, final=label, position=hover_name(query, view.labels[query]), theme=theme())
    heading("The guess after every layer")
    chart(
        figure,
        key="lens",
        alt=_("The likeliest next tokens after every layer, with entropy and the final guess’s rank"),
    )
    since = _settled(orders[:, 0], final)
    outlined = _("Outlined: where it is among the {n} likeliest.", n=N_GUESSES)
    guess = _tied_words(as_text(label), n) if (n := n_tied(own)) > 1 else _since_words(as_text(label), since, n_layers)
    st.markdown(f"{guess} {outlined}")
    off = float(np.abs(logits[-1] - own).max())
    remark(
        "Each row takes the residual stream as it is there, and applies the model’s final {norm} and "
        "output matrix, once, as if the layers that follow did not exist. The last row is the "
        "model’s output itself: largest difference from its logits {difference}. Entropy: 0 bits is "
        "certain, {bits:.1f} bits means that every token is equally likely.",
        difference=difference_text(off),
        bits=np.log2(view.model.config.d_vocab),
        norm=view.model.config.norm,
    )


def choices(view: View, order: Sequence[int]) -> tuple[int, bool]:
    """The token whose logit is taken apart, and whether the average token's is taken from it."""
    tokenizer = view.model.tokenizer
    kept: int = st.session_state.lens_wanted
    if kept >= view.model.config.d_vocab:  # chosen with another model
        kept = TOP_GUESS
    offered = list(dict.fromkeys([TOP_GUESS, *order[:N_OFFERED], *view.ids, kept]))
    place = {token_id: rank for rank, token_id in enumerate(order, start=1)}

    def named(token_id: int) -> str:
        if token_id == TOP_GUESS:
            return _("the top guess: {label}", label=tokenizer.token(order[0]).label)
        return _(
            "{label} (id {token_id}, guess {place:,})",
            label=tokenizer.token(token_id).label,
            token_id=token_id,
            place=place[token_id],
        )

    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.selectbox(
            _("Logit of the token"),
            offered,
            format_func=named,
            width=320,
            **bound("lens_token", kept, lambda token_id: st.session_state.update(lens_wanted=token_id)),
            help=_("The likeliest next tokens, and every token of the text."),
        )
        less = choose(
            LESS,
            _("Shown"),
            {"nothing": _("The logit itself"), "average": _("The logit less the average token’s")},
            help=_(
                "What raises all tokens’ logits alike changes no probability. Less the average over all tokens, it "
                "counts nothing."
            ),
        )
    return order[0] if kept == TOP_GUESS else kept, less == "average"


def parts_part(view: View, parts: DirectLogits, query: int, *, less_average: bool) -> None:
    """The first of the tokens in `parts`: its heads, all else, and the sum against the model's own logit."""
    label = view.model.tokenizer.token(int(parts.ids[0])).label
    heads = parts.heads[..., 0]
    left, right = st.columns(2, gap="large")
    with left:
        figure = head_contributions(heads, token=label, theme=theme())
        chart(figure, key="lens_heads", alt=_("What each head adds directly to the token’s logit"))
    with right:
        figure = other_contributions(parts, theme=theme())
        chart(figure, key="lens_others", alt=_("What embeddings, MLPs and biases add directly to the token’s logit"))
    st.markdown(_strongest(heads))
    total, own = float(parts.total[0]), float(parts.logits[0])
    columns = [
        (_("Heads"), heads.sum()),
        (_("MLPs"), parts.mlps[:, 0].sum()),
        (_("Attention biases"), None if parts.attn_bias is None else parts.attn_bias[:, 0].sum()),
        (_("Token"), parts.embed[0]),
        (_("Position"), None if parts.pos_embed is None else parts.pos_embed[0]),
        (_("Last bias"), None if parts.unembed_bias is None else parts.unembed_bias[0]),
    ]
    cells = [(title, f"{value:.4f}") for title, value in columns if value is not None]
    cells += [(_("Sum"), f"**{total:.4f}**"), (_("The model’s own"), f"**{own:.4f}**")]
    titles, numbers = zip(*cells, strict=True)
    st.markdown(table([titles, ["--:"] * len(cells), [number.replace("-", "−") for number in numbers]]))
    places = {
        "token": as_text(label),
        "query": f"{query + 1} “**{as_text(view.labels[query])}**”",
        "off": difference_text(abs(total - own)),
        "worst": difference_text(parts.difference),
        "n": len(parts.ids),
    }
    if less_average:
        check = _(
            "Check: all parts add up to the model’s logit of “**{token}**” after {query} less the average of all "
            "tokens’ logits; difference {off}, and at most {worst} for the {n} tokens checked.",
            **places,
        )
    else:
        check = _(
            "Check: all parts add up to the model’s logit of “**{token}**” after {query}; difference {off}, and at "
            "most {worst} for the {n} tokens checked.",
            **places,
        )
    direct = _(
        "Direct: only what a part writes into the residual stream itself, not what later layers make of it; the final "
        "{norm}’s scale is frozen at the value it had. An MLP’s number has its bias in it.",
        norm=view.model.config.norm,
    )
    st.caption(f"{check} {direct}")


def _settled(tops: np.ndarray, final: int) -> int:
    """The first row from which on the top guess is the final one."""
    others = np.flatnonzero(tops != final)
    return int(others[-1]) + 1 if others.size else 0


def _tied_words(guess: str, n: int) -> str:
    return ngettext(
        "{n} token shares the largest logit; of these “**{token}**” has the lowest id and is taken for the guess.",
        "{n} tokens share the largest logit; of these “**{token}**” has the lowest id and is taken for the guess.",
        n,
        token=guess,
    )


def _since_words(guess: str, row: int, n_layers: int) -> str:
    if row == 0:
        return _("The model’s guess, “**{token}**”, is on top from the embeddings on.", token=guess)
    if row == n_layers:
        return _("The model’s guess, “**{token}**”, is on top only after the last layer.", token=guess)
    return _("The model’s guess, “**{token}**”, is on top from layer {layer} on.", token=guess, layer=row - 1)


def _strongest(heads: np.ndarray) -> str:
    order = np.argsort(-np.abs(heads), axis=None)[:N_NAMED]
    named = [
        f"**{head_name((int(layer), int(head)))}** {heads[layer, head]:+.2f}"
        for layer, head in zip(*np.unravel_index(order, heads.shape), strict=True)
    ]
    return _("The heads that add most, either way: {heads}.", heads=", ".join(named)).replace("-", "−")


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is not None:
        token_section(view)
