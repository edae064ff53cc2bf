"""Each step inside a block as charts. A drawing returns the vectors that it shows, by their names, for the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from model.steps.block import Addition, BlockSteps, Normalisation, Projection, SumTable, sum_table
from viz.figures.bars import token_bars
from viz.figures.labels import position_label
from viz.pages.block.figure_strips import Strip, block_strips, head_rows, keys_of_query, sum_of_values
from viz.pages.block.figure_weight import gelu_curve, is_narrow, weight_matrix
from viz.shell.charts import chart
from viz.shell.shell import theme
from viz.state.focus import head_name
from viz.state.view import View
from viz.text.catalogue import _

Vectors = dict[str, np.ndarray]
MOST_ROWS = 24
"""A step that shows a row for every key shows at most so many: those with the largest weights."""
_PAGE_WIDTH = 780


@dataclass(frozen=True)
class Scene:
    """What a drawing draws from: the view, the chosen head and query, the steps there, and numbers in a drawn cell."""

    view: View
    layer: int
    head: int
    query: int
    steps: BlockSteps
    per_cell: float

    @property
    def token(self) -> str:
        """The chosen token, `9 ·it`."""
        return position_label(self.query, self.view.labels[self.query])


def draw(step: str, scene: Scene) -> Vectors:
    """Draw the step called `step`."""
    return _DRAWINGS[step](scene)


def table_of(scene: Scene) -> SumTable:
    """The chosen head's keys, values and weights, as many rows as are drawn."""
    return sum_table(scene.steps, scene.head, most=MOST_ROWS)


def _strips(
    scene: Scene, strips: list[Strip], *, key: str, alt: str, shared: bool = False, mark: tuple[int, int] | None = None
) -> Vectors:
    figure = block_strips(strips, theme=theme(), per_cell=scene.per_cell, shared=shared, mark=mark)
    chart(figure, key=key, alt=alt)
    return {strip.name: strip.values for strip in strips}


def _addition(scene: Scene, sum_of: Addition, names: tuple[str, str, str], scales: tuple[str, str, str]) -> Vectors:
    parts = (sum_of.first, sum_of.second, sum_of.out)
    strips = [Strip(*strip) for strip in zip(names, scales, parts, strict=True)]
    return _strips(scene, strips, key="block_strips", alt=f"{names[0]} {names[1]} {names[2]}", shared=True)


def _input(scene: Scene) -> Vectors:
    if scene.layer == 0:
        names = (f"wte: {scene.token}", _("+ wpe: position {query}", query=scene.query + 1), _("= resid_pre, the sum"))
    else:
        below = scene.layer - 1
        names = (
            _("resid_mid of layer {below}", below=below),
            _("+ mlp_out of layer {below}", below=below),
            _("= resid_pre, the sum"),
        )
    return _addition(
        scene, scene.steps.input, names, ("input",) * 3 if scene.layer == 0 else ("input", "value", "input")
    )


def _norm(scene: Scene, norm: Normalisation, x: str, name: str) -> Vectors:
    strips = [
        Strip(x, "input", norm.x),
        Strip("mean 0, variance 1", "input", norm.normalised),
        Strip(f"× {name}.weight", "input", norm.weight),
        Strip(f"+ {name}.bias", "input", norm.bias),
        Strip(f"= {name}", "input", norm.out),
    ]
    return _strips(scene, strips, key="block_strips", alt=_("{x} through its LayerNorm", x=x))


