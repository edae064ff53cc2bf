"""The parts that the networks of all families are made of: projections, norms, attention, the block.

Parameters are created on the meta device, without memory; `init_weights` or a checkpoint supplies their values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from model.network import attention, packed
from model.network.key_value_cache import KeyValueCache
from model.network.sizes import Config

Tap = Callable[[str, Tensor], Tensor]
Norm = nn.LayerNorm | nn.RMSNorm


@dataclass(frozen=True)
class Run:
    """What the parts of one layer need to know of the pass: see `Network.forward`."""

    tap: Tap
    cache: KeyValueCache | None
    eager: bool
    turn: tuple[Float[Tensor, "pos d_head"], Float[Tensor, "pos d_head"]] | None
    """Cosines and sines of the angles by which queries and keys are turned; None: positions are embedded."""


class Linear(nn.Module):
    """`x @ w + bias` for a matrix `w`, which subclasses store in their family's published layout."""

    weight: nn.Parameter
    bias: nn.Parameter | None
    packed: packed.PackedLinear | None = None

    @property
    def w(self) -> Float[Tensor, "d_in d_out"]:
        """The matrix, as a view."""
        raise NotImplementedError

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        if self.packed is not None and self.packed.serves(x, self.weight, self.bias):
            return self.packed(x)
        return F.linear(x, self.w.t(), self.bias)

    def pack(self) -> None:
        """From now on use a packed copy of the weight, which is read faster, wherever no gradient is needed."""
        self.packed = packed.PackedLinear(self.w.t(), self.bias, self.weight)


class Conv1D(Linear):
    """`x @ weight + bias`; named as in GPT-2's published code, where projections are convolutions of width 1."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.weight, self.bias = _empty(d_in, d_out), _empty(d_out)

    @property
    def w(self) -> Float[Tensor, "d_in d_out"]:
        return self.weight


class Projection(Linear):
    """`x @ weight.T`, with a bias where the model has one: the (out, in) layout of Llama's published checkpoints."""

    def __init__(self, d_in: int, d_out: int, *, bias: bool) -> None:
        super().__init__()
        self.weight = _empty(d_out, d_in)
        self.register_parameter("bias", _empty(d_out) if bias else None)

    @property
    def w(self) -> Float[Tensor, "d_in d_out"]:
        return self.weight.t()


def norm(config: Config, size: int | None = None) -> Norm:
    """LayerNorm: to mean 0 and variance 1, then scaled and shifted (Ba et al. 2016). RMSNorm: to a mean square of 1,
    then scaled (Zhang & Sennrich 2019). Over `size` numbers, by default `d_model`.
    """
    kind = nn.LayerNorm if config.norm == "LayerNorm" else nn.RMSNorm
    return kind(config.d_model if size is None else size, config.norm_epsilon, device="meta")


def embedding(n_rows: int, d_model: int) -> nn.Embedding:
    """A row of `weight` for each id. Passing the weight skips torch's initialisation, which takes 2 s on `meta`."""
    return nn.Embedding(n_rows, d_model, _weight=torch.empty(n_rows, d_model, device="meta"))


class Attention(nn.Module):
    """Masked self-attention: all heads of one layer. A family says how q, k and v are made, and which part is `out`."""

    def __init__(self, config: Config, layer: int) -> None:
        super().__init__()
        self.layer, self.n_heads, self.scale, self.group = layer, config.n_heads, config.attn_scale(layer), config.group

    @property
    def out(self) -> Linear:
        """The projection of the merged heads back to the residual stream."""
        raise NotImplementedError

    @property
    def qk_norms(self) -> tuple[Norm, Norm] | None:
        """The norms of each head's query and key; None if they have none."""
        return None

    def qkv(self, x: Float[Tensor, "*batch pos d_model"], run: Run) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of all heads, as they meet: (.., head, pos, d_head), keys and values a group."""
        raise NotImplementedError

    def forward(self, x: Float[Tensor, "*batch pos d_model"], run: Run) -> Float[Tensor, "*batch pos d_model"]:
        q, k, v = self.qkv(x, run)
        if run.cache is not None:
            k, v = run.cache.write(self.layer, k, v)
        k, v = attention.for_each_head(k, self.group), attention.for_each_head(v, self.group)
        if run.eager:
            scores = run.tap("attn_scores", attention.apply_mask(attention.attn_scores(q, k, self.scale)))
            z = attention.weighted_sum(run.tap("pattern", attention.softmax(scores)), v)
        else:
            z = attention.fused_attention(q, k, v, self.scale)
        return self.out(attention.merge_heads(run.tap("z", z)))


class MLP(nn.Module):
    """From `d_model` numbers to `d_mlp` and back, for each position separately. A family says what happens between."""

    @property
    def out(self) -> Linear:
        """The projection back to the residual stream."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Linear, ...]:
        """The projections that read the MLP's input: one, or a gate and what it lets through."""
        raise NotImplementedError

    def hidden(self, x: Float[Tensor, "*batch pos d_model"], tap: Tap) -> Float[Tensor, "*batch pos d_mlp"]:
        """What `out` reads: `mlp_post`, seen by `tap` with all that leads to it."""
        raise NotImplementedError

    def forward(self, x: Float[Tensor, "*batch pos d_model"], tap: Tap) -> Float[Tensor, "*batch pos d_model"]:
        return self.out(self.hidden(x, tap))


class Block(nn.Module):
    """One layer: attention, then the MLP; each reads the normalised residual stream and adds to the stream itself."""

    def __init__(self, config: Config, attn: Attention, mlp: MLP) -> None:
        super().__init__()
        self.ln_1: Norm = norm(config)
        self.attn = attn
        self.ln_2: Norm = norm(config)
        self.mlp = mlp

    def forward(self, x: Float[Tensor, "*batch pos d_model"], run: Run) -> Float[Tensor, "*batch pos d_model"]:
        tap = run.tap
        x = tap("resid_pre", x)
        x = tap("resid_mid", x + tap("attn_out", self.attn(tap("ln_1", self.ln_1(x)), run)))
        return tap("resid_post", x + tap("mlp_out", self.mlp(tap("ln_2", self.ln_2(x)), tap)))


def _empty(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(*shape, device="meta"))
