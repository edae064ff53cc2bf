"""One layer at one position, step by step: what the network computes, and the same recomputed as a check.

Every step keeps its inputs, its parts and the network's own result (fp32), and recomputes that result from the inputs
in float64, with formulas written out here in place of the network's modules; `check` holds the difference.
Names are TransformerLens'. Source of the mathematics: Radford et al. 2019, section 2.3; Hendrycks & Gimpel 2016 (GELU).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from model.network import attention
from model.network.gpt2 import Block, Conv1D
from model.trace.trace import Trace

STEPS = (
    *("input", "ln_1", "qkv", "split", "score", "sum", "merge", "attn_out", "resid_mid"),
    *("ln_2", "mlp_pre", "mlp_post", "mlp_out", "resid_post"),
)
"""The steps of one layer, in the order of computation, each named for what it makes."""

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
    """`first + second`, number by number."""

    first: Float[np.ndarray, " size"]
    second: Float[np.ndarray, " size"]
    out: Float[np.ndarray, " size"]

    @property
    def check(self) -> Check:
        return compare(np.add(self.first, self.second, dtype=np.float64), self.out)


@dataclass(frozen=True)
class Normalisation:
    """LayerNorm: `normalised` has mean 0 and variance 1; times `weight`, plus `bias`, it is `out`."""

    x: Float[np.ndarray, " size"]
    mean: float
    deviation: float
    normalised: Float[np.ndarray, " size"]
    weight: Float[np.ndarray, " size"]
    bias: Float[np.ndarray, " size"]
    out: Float[np.ndarray, " size"]

    @property
    def check(self) -> Check:
        return compare(self.normalised * self.weight + self.bias, self.out)


@dataclass(frozen=True)
class Projection:
    """`product = x @ weight`; plus `bias` it is `out`."""

    x: Float[np.ndarray, " d_in"]
    weight: Float[np.ndarray, "d_in d_out"]
    product: Float[np.ndarray, " d_out"]
    bias: Float[np.ndarray, " d_out"]
    out: Float[np.ndarray, " d_out"]

    @property
    def check(self) -> Check:
        return compare(self.product + self.bias, self.out)


@dataclass(frozen=True)
class BlockSteps:
    """All steps of one layer at one position; keys are the positions up to and including that one."""

    input: Addition
    ln_1: Normalisation
    qkv: Projection
    q: Float[np.ndarray, "head d_head"]
    k: Float[np.ndarray, "head key d_head"]
    v: Float[np.ndarray, "head key d_head"]
    scores: Float[np.ndarray, "head key"]
    pattern: Float[np.ndarray, "head key"]
    z: Float[np.ndarray, "head d_head"]
    merged: Float[np.ndarray, " d_model"]
    attn_out: Projection
    resid_mid: Addition
    ln_2: Normalisation
    mlp_pre: Projection
    mlp_post: Float[np.ndarray, " d_mlp"]
    mlp_out: Projection
    resid_post: Addition
    checks: dict[str, Check]


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
    weighted = weights[:, None] * steps.v[head]
    return SumTable(
        keys=chosen,
        k=steps.k[head, chosen],
        values=steps.v[head, chosen],
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
    config, block = trace.network.config, trace.network.block(layer)
    resid_pre, resid_mid, resid_post = (
        kept[layer, pos] for kept in (trace.resid_pre, trace.resid_mid, trace.resid_post)
    )
    q, z = trace.q[layer, :, pos], trace.z[layer, :, pos]
    k, v = (kept[layer, :, : pos + 1] for kept in (trace.k, trace.v))
    kept_qkv = np.concatenate([part.reshape(-1) for part in (q, k[:, pos], v[:, pos])])
    scale = config.attn_scale(layer)
    scores = attention.attn_scores(_row(q).unsqueeze(-2), _row(k), scale)  # (head, 1, key): no key is masked
    pattern = attention.softmax(scores)

    ln_1 = _normalise(resid_pre, block.ln_1)
    qkv = _project(ln_1.out, block.attn.c_attn, kept_qkv)
    merged = attention.merge_heads(_row(z).unsqueeze(-2))[0].numpy()
    attn_out = _project(merged, block.attn.c_proj)
    ln_2 = _normalise(resid_mid, block.ln_2)
    mlp_pre = _project(ln_2.out, block.mlp.c_fc)
    mlp_post, _ = _mlp(block, ln_2.out)
    mlp_out = _project(mlp_post, block.mlp.c_proj)
    input_ = Addition(*_input(trace, layer, pos), resid_pre)
    mid = Addition(resid_pre, attn_out.out, resid_mid)
    post = Addition(resid_mid, mlp_out.out, resid_post)

    own_scores, own_pattern = scores[:, 0].numpy(), pattern[:, 0].numpy()
    exact_scores = np.einsum("hd,hkd->hk", q.astype(np.float64), k.astype(np.float64)) * scale
    exact_pattern = np.exp(exact_scores - exact_scores.max(axis=-1, keepdims=True))
    exact_pattern /= exact_pattern.sum(axis=-1, keepdims=True)
    score, weight = compare(exact_scores, own_scores), compare(exact_pattern, own_pattern)
    # What the pass itself made of x in step 1: cutting changes no number.
    parts = _row(kept_qkv).reshape(3, 1, config.d_model)
    own_cut = attention.split_heads(parts, config.n_heads)[:, :, 0].numpy()
    checks = {
        "input": input_.check,
        "ln_1": ln_1.check,
        "qkv": qkv.check,
        "split": compare(_cut(kept_qkv, config.n_heads).astype(np.float64), own_cut),
        "score": Check(max(score.difference, weight.difference), score.largest),
        "sum": compare(np.einsum("hk,hkd->hd", own_pattern.astype(np.float64), v.astype(np.float64)), z),
        "merge": compare(np.concatenate([*z]).astype(np.float64), merged),
        "attn_out": attn_out.check,
        "resid_mid": mid.check,
        "ln_2": ln_2.check,
        "mlp_pre": mlp_pre.check,
        "mlp_post": compare(_gelu(mlp_pre.out, config.tanh_gelu), mlp_post),
        "mlp_out": mlp_out.check,
        "resid_post": post.check,
    }
    steps = (input_, ln_1, qkv, q, k, v, own_scores, own_pattern, z, merged, attn_out, mid, ln_2, mlp_pre, mlp_post)
    return BlockSteps(*steps, mlp_out, post, checks)


def _input(trace: Trace, layer: int, pos: int) -> tuple[np.ndarray, np.ndarray]:
    """The two vectors whose sum the layer receives: token and position, or the last sum of the layer below."""
    network = trace.network
    if layer == 0:
        return network.wte.weight[trace.ids[pos]].numpy(), network.wpe.weight[pos].numpy()
    below, resid_mid = network.block(layer - 1), trace.resid_mid[layer - 1, pos]
    return resid_mid, _mlp(below, below.ln_2(_row(resid_mid)).numpy())[1]


def _mlp(block: Block, x: Float[np.ndarray, " d_model"]) -> tuple[np.ndarray, np.ndarray]:
    """The network's own MLP at one position: its values after the GELU, and its result."""
    seen: dict[str, Tensor] = {}
    out = block.mlp(_row(x)[None], lambda name, tensor: seen.setdefault(name, tensor))
    return seen["mlp_post"][0].numpy(), out[0].numpy()


