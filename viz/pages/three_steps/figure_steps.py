"""The three steps of one head for one token, spelled out: vectors and weights, scores, the sum."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from viz.figures.blocks import MAX_CELLS
from viz.figures.data import keys_table, vectors_table, with_data
from viz.figures.labels import Axis, cell_number, hover_name, number_axis, part_of, share_text, shorten, token_axis
from viz.figures.panels import ROW_WIDTH, Panel
from viz.figures.strips import vector_strips
from viz.figures.tiles import tile_figure
from viz.pages.three_steps.number_columns import Numbers, add_numbers, tiles_with_numbers
from viz.theme import Theme

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
) -> go.Figure:
    """Step 1 for one token (named `9 ·it`): its x and what comes of it, each strip as long as it has numbers."""
    named = [
        (f"x of {token}: {len(x):,} numbers", "input", x),
        (f"query q: {len(q):,}", "query", q),
        (f"key k: {len(k):,}", "key", k),
        (f"value v: {len(v):,}", "value", v),
    ]
    panels = [_wrapped(title, role, values) for title, role, values in named]
    figure = tile_figure(panels, theme=theme, columns=1, width=STRIPS_WIDTH, cell_height=ROW_HEIGHT, compact=True)
    figure.update_layout(meta=figure.layout.meta | {"min_width": LEAST_STRIPS_WIDTH})
    return with_data(figure, lambda: vectors_table((role, values) for _, role, values in named))


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
        masked_hover="the vector has ended",
        hover="%{y}%{x}: %{value}",
    )


def projection_matrices(
    w_q: Float[np.ndarray, "d_model d_head"],
    w_k: Float[np.ndarray, "d_model d_head"],
    w_v: Float[np.ndarray, "d_model d_head"],
    *,
    head: str,
    theme: Theme,
    width: int = ROW_WIDTH,
) -> go.Figure:
    """One head's part of the three weight matrices, x down and q, k, v across; each its own range about 0."""
    rows, columns = number_axis("x", len(w_q)), number_axis(HEAD_DIMENSION, w_q.shape[1])
    panels = [
        Panel(
            values,
            name,
            role,
            rows,
            columns,
            note=f"{head}: x to {role}",
            hover=f"from x %{{y}} to {role} %{{x}}: %{{value}}",
        )
        for values, name, role in ((w_q, "W_Q", "query"), (w_k, "W_K", "key"), (w_v, "W_V", "value"))
    ]
    height = max(2.0, min(14.0, 400 / len(w_q)))
    return tile_figure(panels, theme=theme, width=width, cell_height=height)


def projection_biases(
    b_q: Float[np.ndarray, " d_head"],
    b_k: Float[np.ndarray, " d_head"],
    b_v: Float[np.ndarray, " d_head"],
    *,
    theme: Theme,
    width: int = ROW_WIDTH,
) -> go.Figure:
    """One head's biases, which are added to the three products."""
    named = [("bias of q", "query", b_q), ("bias of k", "key", b_k), ("bias of v", "value", b_v)]
    return vector_strips(named, theme=theme, width=width, size_title=HEAD_DIMENSION)


def path_vectors(
    x: Float[np.ndarray, "pos d_model"],
    q: Float[np.ndarray, "pos d_head"],
    k: Float[np.ndarray, "pos d_head"],
    v: Float[np.ndarray, "pos d_head"],
    *,
    labels: Sequence[str],
    theme: Theme,
    width: int = ROW_WIDTH,
) -> go.Figure:
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
    return tile_figure(panels, theme=theme, width=width, cell_height=ROW_HEIGHT)


