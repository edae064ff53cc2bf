"""Three steps: how one head makes one token's z. Create q, k and v; score; sum."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from model.network.parameters import block_matrices
from model.steps.checks import largest_difference
from model.steps.three_steps import (
    MOVED,
    Created,
    Scoring,
    Summing,
    create,
    head_projections,
    score,
    sum_values,
    unmasked_z,
)
from viz.figures.bars import token_bars
from viz.figures.labels import shorten
from viz.pages.three_steps.figure_map import shown_paths, steps_map
from viz.pages.three_steps.figure_steps import (
    created_vectors,
    path_vectors,
    projection_biases,
    projection_matrices,
    score_table,
    value_table,
)
from viz.shell.charts import chart
from viz.shell.choose import choose
from viz.shell.say import remark, say
from viz.shell.shell import open_view, strip, theme
from viz.state.focus import head_name
from viz.state.session import get_focus
from viz.state.settings import choice, switch
from viz.state.view import View
from viz.text.catalogue import _
from viz.text.markdown import as_text
from viz.text.numbers import difference_text

STEPS = {"1": (1,), "2": (2,), "3": (3,), "all": (1, 2, 3)}
MOST_ROWS = 24
"""Of a longer text so many keys have a row: the chosen token, those it reads most, and a few masked ones."""
STEP, MASK = choice("three_step", "step", tuple(STEPS)), switch("three_mask", "mask", default=True)
BEHIND = choice("three_behind", "behind", ("weights", "biases", "tokens"))
SETTINGS = (STEP, MASK, BEHIND)


@dataclass(frozen=True)
class Work:
    """What the chosen head does for the chosen token: steps 2 and 3, with the mask or without."""

    view: View
    query: int
    causal: bool
    scoring: Scoring
    summing: Summing

    @property
    def label(self) -> str:
        """The chosen token with its position, as typed: `9 ·it`."""
        return f"{self.query + 1} {shorten(self.view.labels[self.query])}"

    @property
    def rows(self) -> tuple[int, ...]:
        """The keys that have a row in steps 2 and 3."""
        return shown_paths(self.scoring.weights, self.scoring.masked, self.query, MOST_ROWS)

    @property
    def token(self) -> str:
        """The chosen token inside Markdown."""
        return f"{self.query + 1} “{as_text(self.view.labels[self.query])}”"


@st.fragment
def steps_section(view: View) -> None:
    """All below the head's choosers: another step, or the mask on or off, reruns this and nothing else."""
    steps, causal = controls()
    token_section(view, steps, causal)
    if steps == (1,):
        head_section(view)


