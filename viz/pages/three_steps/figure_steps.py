"""The three steps of one head for one token, spelled out: vectors and weights, scores, the sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from viz.figures.blocks import MAX_CELLS
from viz.figures.chart import Chart
from viz.figures.data import keys_table, vectors_table
from viz.figures.labels import Axis, hover_name, number_axis, one_row, part_of, shorten, token_axis
from viz.figures.panels import ROW_WIDTH, Panel
from viz.figures.strips import vector_strips
from viz.figures.tiles import tile_figure
from viz.pages.three_steps.number_columns import BesideTile, NumberColumns, Numbers
from viz.text.catalogue import _
from viz.text.numbers import cell_number, weight_text
from viz.theme import Theme

if TYPE_CHECKING:
    from model.steps.three_steps import HeadProjections, Scoring, Summing

ROW_HEIGHT = 20
STRIPS_WIDTH, LEAST_STRIPS_WIDTH = 760, 680
HEAD_DIMENSION = "dimension of the head"


def created_vectors(
    x: Float[np.ndarray, " d_model"],
    q: Float[np.ndarray, " d_head"],
    k: Float[np.ndarray, " d_head"],
    v: Float[np.ndarray, " d_head"],
    *,
    token: str,
    theme: Theme,
    turned: tuple[Float[np.ndarray, " d_head"], Float[np.ndarray, " d_head"]] | None = None,
) -> Chart:
    """Step 1 for one token (named `9 ·it`): its x and what comes of it, each strip as long as it has numbers.

    `turned` are query and key after their position has turned them.
    """
    named = [
        (f"x of {token}: {len(x):,} numbers", "input", x),
        (f"query q: {len(q):,}", "query", q),
        (f"key k: {len(k):,}", "key", k),
        (f"value v: {len(v):,}", "value", v),
    ]
    if turned is not None:
        named.insert(2, (_("query, turned"), "query", turned[0]))
        named.insert(4, (_("key, turned"), "key", turned[1]))
    panels = [_wrapped(title, role, values) for title, role, values in named]
    return tile_figure(
        panels,
        theme=theme,
        columns=1,
        width=STRIPS_WIDTH,
        cell_height=ROW_HEIGHT,
        compact=True,
        min_width=LEAST_STRIPS_WIDTH,
        table=lambda: vectors_table((role, values) for _title, role, values in named),
    )


def _wrapped(title: str, role: str, values: Float[np.ndarray, " size"]) -> Panel:
    """A vector as a strip; one of more than `MAX_CELLS` numbers goes on in further lines, so that all are seen."""
    across = min(MAX_CELLS, len(values))
    lines = math.ceil(len(values) / across)
    filled = np.full(lines * across, np.nan, values.dtype)
    filled[: len(values)] = values
    names = tuple(f"{role}, dimension {f'{line * across} + ' if lines > 1 else ''}" for line in range(lines))
    return Panel(
        filled.reshape(lines, across),
        title,
        role,
        Axis("", ("",) * lines, names),
        number_axis("dimension", across),
        masked_hover=_("the vector has ended"),
        hover="%{y}%{x}: %{value}",
    )


def projection_matrices(parts: HeadProjections, *, head: str, theme: Theme) -> Chart:
    """One head's part of the three weight matrices, x down and q, k, v across; each its own range about 0."""
    rows, columns = (
        number_axis(title, n) for title, n in zip(("x", HEAD_DIMENSION), parts.q.weight.shape, strict=True)
    )
    panels = [
        Panel(
            part.weight,
            name,
            role,
            rows,
            columns,
            note=f"{head}: x to {role}",
            hover=f"from x %{{y}} to {role} %{{x}}: %{{value}}",
        )
        for part, name, role in ((parts.q, "W_Q", "query"), (parts.k, "W_K", "key"), (parts.v, "W_V", "value"))
    ]
    height = max(2.0, min(14.0, 400 / len(rows)))
    return tile_figure(panels, theme=theme, cell_height=height)


