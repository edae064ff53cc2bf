"""Mask: one text as many training examples, and the head's scores on their way to weights, with the future hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st
from jaxtyping import Float

from model.steps import masking
from model.steps.checks import largest_difference
from model.steps.masking import MaskSteps
from viz.pages.mask.figures import NUMBERED_TOKENS, mask_matrices, training_examples
from viz.shell.charts import chart
from viz.shell.choose import choose
from viz.shell.matrices import matrices, weight_and_score
from viz.shell.say import heading, remark, say
from viz.shell.shell import open_view, strip, theme
from viz.state.focus import head_name
from viz.state.session import get_focus
from viz.state.settings import choice
from viz.state.view import View
from viz.text.catalogue import _, ngettext
from viz.text.markdown import as_text
from viz.text.numbers import difference_text

INFINITY, SUBTRACTED = "−∞", "−10¹⁰"
MASKED = choice("mask_value", "masked", ("infinity", "1e10"))
SETTINGS = (MASKED,)
BESIDE = (10, 3)
"""The widths of the user's matrices and of the article's beside them."""


@st.fragment
def token_section(view: View) -> None:
    """The strip, and the chosen token's row in words."""
    focus = strip(view, [get_focus().head])
    row = view.trace.pattern(*focus.head)[focus.query, : focus.query + 1]
    st.markdown(row_in_words(row, _names(view.labels, bold=True)))


def examples_section(labels: Sequence[str]) -> None:
    """The text as training examples."""
    heading("One text, many training examples")
    st.markdown(
        ngettext(
            "One token is one training example: each row reads the text from its start and must name the token that "
            "follows. It would learn nothing if it could look at its label, so the mask hides all that comes later. "
            "The last label is open: the text ends there.",
            "{n} tokens are {n} training examples in one pass: each row reads the text from its start and must name "
            "the token that follows. It would learn nothing if it could look at its label, so the mask hides all that "
            "comes later. The last label is open: the text ends there.",
            len(labels),
        )
    )
    alt = _("The text as training examples: what each row reads, and its label")
    chart(training_examples(labels, theme=theme()), key="training", alt=alt, heads=[])


def matrices_section(view: View) -> None:
    """The way from scores to weights, on the user's text and beside it in the article's example."""
    divisor = view.model.config.scale_in_words(view.focus.head[0])
    heading("From scores to weights")
    words = st.container()
    value = choose(
        MASKED,
        _("A masked score becomes"),
        {"infinity": INFINITY, "1e10": SUBTRACTED},
        help=_(
            "The article draws minus infinity. GPT-2’s published code multiplies the score by 0 and subtracts 10¹⁰, "
            "ten billion."
        ),
    )
    subtracted = value == "1e10"
    words.markdown(_way(divisor, subtracted))
    own, example = st.columns(BESIDE, gap="medium")
    with own:
        pattern = own_matrices(view, divisor, subtracted)
    with example:
        article_matrices(subtracted)
    with own if _in_a_list(view.labels) else st.container():  # a table needs the whole width
        say("##### Each row of {head} in words", head=head_name(view.focus.head))
        rows_in_words(view.labels, pattern)


def own_matrices(view: View, divisor: str, subtracted: bool) -> Float[np.ndarray, "query key"]:
    """The chosen head's four matrices on the user's text; the last of them."""
    layer, head = view.focus.head
    trace, config, name = view.trace, view.model.config, head_name(view.focus.head)
    products, scale = trace.attn_scores(layer, head, scaled=False), config.attn_scale(layer)
    infinite = masking.mask_steps(products, scale)
    finite = masking.mask_steps(products, scale, subtract=masking.SUBTRACTED)
    steps = finite if subtracted else infinite
    say("##### {name} on your text", name=name)
    remark("Computed by {name} from what you typed.", name=as_text(view.model.name))
    figure = mask_matrices(
        steps,
        labels=view.labels,
        notes=(
            _("every query times every key"),
            _("divided by {divisor}", divisor=divisor) if divisor else _("not divided in this model"),
        ),
        masked_text=SUBTRACTED if subtracted else INFINITY,
        theme=theme(),
    )
    matrices(
        figure,
        key="mask_steps",
        alt=_("Query-key products, scaled, masked and softmax weights of {name}", name=name),
        heads=[view.focus.head],
        text=view.revision,
        labels=view.labels,
        shares=weight_and_score(view, view.focus.head),
    )
    z = masking.head_output(steps.pattern, trace.values(layer, head))
    zero = _("Both become 0, as e to the power of −10¹⁰ is smaller than any number a computer keeps.")
    st.caption(f"{_same_softmax(infinite, finite)} {zero}")
    remark(
        "Recomputed: these weights times the head’s values are the z that the model’s own pass left; "
        "largest difference {difference}.",
        difference=difference_text(largest_difference(z, trace.z[layer, head])),
    )
    return steps.pattern


def article_matrices(subtracted: bool) -> None:
    """The article's own scores on the same way."""
    infinite = masking.article_steps()
    finite = masking.article_steps(subtract=masking.SUBTRACTED)
    steps = finite if subtracted else infinite
    say("##### The article’s example")
    remark("Fixed numbers, the article’s own.")
    figure = mask_matrices(
        steps,
        labels=masking.ARTICLE_TOKENS,
        notes=(_("the article’s scores"), _("divided by √{d_head} = 4", d_head=masking.ARTICLE_D_HEAD)),
        masked_text=SUBTRACTED if subtracted else INFINITY,
        columns=1,
        theme=theme(),
        click=False,
    )
    alt = _("The article’s scores: as printed, scaled, masked, and softmax weights")
    chart(figure, key="article_steps", alt=alt, heads=[])
    st.caption(_same_softmax(infinite, finite))


