"""GPT-2's network. Parameters are named and laid out as in the published checkpoints: (in, out) for every projection.

Sources: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3, and the published
code; activation names are TransformerLens'. Any leading axes (a batch) are allowed everywhere.

One seam serves looking and intervening: `forward(ids, tap=...)`. The tap sees every named activation once, in the order
of computation, and what it returns is used in its place. Names: `embed`, `pos_embed`, then for each layer
`h.N.` + `resid_pre ln_1 q k v attn_scores pattern z attn_out resid_mid ln_2 mlp_pre mlp_post mlp_out resid_post`.
`attn_scores` (masked) and `pattern` exist only when `eager=True`: the fused kernel never holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from model.network import attention, packed
from model.network.config import GPT2Config

Tap = Callable[[str, Tensor], Tensor]
KeysValues = tuple[Tensor, Tensor]  # one layer's k and v, each (*batch, head, pos, d_head)


def _see_at(see: Tap, prefix: str, name: str, tensor: Tensor) -> Tensor:
    return see(prefix + name, tensor)


def _follow(past: Tensor, new: Tensor) -> Tensor:
    """`past` and `new` (.., pos, d_head) one after the other. What the tap has filed right behind `past` in the same
    memory is there already: nothing is copied."""
    step, n_past = past.stride(-2), past.shape[-2]
    if (
        new.stride() == past.stride()
        and new.storage_offset() == past.storage_offset() + n_past * step
        and new.untyped_storage().data_ptr() == past.untyped_storage().data_ptr()
    ):
        shape = (*past.shape[:-2], n_past + new.shape[-2], past.shape[-1])
        return past.as_strided(shape, past.stride(), past.storage_offset())
    return torch.cat([past, new], dim=-2)


def _empty(*shape: int) -> nn.Parameter:
    """A parameter with a shape and no memory; `init_weights` or a checkpoint gives it its values."""
    return nn.Parameter(torch.empty(*shape, device="meta"))


class LayerNorm(nn.Module):
    """Each vector brought to mean 0 and variance 1, then scaled and shifted (Ba et al. 2016)."""

    def __init__(self, d_model: int, epsilon: float) -> None:
        super().__init__()
        self.weight, self.bias = _empty(d_model), _empty(d_model)
        self.epsilon = epsilon

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon)


class Conv1D(nn.Module):
    """`x @ weight + bias`; the name is the published code's, whose projections were convolutions of width 1."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.weight, self.bias = _empty(d_in, d_out), _empty(d_out)
        self.packed: packed.PackedLinear | None = None

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        if self.packed is not None and self.packed.serves(x, self.weight, self.bias):
            return self.packed(x)
        return F.linear(x, self.weight.t(), self.bias)

    def pack(self) -> None:
        """Read the weight faster from now on, from a packed copy of it, wherever no gradient is asked for."""
        self.packed = packed.PackedLinear(self.weight.t(), self.bias, self.weight)


