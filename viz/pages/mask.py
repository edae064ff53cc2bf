"""Mask: one text as many training examples, and the head's scores on their way to weights, with the future hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st
from jaxtyping import Float

from model import masking
from model.checks import largest_difference
from model.masking import MaskSteps
from viz.figures.mask import NUMBERED_TOKENS, mask_matrices, training_examples
from viz.focus import head_name
from viz.pages.charts import chart, matrix_chart
from viz.pages.shell import open_view, strip, theme
from viz.plain import as_text, difference_text
from viz.session import View, get_focus

YOURS, ARTICLE = "Your text", "The article’s example"
INFINITY, SUBTRACTED = "−∞", "−10¹⁰"


@st.fragment
def token_section(view: View) -> None:
    """The strip, and the chosen token's row in words."""
    focus = strip(view, [get_focus().head])
    row = view.trace.pattern(*focus.head)[focus.query, : focus.query + 1]
    st.markdown(row_in_words(row, _names(view.labels, bold=True)))


def choices() -> tuple[bool, bool]:
    """Whether the article's example is shown, and whether a number is subtracted rather than minus infinity put in."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        shown = st.segmented_control(
            "Shown below",
            [YOURS, ARTICLE],
            default=YOURS,
            required=True,
            key="mask_shown",
            persist_state="session",
        )
        value = st.segmented_control(
            "A masked score becomes",
            [INFINITY, SUBTRACTED],
            default=INFINITY,
            required=True,
            key="mask_value",
            persist_state="session",
            help="The article draws minus infinity. GPT-2’s published code multiplies the score by 0 and subtracts "
            "10¹⁰, ten billion.",
        )
    return shown == ARTICLE, value == SUBTRACTED


def examples_section(labels: Sequence[str], last_label: str | None) -> None:
    """A text as training examples."""
    n = len(labels)
    count = "One token is one training example" if n == 1 else f"{n} tokens are {n} training examples in one pass"
    open_end = " The last label is open: the text ends there." if last_label is None else ""
    st.subheader("One text, many training examples", anchor=False)
    st.markdown(
        f"{count}: each row reads the text from its start and must name the token that follows. "
        f"It would learn nothing if it could look at its label, so the mask hides all that comes later.{open_end}"
    )
    figure = training_examples(labels, last_label=last_label, theme=theme())
    alt = "The text as training examples: what each row reads, and its label"
    chart(figure, key="training", alt=alt, heads=[])


def own_section(view: View, subtracted: bool) -> None:
    """The chosen head's four matrices on the user's text, and each row in words."""
    layer, head = view.focus.head
    trace, config, name = view.trace, view.model.config, head_name(view.focus.head)
    products, scale = trace.attn_scores(layer, head, scaled=False), config.attn_scale(layer)
    infinite = masking.mask_steps(products, scale)
    finite = masking.mask_steps(products, scale, subtract=masking.SUBTRACTED)
    steps = finite if subtracted else infinite
    divisor = config.scale_in_words(layer)
    st.subheader(f"From scores to weights in {name}", anchor=False)
    _explain(f"by {divisor}" if divisor else "", subtracted)
    figure = mask_matrices(
        steps.products,
        steps.scaled,
        steps.masked,
        steps.pattern,
        labels=view.labels,
        notes=("every query times every key", f"divided by {divisor}" if divisor else "not divided in this model"),
        masked_text=SUBTRACTED if subtracted else INFINITY,
        theme=theme(),
    )
    alt = f"Query-key products, scaled, masked and softmax weights of {name}"
    matrix_chart(figure, view, [view.focus.head], key="mask_steps", alt=alt)
    z = masking.head_output(steps.pattern, trace.v[layer, head])
    _same_softmax(infinite, finite)
    st.caption(
        "Recomputed: these weights times the head’s values are the z that the model’s own pass left; largest "
        f"difference {difference_text(largest_difference(z, trace.z[layer, head]))}."
    )
    rows_section(view.labels, steps.pattern)


def article_section(subtracted: bool) -> None:
    """The article's own scores on the same way, beside the weights it prints."""
    infinite = masking.article_steps()
    finite = masking.article_steps(subtract=masking.SUBTRACTED)
    steps = finite if subtracted else infinite
    st.subheader("From scores to weights in the article’s example", anchor=False)
    _explain("by 4", subtracted)
    figure = mask_matrices(
        steps.products,
        steps.scaled,
        steps.masked,
        steps.pattern,
        labels=masking.ARTICLE_TOKENS,
        notes=("the article’s scores", f"divided by √{masking.ARTICLE_D_HEAD} = 4"),
        masked_text=SUBTRACTED if subtracted else INFINITY,
        theme=theme(),
        click=False,
    )
    alt = "The article’s scores: as printed, scaled, masked, and softmax weights"
    chart(figure, key="article_steps", alt=alt, heads=[])
    _same_softmax(infinite, finite)
    beside_the_printed(steps, masking.article_steps(scaled=False))
    rows_section(masking.ARTICLE_TOKENS, steps.pattern)