def projection_biases(parts: HeadProjections, *, theme: Theme) -> Chart:
    """One head's biases, which are added to the three products."""
    named = [
        (_("bias of q"), "query", parts.q.bias),
        (_("bias of k"), "key", parts.k.bias),
        (_("bias of v"), "value", parts.v.bias),
    ]
    there = [(title, role, bias) for title, role, bias in named if bias is not None]
    return vector_strips(there, theme=theme, size_title=HEAD_DIMENSION)


def path_vectors(
    x: Float[np.ndarray, "pos d_model"],
    q: Float[np.ndarray, "pos d_head"],
    k: Float[np.ndarray, "pos d_head"],
    v: Float[np.ndarray, "pos d_head"],
    *,
    labels: Sequence[str],
    theme: Theme,
) -> Chart:
    """Step 1 for every token, a token a row: x, and the query, key and value made of it."""
    tokens = token_axis("token", labels)
    panels = [
        Panel(
            values,
            title,
            role,
            tokens,
            number_axis("dimension", values.shape[1]),
            hover=f"{role} of %{{y}}, dimension %{{x}}: %{{value}}",
        )
        for values, title, role in ((x, "x", "input"), (q, "q", "query"), (k, "k", "key"), (v, "v", "value"))
    ]
    return tile_figure(panels, theme=theme, cell_height=ROW_HEIGHT)


def score_table(
    q: Float[np.ndarray, " d_head"],
    k: Float[np.ndarray, "key d_head"],
    scoring: Scoring,
    *,
    labels: Sequence[str],
    query: int,
    divisor: str,
    theme: Theme,
    rows: Sequence[int] | None = None,
) -> Chart:
    """Step 2, a key a row: the key, its products with the query, their sum, that over `divisor` (`√64 = 8`), the share.

    The query lies below the keys, dimension under dimension, and the products of the largest share below the products.
    `rows` are the keys that are drawn, by default all; of too many, some or all numbers are left out.
    """
    products, weights = scoring.products, scoring.weights
    keys, dimensions = token_axis("key", labels), number_axis(HEAD_DIMENSION, k.shape[1])
    asker, best = hover_name(query, labels[query]), int(weights.argmax())
    drawn = list(range(len(labels)) if rows is None else rows)
    shown = part_of(keys, drawn)
    panels = [
        Panel(k[drawn], "Keys k", "key", shown, dimensions, hover=_("key of %{y}, dimension %{x}: %{value}")),
        Panel(
            products[drawn],
            "q × k",
            "score",
            shown,
            dimensions,
            note=_("dimension by dimension"),
            hover=f"query of {asker} × key of %{{y}}, dimension %{{x}}: %{{value}}",
        ),
        Panel(
            q[None],
            "Query q",
            "query",
            one_row("q", "q"),
            dimensions,
            note=f"of {query + 1} {shorten(labels[query])}",
            hover=f"query of {asker}, dimension %{{x}}: %{{value}}",
        ),
        Panel(
            products[best][None],
            _("The largest share"),
            "score",
            one_row("q", f"{best + 1}"),
            dimensions,
            note=f"q × k of {best + 1} {shorten(labels[best])}, on its own scale",
            hover=f"query of {asker} × key of {hover_name(best, labels[best])}, dimension %{{x}}: %{{value}}",
        ),
    ]
    columns = _score_columns(scoring, drawn, divisor, theme)
    by_key = {"sum": scoring.sums, "scaled": scoring.scaled, "share": weights, "masked": scoring.masked}
    return tile_figure(
        panels,
        theme=theme,
        columns=2,
        cell_height=ROW_HEIGHT,
        beside=NumberColumns(columns, ROW_WIDTH) if len(drawn) <= MAX_CELLS else None,
        table=lambda: keys_table(keys, {"query q": q, "key k": k, "q × k": products}, by_key),
    )