def controls() -> tuple[tuple[int, ...], bool]:
    """The steps to show, and whether the mask is on."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        words = {"1": _("1 Create q, k, v"), "2": _("2 Score"), "3": _("3 Sum"), "all": _("All")}
        step = choose(STEP, _("Step"), words)
        causal = st.toggle(
            _("Mask"),
            key=MASK.key,
            persist_state="session",
            help=_("GPT-2 hides later tokens. Off: plain self-attention, as in an encoder."),
        )
    if not causal:
        st.info(
            _(
                "Mask off: plain self-attention, as in an encoder. From the same q, k and v, every token reads "
                "every other. GPT-2 was not trained this way. The strip still shows the model's own weights, with the "
                "mask."
            )
        )
    return STEPS[step], causal


@st.fragment
def token_section(view: View, steps: tuple[int, ...], causal: bool) -> None:
    """The strip, the map, and the steps for the chosen token. Stepping reruns this and nothing else."""
    query = strip(view, [get_focus().head]).query
    layer, head = view.focus.head
    trace = view.trace
    scale = view.model.config.attn_scale(layer)
    scoring = score(trace.queries(layer, head)[query], trace.keys(layer, head), query=query, scale=scale, causal=causal)
    work = Work(view, query, causal, scoring, sum_values(scoring.weights, trace.values(layer, head)))
    vectors = {
        "x": trace.ln_1(layer),
        "query": trace.queries(layer, head),
        "key": trace.keys(layer, head),
        "value": trace.values(layer, head),
        "z": trace.z[layer, head] if causal else unmasked_z(trace, layer, head),
    }
    figure = steps_map(
        vectors,
        scoring.weights,
        labels=view.labels,
        query=query,
        head=head_name(view.focus.head),
        theme=theme(),
        lit=steps,
        masked=scoring.masked if causal else None,
    )
    chart(figure, key="map", alt=_("The three steps across the tokens' paths, for {label}", label=work.label))
    if 1 in steps:
        create_step(work, alone=len(steps) == 1)
    if 2 in steps:
        score_step(work, alone=len(steps) == 1)
    if 3 in steps:
        sum_step(work)


def created(view: View) -> Created:
    """Step 1 of the chosen head made anew, the same for all tokens."""
    trace, head = view.trace, view.focus.head
    return trace.remembered(("created", *head), lambda: create(trace, *head))


def create_step(work: Work, *, alone: bool) -> None:
    """Step 1: x and the three vectors made of it; alone, as strips of their own."""
    view, query = work.view, work.query
    (layer, head), config = view.focus.head, view.model.config
    made = created(view)
    first = _(
        "**1 · Create q, k, v.** Each token's x goes through three weight matrices of this head: one makes "
        "its query, one its key, one its value."
    )
    if config.norm == "RMSNorm":
        then = _("x is what the layer's RMSNorm, which the article does not draw, makes of the residual stream.")
    else:
        then = _(
            "x is what the layer's LayerNorm makes of the residual stream, and each product gets a bias; both are not "
            "drawn in the article."
        )
    st.markdown(f"{first} {then}")
    if config.group > 1:
        first_head = config.kv_of(head) * config.group
        say(
            "The matrices of key and value serve heads {first} to {last} of this layer together; the query's is the "
            "head's own.",
            first=first_head,
            last=first_head + config.group - 1,
        )
    if config.rotary:
        say(
            "Then each pair of numbers of query and key is turned by an angle that grows with the token's position "
            "({position}), at another speed for each pair: what meets is the turned query and the turned keys.",
            position=query + 1,
        )
    if alone:
        turned = (made.rot_q[query], made.rot_k[query]) if config.rotary else None
        vectors = view.trace.ln_1(layer)[query], made.q[query], made.k[query], made.v[query]
        figure = created_vectors(*vectors, turned=turned, token=work.label, theme=theme())
        chart(figure, key="created", alt=_("x, query, key and value of {label}", label=work.label))
    off = difference_text(made.difference)
    if made.moved_difference is not None:
        remark(
            "Recomputed as x W for every token, then turned: largest difference from the model's {difference}. If the "
            "whole text stood {by} positions later, no score would change by more than {moved}: a score depends on the "
            "distance of two tokens alone.",
            difference=off,
            by=MOVED,
            moved=difference_text(made.moved_difference),
        )
    else:
        remark(
            "Recomputed as x W + b for every token: largest difference from the model's q, k, v {difference}.",
            difference=off,
        )


def score_step(work: Work, *, alone: bool) -> None:
    """Step 2: the query against every key; alone, with the scores as bars too."""
    view, query, scoring = work.view, work.query, work.scoring
    (layer, head), trace = view.focus.head, view.trace
    divisor = view.model.config.scale_in_words(layer) or "1"
    first = _(
        "**2 · Score.** The query of {token} meets each key: multiplied dimension by dimension, then added up. The sum "
        "is divided by {divisor} (not drawn in the article).",
        token=work.token,
        divisor=divisor,
    )
    if scoring.masked.any():
        then = _("Later keys get minus infinity, and the softmax turns scores into shares of 100%.")
    else:
        then = _("The softmax turns scores into shares of 100%.")
    st.markdown(f"{first} {then}")
    table = score_table(
        trace.queries(layer, head)[query],
        trace.keys(layer, head),
        scoring,
        labels=view.labels,
        query=query,
        divisor=divisor,
        rows=work.rows,
        theme=theme(),
    )
    chart(
        table,
        key="products",
        alt=_("Keys, their products with the query of {label}, sums and shares", label=work.label),
    )
    told_rows(work)
    if alone:
        bars = token_bars(
            scoring.scaled,
            scoring.weights,
            labels=view.labels,
            query=query,
            names=[head_name(view.focus.head)],
            masked=scoring.masked,
            theme=theme(),
        )
        chart(bars, key="bars", alt=_("Scores and shares of {label} for every key", label=work.label))
    scores = largest_difference(scoring.scaled, trace.attn_scores(layer, head)[query])
    weights = largest_difference(scoring.weights, trace.pattern(layer, head, causal=work.causal)[query])
    differences = {"scores": difference_text(scores), "shares": difference_text(weights)}
    if work.causal:
        remark(
            "Recomputed from q and k: largest difference from the model's scores {scores}, from its shares {shares}.",
            **differences,
        )
    else:
        remark(
            "Recomputed from q and k: largest difference from the model's scores {scores}, from its shares {shares} "
            "(taken without the mask).",
            **differences,
        )


def sum_step(work: Work) -> None:
    """Step 3: the values, weighted and added up, beside the model's own z."""
    view, query = work.view, work.query
    (layer, head), trace = view.focus.head, view.trace
    say(
        "**3 · Sum.** Each value is multiplied by its share; the smaller the share, the paler the strip. "
        "Added up they are z: what this head hands on for {token}.",
        token=work.token,
    )
    own = trace.z[layer, head, query]
    figure = value_table(
        trace.values(layer, head),
        work.scoring,
        work.summing,
        own,
        labels=view.labels,
        token=work.label,
        rows=work.rows,
        theme=theme(),
    )
    chart(figure, key="sum", alt=_("Values, weighted values and their sum for {label}", label=work.label))
    told_rows(work)
    difference = largest_difference(work.summing.z, own)
    if work.causal:
        remark(
            "Recomputed: largest difference from the model's own z {difference}.",
            difference=difference_text(difference),
        )
    else:
        remark(
            "Without the mask z differs from the model's own, which has the mask, by up to {difference:.3g}.",
            difference=difference,
        )


