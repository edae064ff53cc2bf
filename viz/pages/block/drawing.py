"""Each step inside a block as charts. A drawing returns the vectors that it shows, by their names, for the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from model.network.parameters import Role, block_matrices
from model.steps.block import Addition, BlockSteps, Normalisation, Projection, SumTable, sum_table
from viz.figures.bars import token_bars
from viz.figures.labels import position_label
from viz.pages.block.figure_rotation import turned_pairs
from viz.pages.block.figure_strips import Strip, block_strips, head_rows, keys_of_query, sum_of_values
from viz.pages.block.figure_weight import activation_points, is_narrow, weight_matrix
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
    strips = [
        Strip(name, scale, part) for name, scale, part in zip(names, scales, parts, strict=True) if part is not None
    ]
    return _strips(scene, strips, key="block_strips", alt=f"{names[0]} {names[1]} {names[2]}", shared=True)


def _input(scene: Scene) -> Vectors:
    if scene.steps.input.second is None:
        strip = Strip(_("wte: {token}, which is resid_pre", token=scene.token), "input", scene.steps.input.out)
        return _strips(scene, [strip], key="block_strips", alt=strip.name)
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
    rms = scene.view.model.config.norm == "RMSNorm"
    strips = [
        Strip(x, "input", norm.x),
        Strip(_("mean square 1") if rms else _("mean 0, variance 1"), "input", norm.normalised),
        Strip(f"× {name}.weight", "input", norm.weight),
        *([] if norm.bias is None else [Strip(f"+ {name}.bias", "input", norm.bias)]),
        Strip(f"= {name}", "input", norm.out),
    ]
    alt = _("{x} through its {norm}", x=x, norm=scene.view.model.config.norm)
    return _strips(scene, strips, key="block_strips", alt=alt)


def _qkv(scene: Scene) -> Vectors:
    parts = scene.steps.qkv
    roles = ("query", "key", "value")
    vectors = _strips(
        scene, [Strip("x = ln_1", "input", parts[0].x)], key="block_strips", alt=_("The input x of attention")
    )
    weights = [
        (_("× weight, to {role}", role=role), role, part.weight) for role, part in zip(roles, parts, strict=True)
    ]
    alt = _("The weight matrices of query, key and value")
    chart(weight_matrix(weights, theme=theme()), key="block_matrix", alt=alt)
    shown = []
    rows = [("x · W, {}", "product"), ("+ bias, {}", "bias"), ("= {}", "out")]
    if parts[0].bias is None:  # the product is the result
        rows = [("x · W = {}", "out")]
    for title, of in rows:
        values = [getattr(part, of) for part in parts]
        shown += [
            Strip(title.format(role[0]), role, vector)
            for role, vector in zip(roles, values, strict=True)
            if vector is not None
        ]
    figure = block_strips(shown, theme=theme(), per_cell=scene.per_cell, shared=True, columns=3, width=_PAGE_WIDTH)
    chart(figure, key="block_result", alt=_("Query, key and value side by side, from product to result"))
    return vectors | {strip.name: strip.values for strip in shown}


def _split(scene: Scene) -> Vectors:
    steps, head = scene.steps, scene.head
    d_head, cut = steps.q.shape[1], [part.out.reshape(-1, steps.q.shape[1]) for part in steps.qkv]
    # A key or value head may serve several query heads.
    own = (head, steps.of_group(head), steps.of_group(head))
    names = tuple(zip("qkv", ("query", "key", "value"), cut, own, strict=True))
    whole = [Strip(f"{name} of {scene.token}", scale, part.reshape(-1)) for name, scale, part, _at in names]
    vectors = {}
    if len(cut[0]) == len(cut[1]):
        mark = (head * d_head, (head + 1) * d_head)
        vectors = _strips(scene, whole, key="block_strips", alt=_("Query, key and value of all heads"), mark=mark)
        rows = [(name, scale, part) for name, scale, part, _at in names]
        alt = _("Query, key and value with a row for every head")
        chart(head_rows(rows, head=head, theme=theme()), key="block_heads", alt=alt)
    else:
        for key, strips, row in (("block_strips", whole[:1], own[0]), ("block_groups", whole[1:], own[1])):
            mark = (row * d_head, (row + 1) * d_head)
            alt = _("{name}, of all heads", name=", ".join(strip.name for strip in strips))
            vectors |= _strips(scene, strips, key=key, alt=alt, mark=mark)
        for key, some in (("block_heads", names[:1]), ("block_group_heads", names[1:])):
            rows = [(name, scale, part) for name, scale, part, _at in some]
            alt = _("{name}, a row for every head", name=", ".join(name for name, *_rest in some))
            chart(head_rows(rows, head=some[0][3], theme=theme()), key=key, alt=alt)
    pieces = [Strip(_("{name} of head {head}", name=name, head=at), scale, part[at]) for name, scale, part, at in names]
    alt = _("Query, key and value of head {head}", head=head)
    chart(block_strips(pieces, theme=theme()), key="block_own", alt=alt)
    return vectors | {strip.name: strip.values for strip in pieces}


def _qk_norm(scene: Scene) -> Vectors:
    norms = scene.steps.qk_norm
    assert norms is not None
    strips = []
    for name, role, norm, at in zip("qk", ("query", "key"), norms, _own(scene), strict=True):
        strips += [
            Strip(_("{name} of head {head}", name=name, head=at), role, norm.x[at]),
            Strip(_("{name}: mean square 1", name=name), role, norm.normalised[at]),
            Strip(f"× attn.{name}_norm.weight", role, norm.weight),
            Strip(f"= {name}", role, norm.out[at]),
        ]
    return _strips(scene, strips, key="block_strips", alt=_("The head's query and key through their norms"))


def _rotation(scene: Scene) -> Vectors:
    rotation = scene.steps.rotation
    assert rotation is not None
    strips = []
    for name, role, before, after, at in zip(
        "qk", ("query", "key"), rotation.before, rotation.after, _own(scene), strict=True
    ):
        strips += [
            Strip(_("{name} of head {head}", name=name, head=at), role, before[at]),
            Strip(_("{name} turned", name=name), role, after[at]),
        ]
    vectors = _strips(
        scene,
        strips,
        key="block_strips",
        alt=_("The head's query and key before and after they are turned"),
        shared=True,
    )
    alt = _("Each pair of the head's query before and after it is turned")
    head = scene.head
    figure = turned_pairs(rotation.before[0][head], rotation.after[0][head], rotation.angles, theme=theme())
    chart(figure, key="block_pairs", alt=alt)
    return vectors | {_("angles, in radians"): rotation.angles}


def _own(scene: Scene) -> tuple[int, int]:
    """The chosen head's row among the queries, and that of its group among the keys."""
    return scene.head, scene.steps.of_group(scene.head)


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
    matrix = [(f"× {weight}", scale, step.weight)]
    left, right = st.columns([2, 3], gap="medium") if is_narrow(step.weight) else (st.container(), st.container())
    with left:
        chart(
            weight_matrix(matrix, theme=theme()), key="block_matrix", alt=_("The weight matrix {weight}", weight=weight)
        )
    if step.bias is None:  # the product is the result
        strips = [Strip(f"{product} = {out}", scale, step.out)]
    else:
        parts = ((product, step.product), ("+ bias", step.bias), (f"= {out}", step.out))
        strips = [Strip(title, scale, values) for title, values in parts]
    with right:
        return vectors | _strips(
            scene, strips, key="block_result", alt=_("{out}: product, bias and sum", out=out), shared=True
        )