def _row(values: np.ndarray) -> Tensor:
    """A copy as a tensor, since a trace's arrays are read-only."""
    return torch.tensor(values)


def _normalise(x: Float[np.ndarray, " size"], norm: nn.LayerNorm) -> Normalisation:
    exact = x.astype(np.float64)
    mean = exact.mean()
    deviation = math.sqrt(((exact - mean) ** 2).mean() + norm.eps)
    own = norm(_row(x)).numpy()
    return Normalisation(
        x, float(mean), deviation, (exact - mean) / deviation, norm.weight.numpy(), norm.bias.numpy(), own
    )


def _project(
    x: Float[np.ndarray, " d_in"], layer: Conv1D, out: Float[np.ndarray, " d_out"] | None = None
) -> Projection:
    """`out` is the result that the pass kept; if it kept none, the network's own module computes it."""
    weight = layer.weight.numpy()
    own = layer(_row(x)).numpy() if out is None else out
    return Projection(x, weight, x.astype(np.float64) @ weight, layer.bias.numpy(), own)


def _cut(qkv: Float[np.ndarray, " three_d_model"], n_heads: int) -> Float[np.ndarray, "part head d_head"]:
    """Queries, keys and values cut out of the long vector, with a row for each head."""
    d_model = len(qkv) // 3
    d_head = d_model // n_heads
    starts = [[part * d_model + head * d_head for head in range(n_heads)] for part in range(3)]
    return np.array([[qkv[start : start + d_head] for start in row] for row in starts])


def _gelu(x: Float[np.ndarray, " d_mlp"], tanh_form: bool) -> Float[np.ndarray, " d_mlp"]:
    """`x` times the share of a normal distribution below it: exactly, or in the published code's form with tanh."""
    exact = x.astype(np.float64)
    if tanh_form:
        return 0.5 * exact * (1 + np.tanh(math.sqrt(2 / math.pi) * (exact + 0.044715 * exact**3)))
    return 0.5 * exact * (1 + np.array([math.erf(value / math.sqrt(2)) for value in exact]))