def _qkv(scene: Scene) -> Vectors:
    step = scene.steps.qkv
    roles = ("query", "key", "value")
    vectors = _strips(
        scene, [Strip("x = ln_1", "input", step.x)], key="block_strips", alt=_("The input x of attention")
    )
    thirds = [
        (_("× weight, to {role}", role=role), role, part)
        for role, part in zip(roles, np.split(step.weight, 3, 1), strict=True)
    ]
    chart(weight_matrix(thirds, theme=theme()), key="block_matrix", alt=_("The weight matrix attn.c_attn"))
    rows = (("x · W, {}", step.product), ("+ bias, {}", step.bias), ("= {}", step.out))
    strips = [
        Strip(title.format(role[0]), role, part)
        for title, values in rows
        for role, part in zip(roles, np.split(values, 3), strict=True)
    ]
    figure = block_strips(strips, theme=theme(), per_cell=scene.per_cell, shared=True, columns=3, width=_PAGE_WIDTH)
    chart(figure, key="block_result", alt=_("Query, key and value side by side: product, bias and sum"))
    return vectors | {title.format("q|k|v"): values for title, values in rows}


def _split(scene: Scene) -> Vectors:
    steps, keys = scene.steps, (scene.steps.k[:, -1], scene.steps.v[:, -1])
    parts = [("q", "query", steps.q), ("k", "key", keys[0]), ("v", "value", keys[1])]
    whole = [Strip(f"{name} of {scene.token}", scale, values.reshape(-1)) for name, scale, values in parts]
    own = [Strip(f"{name} of head {scene.head}", scale, values[scene.head]) for name, scale, values in parts]
    d_head = steps.q.shape[1]
    mark = (scene.head * d_head, (scene.head + 1) * d_head)
    vectors = _strips(scene, whole, key="block_strips", alt=_("Query, key and value of all heads"), mark=mark)
    chart(
        head_rows(parts, head=scene.head, theme=theme()),
        key="block_heads",
        alt=_("Query, key and value with a row for every head"),
    )
    alt = _("Query, key and value of head {head}", head=scene.head)
    chart(block_strips(own, theme=theme()), key="block_own", alt=alt)
    return vectors | {strip.name: strip.values for strip in own}


def _score(scene: Scene) -> Vectors:
    table, trace = table_of(scene), scene.view.trace
    query, labels = scene.query, scene.view.labels
    figure = keys_of_query(
        scene.steps.q[scene.head], table.k, keys=table.keys, query=query, labels=labels, theme=theme()
    )
    chart(figure, key="block_keys", alt=_("The query and the keys it is compared with"))
    scores, weights = (of(scene.layer, scene.head)[query] for of in (trace.attn_scores, trace.pattern))
    bars = token_bars(
        scores,
        weights,
        labels=labels,
        query=query,
        names=[head_name((scene.layer, scene.head))],
        theme=theme(),
        width=_PAGE_WIDTH,
    )
    chart(bars, key="block_bars", alt=_("Scores and softmax weights of the chosen token for every key"))
    keys = table.keys.tolist()
    tokens = [f"{position_label(i, labels[i])}: score {scores[i]:.4g}, weight {weights[i]:.4g}" for i in keys]
    named = {f"k {token}": row for token, row in zip(tokens, table.k, strict=True)}
    return {f"q {scene.token}": scene.steps.q[scene.head]} | named


def _sum(scene: Scene) -> Vectors:
    table, labels, z = table_of(scene), scene.view.labels, scene.steps.z[scene.head]
    figure = sum_of_values(table, z=z, labels=labels, theme=theme())
    chart(figure, key="block_sum", alt=_("Value vectors, weights, weighted values, and their sum"))
    tokens = [position_label(int(i), labels[i]) for i in table.keys]
    weights = [f"{weight:.4g}" for weight in table.weights]
    values = {f"v {token}: weight {w}": row for token, w, row in zip(tokens, weights, table.values, strict=True)}
    weighted = {f"weighted {token}": row for token, row in zip(tokens, table.weighted, strict=True)}
    others = {_("weighted {n_rest:,} others", n_rest=table.n_rest): table.rest} if table.n_rest else {}
    return {"z": z, "sum": table.total} | values | weighted | others