class Embedding(nn.Module):
    """One row of `weight` for each id."""

    def __init__(self, n_rows: int, d_model: int) -> None:
        super().__init__()
        self.weight = _empty(n_rows, d_model)

    def forward(self, ids: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch d_model"]:
        return F.embedding(ids, self.weight)


class Attention(nn.Module):
    """Masked self-attention of all heads of one layer."""

    def __init__(self, config: GPT2Config, layer: int) -> None:
        super().__init__()
        self.c_attn = Conv1D(config.d_model, 3 * config.d_model)
        self.c_proj = Conv1D(config.d_model, config.d_model)
        self.n_heads, self.scale = config.n_heads, config.attn_scale(layer)

    def forward(
        self, x: Float[Tensor, "*batch pos d_model"], tap: Tap, past: KeysValues | None, eager: bool
    ) -> Float[Tensor, "*batch pos d_model"]:
        qkv = self.c_attn(x).chunk(3, dim=-1)  # three of (.., pos, d_model): queries, keys, values of all heads
        q, k, v = (
            tap(name, attention.split_heads(part, self.n_heads))  # (.., head, pos, d_head)
            for name, part in zip("qkv", qkv, strict=True)
        )
        if past is not None:  # the keys and values of earlier positions, computed in an earlier pass
            k, v = _follow(past[0], k), _follow(past[1], v)
        if eager:
            scores = tap("attn_scores", attention.apply_mask(attention.attn_scores(q, k, self.scale)))
            z = attention.weighted_sum(tap("pattern", attention.softmax(scores)), v)
        else:
            z = attention.fused_attention(q, k, v, self.scale)
        return self.c_proj(attention.merge_heads(tap("z", z)))


class MLP(nn.Module):
    """Two projections with a GELU between them, applied to each position alone."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.c_fc = Conv1D(config.d_model, config.d_mlp)
        self.c_proj = Conv1D(config.d_mlp, config.d_model)
        self.approximate = "tanh" if config.tanh_gelu else "none"

    def forward(self, x: Float[Tensor, "*batch pos d_model"], tap: Tap) -> Float[Tensor, "*batch pos d_model"]:
        mlp_pre = tap("mlp_pre", self.c_fc(x))  # (.., pos, d_mlp)
        mlp_post = tap("mlp_post", F.gelu(mlp_pre, approximate=self.approximate))  # (.., pos, d_mlp)
        return self.c_proj(mlp_post)  # (.., pos, d_model)


class Block(nn.Module):
    """One layer: attention, then MLP; each reads a normalised residual stream and adds to the raw one."""

    def __init__(self, config: GPT2Config, layer: int) -> None:
        super().__init__()
        self.ln_1 = LayerNorm(config.d_model, config.layer_norm_epsilon)
        self.attn = Attention(config, layer)
        self.ln_2 = LayerNorm(config.d_model, config.layer_norm_epsilon)
        self.mlp = MLP(config)

    def forward(
        self, x: Float[Tensor, "*batch pos d_model"], tap: Tap, past: KeysValues | None, eager: bool
    ) -> Float[Tensor, "*batch pos d_model"]:
        x = tap("resid_pre", x)
        x = tap("resid_mid", x + tap("attn_out", self.attn(tap("ln_1", self.ln_1(x)), tap, past, eager)))
        return tap("resid_post", x + tap("mlp_out", self.mlp(tap("ln_2", self.ln_2(x)), tap)))


class GPT2(nn.Module):
    """The network of `config`. Made without weights: call `init_weights`, or assign a checkpoint's state dict."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.config = config
        self.wte = Embedding(config.d_vocab, config.d_model)
        self.wpe = Embedding(config.n_ctx, config.d_model)
        self.h = nn.ModuleList(Block(config, layer) for layer in range(config.n_layers))
        self.ln_f = LayerNorm(config.d_model, config.layer_norm_epsilon)
        self.lm_head = None if config.tied else Embedding(config.d_vocab, config.d_model)
        self._packed_unembed: packed.PackedLinear | None = None

    def forward(
        self,
        ids: Int[Tensor, "*batch pos"],
        *,
        tap: Tap | None = None,
        past: Sequence[KeysValues] | None = None,
        eager: bool = False,
    ) -> Float[Tensor, "*batch pos d_model"]:
        """The residual stream after the last layer for `ids`; hand what you need of it to `logits`.

        `past` holds each layer's keys and values of the positions before `ids` (the cache); `ids` then continue there.
        `past + pos` must not exceed `n_ctx`.
        """
        see: Tap = tap or (lambda name, tensor: tensor)
        n_past = 0 if past is None else past[0][0].shape[-2]
        positions = torch.arange(n_past, n_past + ids.shape[-1], device=ids.device)
        x = see("embed", self.wte(ids)) + see("pos_embed", self.wpe(positions))  # (.., pos, d_model)
        for layer, block in enumerate(self.h):
            block_tap = see if tap is None else partial(_see_at, see, f"h.{layer}.")
            x = block(x, block_tap, None if past is None else past[layer], eager)
        return x

    def logits(self, resid: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_vocab"]:
        """A score for every word of the vocabulary, from the residual stream after the last layer (or after any)."""
        x, unembed = self.ln_f(resid), (self.lm_head or self.wte).weight  # unembed: (d_vocab, d_model)
        if self._packed_unembed is not None and self._packed_unembed.serves(x, unembed):
            return self._packed_unembed(x)
        return F.linear(x, unembed)

    @property
    def packable_bytes(self) -> int:
        """What `pack` would take: the bytes of all projections and of the output embedding."""
        projections = (module.weight for module in self.modules() if isinstance(module, Conv1D))
        return sum(weight.nbytes for weight in (*projections, (self.lm_head or self.wte).weight))

    def pack(self) -> bool:
        """Lay all projections out for oneDNN, in copies; False, and nothing is done, where that cannot be.

        Other threads may use the network meanwhile. A pass that needs gradients goes on using the parameters, and so
        does one after a parameter was changed.
        """
        unembed = (self.lm_head or self.wte).weight
        projections = [module for module in self.modules() if isinstance(module, Conv1D)]
        if not all(packed.can_pack(weight) for weight in (unembed, *(module.weight for module in projections))):
            return False
        for module in projections:
            module.pack()
        self._packed_unembed = packed.PackedLinear(unembed, None, unembed)
        return True

    @torch.no_grad()
    def init_weights(self, seed: int) -> GPT2:
        """Give every parameter its random start (section 2.3): N(0, 0.02), residual projections / sqrt(2 layers)."""
        generator = torch.Generator().manual_seed(seed)
        residual_std = 0.02 * (2 * self.config.n_layers) ** -0.5
        for name, module in self.named_modules():
            if isinstance(module, LayerNorm):
                module.weight = nn.Parameter(torch.ones(module.weight.shape))
                module.bias = nn.Parameter(torch.zeros(module.bias.shape))
            elif isinstance(module, Conv1D | Embedding):
                std = residual_std if name.endswith("c_proj") else 0.02
                weight = torch.empty(module.weight.shape)
                module.weight = nn.Parameter(weight.normal_(0.0, std, generator=generator))
                if isinstance(module, Conv1D):
                    module.bias = nn.Parameter(torch.zeros(module.bias.shape))
        return self
