"""One layer at one position, step by step: what the network computes, and the same recomputed as a check.

Every step keeps its inputs, its parts and the network's own result (fp32), and recomputes that result from the inputs
in float64, with formulas written out here in place of the network's modules; `check` holds the difference.
Names are TransformerLens'. Sources of the mathematics: Radford et al. 2019, section 2.3; Hendrycks & Gimpel 2016 (GELU,
SiLU); those of `model.network.llama`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from model.network import attention
from model.network.network import Network
from model.network.parts import Attention, Block, Linear, Norm
from model.network.sizes import Config
from model.trace.trace import Trace

STEPS = (
    *("input", "ln_1", "qkv", "split", "qk_norm", "rotation", "score", "sum", "merge", "attn_out", "resid_mid"),
    *("ln_2", "mlp_pre", "mlp_pre_linear", "mlp_post", "mlp_out", "resid_post"),
)
"""The steps of one layer, in the order of computation, each named for what it makes. `steps_of` names a model's own."""


def steps_of(network: Network) -> tuple[str, ...]:
    """The steps that a layer of this network takes."""
    config = network.config
    lacking = {"qk_norm": not config.qk_norm, "rotation": not config.rotary, "mlp_pre_linear": not config.gated}
    return tuple(step for step in STEPS if not lacking.get(step, False))


# fp32 keeps about seven digits; sums over thousands of products lose some of them.
_RELATIVE_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Check:
    """The largest difference between a recomputed and the network's own result, and the latter's largest number."""

    difference: float
    largest: float

    @property
    def holds(self) -> bool:
        """Whether the difference is no more than fp32's rounding explains."""
        return self.difference <= _RELATIVE_TOLERANCE * max(1.0, self.largest)


def compare(recomputed: Float[np.ndarray, "*shape"], own: Float[np.ndarray, "*shape"]) -> Check:
    """How far the network's `own` result is from the `recomputed` one."""
    exact = np.asarray(own, np.float64)
    return Check(float(np.abs(recomputed - exact).max()), float(np.abs(exact).max()))


@dataclass(frozen=True)
class Addition:
    """`first + second`, number by number; without a second, the first alone."""

    first: Float[np.ndarray, " size"]
    second: Float[np.ndarray, " size"] | None
    out: Float[np.ndarray, " size"]

    @property
    def check(self) -> Check:
        return compare(_plus(self.first.astype(np.float64), self.second), self.out)


@dataclass(frozen=True)
class Normalisation:
    """A norm of the last axis: LayerNorm's `normalised` has mean 0 and variance 1, RMSNorm's a mean square of 1 (and
    no bias); times `weight`, plus `bias`, it is `out`.
    """

    x: Float[np.ndarray, "*head size"]
    normalised: Float[np.ndarray, "*head size"]
    weight: Float[np.ndarray, " size"]
    bias: Float[np.ndarray, " size"] | None
    out: Float[np.ndarray, "*head size"]

    @property
    def check(self) -> Check:
        return compare(_plus(self.normalised * self.weight, self.bias), self.out)


@dataclass(frozen=True)
class Projection:
    """`product = x @ weight`; plus `bias`, where there is one, it is `out`."""

    x: Float[np.ndarray, " d_in"]
    weight: Float[np.ndarray, "d_in d_out"]
    product: Float[np.ndarray, " d_out"]
    bias: Float[np.ndarray, " d_out"] | None
    out: Float[np.ndarray, " d_out"]

    @property
    def check(self) -> Check:
        return compare(_plus(self.product, self.bias), self.out)


@dataclass(frozen=True)
class Rotation:
    """Queries and keys turned by their position: pair `i`, number `i` of each half of a vector, by `angles[i]`."""

    angles: Float[np.ndarray, " pair"]
    before: tuple[Float[np.ndarray, "head d_head"], Float[np.ndarray, "kv_head d_head"]]
    after: tuple[Float[np.ndarray, "head d_head"], Float[np.ndarray, "kv_head d_head"]]

    @property
    def check(self) -> Check:
        return _worst(*(compare(turned(x, self.angles), own) for x, own in zip(self.before, self.after, strict=True)))