def told_rows(work: Work) -> None:
    """Which keys have a row, where it is not all of them."""
    n, rows = len(work.view.labels), work.rows
    if len(rows) < n:
        places = {"n": n, "rows": len(rows), "token": work.token}
        if work.scoring.masked[list(rows)].any():
            remark(
                "Of {n:,} keys {rows} have a row: {token}, those it reads most and a few masked ones. The others take "
                "part in all that is computed, and are in the CSV.",
                **places,
            )
        else:
            remark(
                "Of {n:,} keys {rows} have a row: {token} and those it reads most. The others take part in all that is "
                "computed, and are in the CSV.",
                **places,
            )


def head_section(view: View) -> None:
    """Step 1's matrices: what does not depend on the chosen token."""
    (layer, head), trace = view.focus.head, view.trace
    parts = head_projections(trace.network, layer, head)
    words = {"weights": _("Weight matrices"), "biases": _("Biases"), "tokens": _("Every token")}
    if parts.q.bias is None:
        del words["biases"]
    shown = choose(BEHIND, _("Behind step 1"), words)
    name = head_name((layer, head))
    if shown == "tokens":
        figure = path_vectors(
            trace.ln_1(layer),
            trace.queries(layer, head),
            trace.keys(layer, head),
            trace.values(layer, head),
            labels=view.labels,
            theme=theme(),
        )
        chart(figure, key="tokens", alt=_("x, query, key and value of every token in {name}", name=name))
    elif shown == "biases":
        figure = projection_biases(parts, theme=theme())
        chart(figure, key="biases", alt=_("Biases of query, key and value of {name}", name=name))
        remark("Added to the products of x and the weights; not drawn in the article.")
    else:
        figure = projection_matrices(parts, head=name, theme=theme())
        chart(figure, key="weights", alt=_("Weight matrices of query, key and value of {name}", name=name))
        matrices = block_matrices(trace.network, layer)[:3]
        remark(
            "{name}'s columns of {matrices} in layer {layer}: {d_model} × {d_head} numbers each.",
            name=name,
            layer=layer,
            matrices=", ".join(f"`{matrix.name}`" for matrix in matrices),
            d_model=view.model.config.d_model,
            d_head=view.model.config.d_head,
        )


def page() -> None:
    """Draw the page."""
    view = open_view()
    if view is not None:
        steps_section(view)