def _score_columns(scoring: Scoring, drawn: Sequence[int], divisor: str, theme: Theme) -> list[Numbers]:
    """The sums of the drawn keys, the same divided and masked, and their shares."""
    hidden = scoring.masked[drawn].tolist()
    seen = [theme.muted if hid else theme.text for hid in hidden]
    sums, divided = (
        [cell_number(value) for value in values[drawn].tolist()] for values in (scoring.sums, scoring.scaled)
    )
    columns = [Numbers(_("Sum"), "q · k", sums, seen), Numbers(_("Scaled"), f"÷ {divisor}", divided, seen)]
    if scoring.masked.any():
        texts = ["−∞" if hid else text for hid, text in zip(hidden, divided, strict=True)]
        columns.append(Numbers(_("Masked"), _("later: −∞"), texts, seen))
    shares = [weight_text(weight) for weight in scoring.weights[drawn].tolist()]
    colours = [theme.muted if hid else theme.ink("score") for hid in hidden]
    return [*columns, Numbers(_("Share"), "softmax", shares, colours)]


def value_table(
    v: Float[np.ndarray, "key d_head"],
    scoring: Scoring,
    summing: Summing,
    model_z: Float[np.ndarray, " d_head"],
    *,
    labels: Sequence[str],
    token: str,
    theme: Theme,
    rows: Sequence[int] | None = None,
) -> Chart:
    """Step 3, a key a row: its value, its weight, their product; below, the sum z beside the model's own `model_z`.

    Weighted values are drawn on the values' scale, so a strip is as pale as its weight is small. `rows` are the keys
    that are drawn, by default all.
    """
    weights, masked, weighted, z = scoring.weights, scoring.masked, summing.weighted, summing.z
    keys, dimensions = token_axis("key", labels), number_axis(HEAD_DIMENSION, v.shape[1])
    drawn = list(range(len(labels)) if rows is None else rows)
    shown, hidden = part_of(keys, drawn), masked[drawn]
    unlabelled = replace(shown, title=_("weight"), ticks=("",) * len(drawn))
    largest, largest_z = (float(np.abs(values).max()) for values in (v, np.stack([z, model_z])))
    panels = [
        Panel(
            v[drawn],
            "Values v",
            "value",
            shown,
            dimensions,
            note=_("as created"),
            zmin=-largest,
            zmax=largest,
            hover=_("value of %{y}, dimension %{x}: %{value}"),
        ),
        Panel(
            weighted[drawn],
            "Weight × value",
            "value",
            unlabelled if len(drawn) <= MAX_CELLS else shown,
            dimensions,
            note=_("as pale as its weight is small"),
            zmin=-largest,
            zmax=largest,
            masked=np.broadcast_to(hidden[:, None], (len(drawn), weighted.shape[1])),
            hover=_("weight × value of %{y}, dimension %{x}: %{value}"),
            masked_hover=_("masked: key %{y} comes later, its weight is 0"),
        ),
        Panel(
            model_z[None],
            _("The model's own z"),
            "score",
            one_row("z", "z"),
            dimensions,
            note=f"for {token}",
            zmin=-largest_z,
            zmax=largest_z,
            hover=_("the model's own z, dimension %{x}: %{value}"),
        ),
        Panel(
            z[None],
            "Sum z",
            "score",
            one_row("z", "="),
            dimensions,
            note=_("the rows above, added up")
            if len(drawn) == len(labels)
            else f"the rows of all {len(labels):,} keys",
            zmin=-largest_z,
            zmax=largest_z,
            hover=_("sum of the weighted values, dimension %{x}: %{value}"),
        ),
    ]
    by_cell = {"value v": v, "weight × value": weighted, "sum z": z, _("the model's own z"): model_z}
    colours = [theme.muted if hid else theme.ink("score") for hid in hidden]
    shares = Numbers("Weight", "", [f"{weight_text(weight)} " for weight in weights[drawn].tolist()], colours)
    return tile_figure(
        panels,
        theme=theme,
        columns=2,
        cell_height=ROW_HEIGHT,
        beside=BesideTile(shares, tile=1) if len(drawn) <= MAX_CELLS else None,
        table=lambda: keys_table(keys, by_cell, {_("weight"): weights, "masked": masked}),
    )