def turned(
    x: Float[np.ndarray, "*rows d_head"], angles: Float[np.ndarray, "*#rows pair"]
) -> Float[np.ndarray, "*rows d_head"]:
    """`x` with each pair of numbers turned by its angle, in float64."""
    first, second = np.split(x.astype(np.float64), 2, axis=-1)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


@dataclass(frozen=True)
class BlockSteps:
    """All steps of one layer at one position; keys are the positions up to and including that one.

    `qkv` are the projections to queries, keys and values; `q` and `k` are as they meet, after norm and rotation where
    the model has these (the norms of q and k are `qk_norm`). Query heads of a group share keys and values.
    """

    input: Addition
    ln_1: Normalisation
    qkv: tuple[Projection, Projection, Projection]
    qk_norm: tuple[Normalisation, Normalisation] | None
    rotation: Rotation | None
    q: Float[np.ndarray, "head d_head"]
    k: Float[np.ndarray, "kv_head key d_head"]
    v: Float[np.ndarray, "kv_head key d_head"]
    scores: Float[np.ndarray, "head key"]
    pattern: Float[np.ndarray, "head key"]
    z: Float[np.ndarray, "head d_head"]
    merged: Float[np.ndarray, " d_heads"]
    attn_out: Projection
    resid_mid: Addition
    ln_2: Normalisation
    mlp_pre: Projection
    mlp_pre_linear: Projection | None
    mlp_post: Float[np.ndarray, " d_mlp"]
    mlp_out: Projection
    resid_post: Addition
    checks: dict[str, Check]
    """By step, in the order of computation."""

    def of_group(self, head: int) -> int:
        """The key and value head that the query head `head` reads."""
        return head * len(self.k) // len(self.q)


@dataclass(frozen=True)
class SumTable:
    """The weighted sum of one head as a table: a row for each of `keys` and one for all others together.

    `weighted.sum(0) + rest == z` up to rounding; `n_rest` others have the weight `rest_weight` together.
    """

    keys: Int[np.ndarray, " row"]
    k: Float[np.ndarray, "row d_head"]
    values: Float[np.ndarray, "row d_head"]
    weights: Float[np.ndarray, " row"]
    weighted: Float[np.ndarray, "row d_head"]
    n_rest: int
    rest_weight: float
    rest: Float[np.ndarray, " d_head"]
    total: Float[np.ndarray, " d_head"]


def sum_table(steps: BlockSteps, head: int, *, most: int) -> SumTable:
    """The weighted sum of `head`, with rows for at most `most` keys: the largest weights, in the text's order."""
    weights = steps.pattern[head]
    chosen = np.arange(len(weights))
    if len(weights) > most:
        chosen = np.sort(np.argsort(-weights, kind="stable")[:most])
    others = np.setdiff1d(np.arange(len(weights)), chosen)
    k, v = (part[steps.of_group(head)] for part in (steps.k, steps.v))
    weighted = weights[:, None] * v
    return SumTable(
        keys=chosen,
        k=k[chosen],
        values=v[chosen],
        weights=weights[chosen],
        weighted=weighted[chosen],
        n_rest=len(others),
        rest_weight=float(weights[others].sum()),
        rest=weighted[others].sum(axis=0),
        total=weighted.sum(axis=0),
    )