def beside_the_printed(steps: MaskSteps, unscaled: MaskSteps) -> None:
    """The article's printed weights, those computed from its scores, and why only the scaled ones agree."""
    tables = (masking.ARTICLE_WEIGHTS, steps.pattern, unscaled.pattern)
    lines = ["| Query | Printed | Divided by 4 | Not divided |", "|---|---|---|---|"]
    lines += [
        f"| {token} | {' | '.join(_two_digits(table[query, : query + 1]) for table in tables)} |"
        for query, token in enumerate(masking.ARTICLE_TOKENS)
    ]
    difference = largest_difference(masking.as_printed(steps.pattern), masking.ARTICLE_WEIGHTS)
    st.subheader("The same weights as the article prints", anchor=False)
    left, right = st.columns(2, gap="large")
    left.markdown("\n".join(lines))
    right.markdown(
        "Rounded to two digits, the weights computed here are the printed ones: largest difference "
        f"{difference_text(difference)}."
    )
    right.markdown(
        "That takes a step the article does not draw: GPT-2 divides each score by √d_head, because longer vectors give "
        f"larger products. The article’s numbers fit d_head = {masking.ARTICLE_D_HEAD}, a division by 4. "
        f"Without it, the row of “must” would be {_two_digits(unscaled.pattern[1, :2])}."
    )


def rows_section(labels: Sequence[str], pattern: Float[np.ndarray, "query key"]) -> None:
    """Every row of the weights in words."""
    st.subheader("Each row in words", anchor=False)
    short = len(labels) <= NUMBERED_TOKENS
    names = _names(labels, bold=short)
    sentences = [row_in_words(pattern[query, : query + 1], names) for query in range(len(labels))]
    if short:
        st.markdown("\n".join(f"{query + 1}. {sentence}" for query, sentence in enumerate(sentences)))
    else:
        st.dataframe(
            {"Query": list(range(1, len(labels) + 1)), "In words": sentences},
            hide_index=True,
            height=420,
            column_config={"Query": st.column_config.NumberColumn(width=60), "In words": {"width": 1000}},
            key="rows_in_words",
            alt="Each row of the weights in words",
        )


def row_in_words(row: Float[np.ndarray, " key"], name: Callable[[int], str]) -> str:
    """What the last key of `row`, the query, gives to the keys up to itself, in a sentence; it names at most three."""
    shares = masking.largest_shares(row)
    (first, share), *others = shares.named
    words = f"While processing {name(len(row) - 1)}, {percent(share)} of the attention is on {name(first)}"
    for place, (key, share) in enumerate(others, start=1):
        words += f"{' and' if place == len(others) else ','} {percent(share)} on {name(key)}"
    if shares.n_rest == 1:
        words += f"; the other token gets {percent(shares.rest)}"
    elif shares.n_rest:
        words += f"; the other {shares.n_rest} tokens share {percent(shares.rest)}"
    return f"{words}."


def percent(share: float) -> str:
    """A share as a whole percentage; what is not quite nothing or not quite all is not rounded to it."""
    if 0 < share < 0.005:
        return "under 1%"
    if 0.995 <= share < 1:
        return "over 99%"
    return f"{share:.0%}"


def _names(labels: Sequence[str], *, bold: bool) -> Callable[[int], str]:
    """How a sentence names the token at a position, for Markdown or as plain text; equal ones by their position too."""

    def name(position: int) -> str:
        label = labels[position]
        # Isolated, as a word in another direction would turn its sentence around.
        shown = f"**\u2068{as_text(label)}\u2069**" if bold else f"\u2068{label}\u2069"
        return shown if labels.count(label) == 1 else f"{shown} ({position + 1})"

    return name


def _explain(divisor: str, subtracted: bool) -> None:
    scaled = f"(2) divide {divisor}; " if divisor else "(2) this model divides nothing; "
    hidden = "subtract 10¹⁰ from what is masked" if subtracted else "put −∞ where the mask is"
    st.markdown(
        f"(1) Multiply each query with each key; {scaled}(3) {hidden}, that is where the key comes after the query; "
        "(4) softmax along each row, which leaves exactly 0 there. Step 2 is not drawn in the article."
    )


def _same_softmax(infinite: MaskSteps, finite: MaskSteps) -> None:
    difference = largest_difference(infinite.pattern, finite.pattern)
    st.caption(
        f"Softmax after −∞ and after −10¹⁰: largest difference {difference_text(difference)}. Both become 0, as "
        "e to the power of −10¹⁰ is smaller than any number a computer keeps."
    )


def _two_digits(weights: Float[np.ndarray, " key"]) -> str:
    return " ".join(f"{weight:.2f}" for weight in weights)


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is None:
        return
    token_section(view)
    article, subtracted = choices()
    if article:
        st.info("Fixed numbers: the article’s own words and scores. Neither your text nor the chosen model is in them.")
        examples_section(masking.ARTICLE_TOKENS, masking.ARTICLE_LAST_LABEL)
        article_section(subtracted)
    else:
        examples_section(view.labels, None)
        own_section(view, subtracted)


if __name__ == "__main__":
    page()