def _merge(scene: Scene) -> Vectors:
    z = scene.steps.z
    chart(
        head_rows([(_("z of every head"), "score", z)], head=scene.head, theme=theme()),
        key="block_heads",
        alt=_("The heads' outputs, a row for every head"),
    )
    mark = (scene.head * z.shape[1], (scene.head + 1) * z.shape[1])
    strip = Strip(f"z of {scene.token}, head after head", "score", scene.steps.merged)
    return _strips(scene, [strip], key="block_strips", alt=_("The heads' outputs laid end to end"), mark=mark)


def _projection(
    scene: Scene, step: Projection, *, x: Strip, weight: str, scale: str, product: str, out: str
) -> Vectors:
    vectors = _strips(
        scene, [x], key="block_strips", alt=_("{name}: what {weight} is multiplied with", name=x.name, weight=weight)
    )
    parts = [(f"× {weight}", scale, step.weight)]
    left, right = st.columns([2, 3], gap="medium") if is_narrow(step.weight) else (st.container(), st.container())
    with left:
        chart(
            weight_matrix(parts, theme=theme()), key="block_matrix", alt=_("The weight matrix {weight}", weight=weight)
        )
    strips = [
        Strip(product, scale, step.product),
        Strip("+ bias", scale, step.bias),
        Strip(f"= {out}", scale, step.out),
    ]
    with right:
        return vectors | _strips(
            scene, strips, key="block_result", alt=_("{out}: product, bias and sum", out=out), shared=True
        )


def _attn_out(scene: Scene) -> Vectors:
    x = Strip("z, all heads", "score", scene.steps.merged)
    names = {"weight": "attn.c_proj.weight", "product": "z · weight", "out": "attn_out"}
    return _projection(scene, scene.steps.attn_out, x=x, scale="score", **names)


def _mlp_pre(scene: Scene) -> Vectors:
    x = Strip("x = ln_2", "input", scene.steps.mlp_pre.x)
    names = {"weight": "mlp.c_fc.weight", "product": "x · weight", "out": "mlp_pre"}
    return _projection(scene, scene.steps.mlp_pre, x=x, scale="value", **names)


def _mlp_out(scene: Scene) -> Vectors:
    x = Strip("mlp_post", "value", scene.steps.mlp_post)
    names = {"weight": "mlp.c_proj.weight", "product": _("mlp_post · weight"), "out": "mlp_out"}
    return _projection(scene, scene.steps.mlp_out, x=x, scale="value", **names)


def _gelu(scene: Scene) -> Vectors:
    before, after = scene.steps.mlp_pre.out, scene.steps.mlp_post
    strips = [Strip("mlp_pre", "value", before), Strip("= mlp_post", "value", after)]
    vectors = _strips(
        scene, strips, key="block_strips", alt=_("The MLP's numbers before and after the GELU"), shared=True
    )
    chart(gelu_curve(before, after, theme=theme()), key="block_gelu", alt=_("Each number before and after the GELU"))
    return vectors


def _resid_mid(scene: Scene) -> Vectors:
    names = (_("resid_pre, what came in"), _("+ attn_out"), _("= resid_mid"))
    return _addition(scene, scene.steps.resid_mid, names, ("input", "score", "input"))


def _resid_post(scene: Scene) -> Vectors:
    names = ("resid_mid", _("+ mlp_out"), _("= resid_post"))
    return _addition(scene, scene.steps.resid_post, names, ("input", "value", "input"))


_DRAWINGS: dict[str, Callable[[Scene], Vectors]] = {
    "input": _input,
    "ln_1": lambda scene: _norm(scene, scene.steps.ln_1, "resid_pre", "ln_1"),
    "qkv": _qkv,
    "split": _split,
    "score": _score,
    "sum": _sum,
    "merge": _merge,
    "attn_out": _attn_out,
    "resid_mid": _resid_mid,
    "ln_2": lambda scene: _norm(scene, scene.steps.ln_2, "resid_mid", "ln_2"),
    "mlp_pre": _mlp_pre,
    "mlp_post": _gelu,
    "mlp_out": _mlp_out,
    "resid_post": _resid_post,
}