@torch.inference_mode()
def block_steps(trace: Trace, layer: int, pos: int) -> BlockSteps:
    """What `layer` computes at position `pos` of the traced text.

    Raises:
        SelectionError: no such layer or position.
    """
    trace.check_pos(pos)
    network = trace.network
    config, block = network.config, network.block(layer)
    resid_pre, resid_mid, resid_post = (
        kept[layer, pos] for kept in (trace.resid_pre, trace.resid_mid, trace.resid_post)
    )
    q, z = trace.rot_q[layer, :, pos], trace.z[layer, :, pos]
    k, v = (kept[layer, :, : pos + 1] for kept in (trace.rot_k, trace.v))
    scale = config.attn_scale(layer)
    scores = attention.head_scores(_row(q).unsqueeze(-2), _row(k), scale)  # (head, 1, key): no key is masked
    pattern = attention.softmax(scores)

    input_ = Addition(*_input(trace, layer, pos), resid_pre)
    ln_1 = _normalise(resid_pre, block.ln_1)
    # What the pass kept of q, k and v is after norm and rotation; only where it has neither is it the projections' own.
    kept = (None, None, v[:, pos]) if config.rotary else (q, k[:, pos], v[:, pos])
    qkv = _qkv(network, layer, ln_1.out, kept)
    own_cut = [
        attention.split_heads(_row(part.out)[None], len(part.out) // config.d_head)[:, 0].numpy() for part in qkv
    ]
    qk_norm = _qk_norm(block.attn, own_cut)
    before = own_cut[:2] if qk_norm is None else [norm.out for norm in qk_norm]
    rotation = None
    if (angles := network.angles(pos)) is not None:
        rotation = Rotation(angles, (before[0], before[1]), (q, k[:, pos]))
    merged = attention.merge_heads(_row(z).unsqueeze(-2))[0].numpy()
    attn_out = _project(merged, block.attn.out)
    ln_2 = _normalise(resid_mid, block.ln_2)
    pre, *linear = (_project(ln_2.out, part) for part in block.mlp.inputs)
    mlp_pre_linear = linear[0] if linear else None
    mlp_post, _ = _mlp(block, ln_2.out)
    mlp_out = _project(mlp_post, block.mlp.out)
    mid = Addition(resid_pre, attn_out.out, resid_mid)
    post = Addition(resid_mid, mlp_out.out, resid_post)

    own_scores, own_pattern = scores[:, 0].numpy(), pattern[:, 0].numpy()
    group = config.group
    each_k, each_v = (np.repeat(part.astype(np.float64), group, axis=0) for part in (k, v))
    exact_scores = np.einsum("hd,hkd->hk", q.astype(np.float64), each_k) * scale
    exact_pattern = np.exp(exact_scores - exact_scores.max(axis=-1, keepdims=True))
    exact_pattern /= exact_pattern.sum(axis=-1, keepdims=True)
    score, weight = compare(exact_scores, own_scores), compare(exact_pattern, own_pattern)
    checks = {
        "input": input_.check,
        "ln_1": ln_1.check,
        "qkv": _worst(*(part.check for part in qkv)),
        # Cutting changes no number: the pieces, cut out one by one, are those of the network's own view.
        "split": _worst(*(compare(_cut(part.out, config.d_head), own) for part, own in zip(qkv, own_cut, strict=True))),
        "qk_norm": None if qk_norm is None else _worst(*(norm.check for norm in qk_norm)),
        "rotation": None if rotation is None else rotation.check,
        "score": Check(max(score.difference, weight.difference), score.largest),
        "sum": compare(np.einsum("hk,hkd->hd", own_pattern.astype(np.float64), each_v), z),
        "merge": compare(np.concatenate([*z]).astype(np.float64), merged),
        "attn_out": attn_out.check,
        "resid_mid": mid.check,
        "ln_2": ln_2.check,
        "mlp_pre": pre.check,
        "mlp_pre_linear": None if mlp_pre_linear is None else mlp_pre_linear.check,
        "mlp_post": compare(_activated(config, pre.out, mlp_pre_linear), mlp_post),
        "mlp_out": mlp_out.check,
        "resid_post": post.check,
    }
    return BlockSteps(
        input=input_,
        ln_1=ln_1,
        qkv=qkv,
        qk_norm=qk_norm,
        rotation=rotation,
        q=q,
        k=k,
        v=v,
        scores=own_scores,
        pattern=own_pattern,
        z=z,
        merged=merged,
        attn_out=attn_out,
        resid_mid=mid,
        ln_2=ln_2,
        mlp_pre=pre,
        mlp_pre_linear=mlp_pre_linear,
        mlp_post=mlp_post,
        mlp_out=mlp_out,
        resid_post=post,
        checks={step: check for step, check in checks.items() if check is not None},
    )


def _input(trace: Trace, layer: int, pos: int) -> tuple[np.ndarray, np.ndarray | None]:
    """What the layer receives is the sum of: the token and its position, or the last sum of the layer below."""
    network = trace.network
    if layer == 0:
        position = None if network.wpe is None else network.wpe.weight[pos].numpy()
        return network.wte.weight[trace.ids[pos]].numpy(), position
    below, resid_mid = network.block(layer - 1), trace.resid_mid[layer - 1, pos]
    return resid_mid, _mlp(below, below.ln_2(_row(resid_mid)).numpy())[1]


def _mlp(block: Block, x: Float[np.ndarray, " d_model"]) -> tuple[np.ndarray, np.ndarray]:
    """The network's own MLP at one position: its values between the projections, and its result."""
    seen: dict[str, Tensor] = {}
    out = block.mlp(_row(x)[None], lambda name, tensor: seen.setdefault(name, tensor))
    return seen["mlp_post"][0].numpy(), out[0].numpy()


def _row(values: np.ndarray) -> Tensor:
    """A copy as a tensor, since a trace's arrays are read-only."""
    return torch.tensor(values)


def _plus(values: Float[np.ndarray, "*shape"], bias: Float[np.ndarray, "*some"] | None) -> Float[np.ndarray, "*shape"]:
    return values if bias is None else values + bias


def _worst(*checks: Check) -> Check:
    return Check(max(check.difference for check in checks), max(check.largest for check in checks))


def _normalise(x: Float[np.ndarray, "*head size"], norm: Norm) -> Normalisation:
    exact, bias = x.astype(np.float64), getattr(norm, "bias", None)
    centred = exact - exact.mean(axis=-1, keepdims=True) if isinstance(norm, nn.LayerNorm) else exact
    epsilon = norm.eps or 0.0
    normalised = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
    return Normalisation(
        x, normalised, norm.weight.numpy(), None if bias is None else bias.numpy(), norm(_row(x)).numpy()
    )


def _project(x: Float[np.ndarray, " d_in"], layer: Linear) -> Projection:
    """The projection as the network's own module computes it."""
    weight, bias = layer.w.numpy(), layer.bias
    own = layer(_row(x)).numpy()
    return Projection(x, weight, x.astype(np.float64) @ weight, None if bias is None else bias.numpy(), own)


def _qkv(
    network: Network, layer: int, x: Float[np.ndarray, " d_model"], kept: Sequence[np.ndarray | None]
) -> tuple[Projection, Projection, Projection]:
    """The projections to queries, keys and values. What the pass `kept` of them is not made anew."""
    config = network.config
    found = []
    for (linear, first), n_heads, own in zip(
        network.qkv_projections(layer), (config.n_heads, config.n_kv_heads, config.n_kv_heads), kept, strict=True
    ):
        columns = slice(first, first + n_heads * config.d_head)
        weight, bias = linear.w[:, columns].numpy(), None if linear.bias is None else linear.bias[columns].numpy()
        out = linear(_row(x))[columns].numpy() if own is None else own.reshape(-1)
        found.append(Projection(x, weight, x.astype(np.float64) @ weight, bias, out))
    return found[0], found[1], found[2]


def _qk_norm(attn: Attention, cut: Sequence[np.ndarray]) -> tuple[Normalisation, Normalisation] | None:
    """The norms of each head's query and key, where the model has them."""
    if (norms := attn.qk_norms) is None:
        return None
    return _normalise(cut[0], norms[0]), _normalise(cut[1], norms[1])


def _cut(vector: Float[np.ndarray, " d_heads"], d_head: int) -> Float[np.ndarray, "head d_head"]:
    """The pieces of a long vector, in float64, with a row for each head."""
    return np.array([vector[start : start + d_head] for start in range(0, len(vector), d_head)], np.float64)


def _activated(
    config: Config, x: Float[np.ndarray, " d_mlp"], linear: Projection | None
) -> Float[np.ndarray, " d_mlp"]:
    """`x` after the activation function in float64, times what a gate lets through.

    GELU is `x` times the share of a normal distribution below it: exactly, or in the published code's form with tanh;
    SiLU is `x` times its logistic function.
    """
    exact = x.astype(np.float64)
    if config.activation == "silu":
        share = 1 / (1 + np.exp(-exact))
    elif config.activation == "gelu_tanh":
        share = 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (exact + 0.044715 * exact**3)))
    else:
        share = 0.5 * (1 + np.array([math.erf(value / math.sqrt(2)) for value in exact]))
    return exact * share if linear is None else exact * share * linear.out