def _attn_out(scene: Scene) -> Vectors:
    x = Strip(_("z, all heads"), "score", scene.steps.merged)
    names = {"weight": _weight(scene, "out"), "product": "z · weight", "out": "attn_out"}
    return _projection(scene, scene.steps.attn_out, x=x, scale="score", **names)


def _mlp_pre(scene: Scene) -> Vectors:
    x = Strip("x = ln_2", "input", scene.steps.mlp_pre.x)
    names = {"weight": _weight(scene, "mlp_in"), "product": "x · weight", "out": "mlp_pre"}
    return _projection(scene, scene.steps.mlp_pre, x=x, scale="value", **names)


def _mlp_pre_linear(scene: Scene) -> Vectors:
    step = scene.steps.mlp_pre_linear
    assert step is not None
    names = {"weight": _weight(scene, "mlp_in", 1), "product": "x · weight", "out": "mlp_pre_linear"}
    return _projection(scene, step, x=Strip("x = ln_2", "input", step.x), scale="value", **names)


def _mlp_out(scene: Scene) -> Vectors:
    x = Strip("mlp_post", "value", scene.steps.mlp_post)
    names = {"weight": _weight(scene, "mlp_out"), "product": _("mlp_post · weight"), "out": "mlp_out"}
    return _projection(scene, scene.steps.mlp_out, x=x, scale="value", **names)


def _weight(scene: Scene, role: Role, number: int = 0) -> str:
    """The name of a block's matrix in this role; of two, that with this number."""
    matrices = block_matrices(scene.view.model.network, scene.layer)
    return f"{[matrix.name for matrix in matrices if matrix.role == role][number]}.weight"


def _activation(scene: Scene) -> Vectors:
    steps = scene.steps
    before, after, linear = steps.mlp_pre.out, steps.mlp_post, steps.mlp_pre_linear
    if linear is None:
        strips = [Strip("mlp_pre", "value", before), Strip("= mlp_post", "value", after)]
        alt = _("The MLP's numbers before and after the GELU")
        vectors = _strips(scene, strips, key="block_strips", alt=alt, shared=True)
        alt = _("Each number before and after the GELU")
        chart(activation_points(before, after, theme=theme()), key="block_gelu", alt=alt)
        return vectors
    strips = [
        Strip(_("mlp_pre (gate)"), "value", before),
        Strip("× mlp_pre_linear", "value", linear.out),
        Strip("= mlp_post", "value", after),
    ]
    vectors = _strips(scene, strips, key="block_strips", alt=_("The gate, what it lets through, and the result"))
    figure = activation_points(before, after, linear=linear.out, theme=theme())
    chart(figure, key="block_gelu", alt=_("Each number of the gate, and how much of the other it lets through"))
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
    "qk_norm": _qk_norm,
    "rotation": _rotation,
    "score": _score,
    "sum": _sum,
    "merge": _merge,
    "attn_out": _attn_out,
    "resid_mid": _resid_mid,
    "ln_2": lambda scene: _norm(scene, scene.steps.ln_2, "resid_mid", "ln_2"),
    "mlp_pre": _mlp_pre,
    "mlp_pre_linear": _mlp_pre_linear,
    "mlp_post": _activation,
    "mlp_out": _mlp_out,
    "resid_post": _resid_post,
}