def score_table(
    q: Float[np.ndarray, " d_head"],
    k: Float[np.ndarray, "key d_head"],
    products: Float[np.ndarray, "key d_head"],
    sums: Float[np.ndarray, " key"],
    scaled: Float[np.ndarray, " key"],
    weights: Float[np.ndarray, " key"],
    *,
    masked: Bool[np.ndarray, " key"],
    labels: Sequence[str],
    query: int,
    divisor: str,
    theme: Theme,
    rows: Sequence[int] | None = None,
    width: int = ROW_WIDTH,
) -> go.Figure:
    """Step 2, a key a row: the key, its products with the query, their sum, that over `divisor` (`√64 = 8`), the share.

    The query lies below the keys, dimension under dimension, and the products of the largest share below the products.
    `masked` marks the keys whose score becomes minus infinity. `rows` are the keys that are drawn, by default all;
    where these are too many for it, some or all numbers are left out.
    """
    keys, dimensions = token_axis("key", labels), number_axis(HEAD_DIMENSION, k.shape[1])
    asker, best = hover_name(query, labels[query]), int(weights.argmax())
    drawn = list(range(len(labels)) if rows is None else rows)
    shown = part_of(keys, drawn)
    panels = [
        Panel(k[drawn], "Keys k", "key", shown, dimensions, hover="key of %{y}, dimension %{x}: %{value}"),
        Panel(
            products[drawn],
            "q × k",
            "score",
            shown,
            dimensions,
            note="dimension by dimension",
            hover=f"query of {asker} × key of %{{y}}, dimension %{{x}}: %{{value}}",
        ),
        Panel(
            q[None],
            "Query q",
            "query",
            Axis("", ("q",), ("q",)),
            dimensions,
            note=f"of {query + 1} {shorten(labels[query])}",
            hover=f"query of {asker}, dimension %{{x}}: %{{value}}",
        ),
        Panel(
            products[best][None],
            "The largest share",
            "score",
            Axis("", (f"{best + 1}",), ("q",)),
            dimensions,
            note=f"q × k of {best + 1} {shorten(labels[best])}, on its own scale",
            hover=f"query of {asker} × key of {hover_name(best, labels[best])}, dimension %{{x}}: %{{value}}",
        ),
    ]
    pale, full, share = theme.muted, theme.text, theme.ink("score")
    hidden = masked[drawn].tolist()
    seen, divided = [pale if hid else full for hid in hidden], [cell_number(value) for value in scaled[drawn].tolist()]
    columns = [
        Numbers("Sum", "q · k", [cell_number(value) for value in sums[drawn].tolist()], seen),
        Numbers("Scaled", f"÷ {divisor}", divided, seen),
        Numbers(
            "Share",
            "softmax",
            [share_text(weight) for weight in weights[drawn].tolist()],
            [pale if hid else share for hid in hidden],
        ),
    ]
    if masked.any():
        texts = ["−∞" if hid else text for hid, text in zip(hidden, divided, strict=True)]
        columns.insert(2, Numbers("Masked", "later: −∞", texts, seen))
    figure = tiles_with_numbers(panels, columns, theme=theme, width=width, cell_height=ROW_HEIGHT)
    by_key = {"sum": sums, "scaled": scaled, "share": weights, "masked": masked}
    return with_data(figure, lambda: keys_table(keys, {"query q": q, "key k": k, "q × k": products}, by_key))


def value_table(
    v: Float[np.ndarray, "key d_head"],
    weights: Float[np.ndarray, " key"],
    weighted: Float[np.ndarray, "key d_head"],
    z: Float[np.ndarray, " d_head"],
    model_z: Float[np.ndarray, " d_head"],
    *,
    masked: Bool[np.ndarray, " key"],
    labels: Sequence[str],
    token: str,
    theme: Theme,
    rows: Sequence[int] | None = None,
    width: int = ROW_WIDTH,
) -> go.Figure:
    """Step 3, a key a row: its value, its weight, their product; below, the sum z beside the model's own `model_z`.

    Weighted values are drawn on the values' scale, so a strip is as pale as its weight is small. `rows` are the keys
    that are drawn, by default all.
    """
    keys, dimensions = token_axis("key", labels), number_axis(HEAD_DIMENSION, v.shape[1])
    drawn = list(range(len(labels)) if rows is None else rows)
    shown, hidden = part_of(keys, drawn), masked[drawn]
    shares = Axis("weight", ("",) * len(drawn), shown.names)
    largest, largest_z = (float(np.abs(values).max()) for values in (v, np.stack([z, model_z])))
    result = Axis("", ("z",), ("z",))
    panels = [
        Panel(
            v[drawn],
            "Values v",
            "value",
            shown,
            dimensions,
            note="as created",
            zmin=-largest,
            zmax=largest,
            hover="value of %{y}, dimension %{x}: %{value}",
        ),
        Panel(
            weighted[drawn],
            "Weight × value",
            "value",
            shares if len(drawn) <= MAX_CELLS else shown,
            dimensions,
            note="as pale as its weight is small",
            zmin=-largest,
            zmax=largest,
            masked=np.broadcast_to(hidden[:, None], (len(drawn), weighted.shape[1])),
            hover="weight × value of %{y}, dimension %{x}: %{value}",
            masked_hover="masked: key %{y} comes later, its weight is 0",
        ),
        Panel(
            model_z[None],
            "The model's own z",
            "score",
            result,
            dimensions,
            note=f"for {token}",
            zmin=-largest_z,
            zmax=largest_z,
            hover="the model's own z, dimension %{x}: %{value}",
        ),
        Panel(
            z[None],
            "Sum z",
            "score",
            Axis("", ("=",), ("z",)),
            dimensions,
            note="the rows above, added up" if len(drawn) == len(labels) else f"the rows of all {len(labels):,} keys",
            zmin=-largest_z,
            zmax=largest_z,
            hover="sum of the weighted values, dimension %{x}: %{value}",
        ),
    ]
    figure = tile_figure(panels, theme=theme, columns=2, width=width, cell_height=ROW_HEIGHT)
    if len(drawn) <= MAX_CELLS:
        colours = [theme.muted if hid else theme.ink("score") for hid in hidden]
        shares_shown = Numbers("", "", [f"{share_text(weight)} " for weight in weights[drawn].tolist()], colours)
        add_numbers(figure, shares_shown, figure.layout.meta["tiles"][1]["x0"] - 0.5, title="Weight")
    by_cell = {"value v": v, "weight × value": weighted, "sum z": z, "the model's own z": model_z}
    return with_data(figure, lambda: keys_table(keys, by_cell, {"weight": weights, "masked": masked}))