def printed_section() -> None:
    """The article's printed weights, those computed from its scores, and why only the scaled ones agree."""
    computed, unscaled = masking.article_steps().pattern, masking.article_steps(scaled=False).pattern
    tables = (masking.ARTICLE_WEIGHTS, computed, unscaled)
    lines = [_("| Query | Printed | Divided by 4 | Not divided |"), "|---|---|---|---|"]
    lines += [
        f"| {token} | {' | '.join(_two_digits(table[query, : query + 1]) for table in tables)} |"
        for query, token in enumerate(masking.ARTICLE_TOKENS)
    ]
    difference = largest_difference(masking.as_printed(computed), masking.ARTICLE_WEIGHTS)
    heading("The article’s weights, printed and computed")
    left, right = st.columns(2, gap="large")
    left.markdown("\n".join(lines))
    left.markdown(
        _(
            "Rounded to two digits, the weights computed here are the printed ones: largest difference "
            "{difference}. That takes a step the article does not draw: GPT-2 divides each score by √d_head, "
            "because longer vectors give larger products. The article’s numbers fit d_head = {d_head}, "
            "a division by 4. Without it, the row of “must” would be {row}.",
            difference=difference_text(difference),
            d_head=masking.ARTICLE_D_HEAD,
            row=_two_digits(unscaled[1, :2]),
        )
    )
    with right:
        rows_in_words(masking.ARTICLE_TOKENS, computed)


def rows_in_words(labels: Sequence[str], pattern: Float[np.ndarray, "query key"]) -> None:
    """Every row of the weights in words."""
    short = _in_a_list(labels)
    names = _names(labels, bold=short)
    sentences = [row_in_words(pattern[query, : query + 1], names) for query in range(len(labels))]
    if short:
        st.markdown("\n".join(f"{query + 1}. {sentence}" for query, sentence in enumerate(sentences)))
    else:
        st.dataframe(
            {_("Query"): list(range(1, len(labels) + 1)), _("In words"): sentences},
            hide_index=True,
            height=420,
            column_config={_("Query"): st.column_config.NumberColumn(width=60), _("In words"): {"width": 1000}},
            key="rows_in_words",
            alt=_("Each row of the weights in words"),
        )


def _in_a_list(labels: Sequence[str]) -> bool:
    """Whether there are few enough rows to write their sentences in a list."""
    return len(labels) <= NUMBERED_TOKENS


def row_in_words(row: Float[np.ndarray, " key"], name: Callable[[int], str]) -> str:
    """What the last key of `row`, the query, gives to the keys up to itself, in a sentence; it names at most three."""
    shares = masking.largest_shares(row)
    (key, share), *others = shares.named
    keys = [_("{share} of the attention is on {token}", share=percent(share), token=name(key))]
    keys += [_("{share} on {token}", share=percent(share), token=name(key)) for key, share in others]
    places = {"query": name(len(row) - 1), "keys": _listed(keys), "rest": percent(shares.rest)}
    if not shares.n_rest:
        return _("While processing {query}, {keys}.", **places)
    return ngettext(
        "While processing {query}, {keys}; the other token gets {rest}.",
        "While processing {query}, {keys}; the other {n} tokens share {rest}.",
        shares.n_rest,
        **places,
    )


def _listed(items: Sequence[str]) -> str:
    """At most three items as a list in a sentence."""
    if len(items) == 3:
        return _("{first}, {second} and {third}", first=items[0], second=items[1], third=items[2])
    return _("{first} and {second}", first=items[0], second=items[1]) if len(items) == 2 else items[0]


def percent(share: float) -> str:
    """A share as a whole percentage; what is not quite nothing or not quite all is not rounded to it."""
    if 0 < share < 0.005:
        return _("under 1%")
    if 0.995 <= share < 1:
        return _("over 99%")
    return f"{share:.0%}"


def _names(labels: Sequence[str], *, bold: bool) -> Callable[[int], str]:
    """How a sentence names the token at a position, for Markdown or as plain text; equal ones by their position too."""

    def name(position: int) -> str:
        label = labels[position]
        # Isolated, as a word in another direction would turn its sentence around.
        shown = f"**\u2068{as_text(label)}\u2069**" if bold else f"\u2068{label}\u2069"
        return shown if labels.count(label) == 1 else f"{shown} ({position + 1})"

    return name


def _way(divisor: str, subtracted: bool) -> str:
    steps = (
        _("(1) Multiply each query with each key;"),
        _("(2) divide by {divisor};", divisor=divisor) if divisor else _("(2) this model divides nothing;"),
        _("(3) subtract 10¹⁰ from what is masked, that is where the key comes after the query;")
        if subtracted
        else _("(3) put −∞ where the mask is, that is where the key comes after the query;"),
        _("(4) softmax along each row, which leaves exactly 0 there. Step 2 is not drawn in the article."),
    )
    return " ".join(steps)


def _same_softmax(infinite: MaskSteps, finite: MaskSteps) -> str:
    difference = largest_difference(infinite.pattern, finite.pattern)
    return _(
        "Softmax after −∞ and after −10¹⁰: largest difference {difference}.", difference=difference_text(difference)
    )


def _two_digits(weights: Float[np.ndarray, " key"]) -> str:
    return " ".join(f"{weight:.2f}" for weight in weights)


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is None:
        return
    token_section(view)
    examples_section(view.labels)
    matrices_section(view)
    printed_section()
