"""The GPT-2 network. Parameters have the names and the (in, out) layout of the published checkpoints.

Sources: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3, and the published
code; activation names are TransformerLens'. All functions accept leading (batch) axes.

One hook serves inspection and intervention: `forward(ids, tap=...)`. The tap receives every named activation once, in
the order of computation, and what it returns replaces the activation. Names: `embed`, `pos_embed`, then for each layer
`h.N.` + `resid_pre ln_1 q k v attn_scores pattern z attn_out resid_mid ln_2 mlp_pre mlp_post mlp_out resid_post`.
`attn_scores` (masked) and `pattern` exist only with `eager=True`: the fused kernel never holds them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from gettext import gettext as _

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from model.errors import SelectionError
from model.network import attention, packed
from model.network.config import GPT2Config
from model.network.key_value_cache import KeyValueCache

Tap = Callable[[str, Tensor], Tensor]


def _see_at(see: Tap, prefix: str, name: str, tensor: Tensor) -> Tensor:
    return see(prefix + name, tensor)


def _empty(*shape: int) -> nn.Parameter:
    """A parameter with a shape but no memory; `init_weights` or a checkpoint supplies its values."""
    return nn.Parameter(torch.empty(*shape, device="meta"))


class Conv1D(nn.Module):
    """`x @ weight + bias`; named as in the published code, where projections are convolutions of width 1."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.weight, self.bias = _empty(d_in, d_out), _empty(d_out)
        self.packed: packed.PackedLinear | None = None

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        if self.packed is not None and self.packed.serves(x, self.weight, self.bias):
            return self.packed(x)
        return F.linear(x, self.weight.t(), self.bias)

    def pack(self) -> None:
        """From now on use a packed copy of the weight, which is read faster, wherever no gradient is needed."""
        self.packed = packed.PackedLinear(self.weight.t(), self.bias, self.weight)


def _layer_norm(config: GPT2Config) -> nn.LayerNorm:
    """Normalises each vector to mean 0 and variance 1, then scales and shifts it (Ba et al. 2016)."""
    return nn.LayerNorm(config.d_model, config.layer_norm_epsilon, device="meta")


def _embedding(n_rows: int, d_model: int) -> nn.Embedding:
    """A row of `weight` for each id. Passing the weight skips torch's initialisation, which takes 2 s on `meta`."""
    return nn.Embedding(n_rows, d_model, _weight=torch.empty(n_rows, d_model, device="meta"))


class Attention(nn.Module):
    """Masked self-attention: all heads of one layer."""

    def __init__(self, config: GPT2Config, layer: int) -> None:
        super().__init__()
        self.c_attn = Conv1D(config.d_model, 3 * config.d_model)
        self.c_proj = Conv1D(config.d_model, config.d_model)
        self.layer, self.n_heads, self.scale = layer, config.n_heads, config.attn_scale(layer)

    def forward(
        self, x: Float[Tensor, "*batch pos d_model"], tap: Tap, cache: KeyValueCache | None, eager: bool
    ) -> Float[Tensor, "*batch pos d_model"]:
        qkv = self.c_attn(x).chunk(3, dim=-1)  # three of (.., pos, d_model): queries, keys, values of all heads
        q, k, v = (
            tap(name, attention.split_heads(part, self.n_heads))  # (.., head, pos, d_head)
            for name, part in zip("qkv", qkv, strict=True)
        )
        if cache is not None:
            k, v = cache.write(self.layer, k, v)
        if eager:
            scores = tap("attn_scores", attention.apply_mask(attention.attn_scores(q, k, self.scale)))
            z = attention.weighted_sum(tap("pattern", attention.softmax(scores)), v)
        else:
            z = attention.fused_attention(q, k, v, self.scale)
        return self.c_proj(attention.merge_heads(tap("z", z)))


class MLP(nn.Module):
    """Two projections with a GELU in between, applied to each position separately."""

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
    """One layer: attention, then the MLP; each reads the normalised residual stream and adds to the stream itself."""

    def __init__(self, config: GPT2Config, layer: int) -> None:
        super().__init__()
        self.ln_1 = _layer_norm(config)
        self.attn = Attention(config, layer)
        self.ln_2 = _layer_norm(config)
        self.mlp = MLP(config)

    def forward(
        self, x: Float[Tensor, "*batch pos d_model"], tap: Tap, cache: KeyValueCache | None, eager: bool
    ) -> Float[Tensor, "*batch pos d_model"]:
        x = tap("resid_pre", x)
        x = tap("resid_mid", x + tap("attn_out", self.attn(tap("ln_1", self.ln_1(x)), tap, cache, eager)))
        return tap("resid_post", x + tap("mlp_out", self.mlp(tap("ln_2", self.ln_2(x)), tap)))


class GPT2(nn.Module):
    """The network described by `config`, without weights: call `init_weights`, or assign a checkpoint's state dict."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.config = config
        self.wte = _embedding(config.d_vocab, config.d_model)
        self.wpe = _embedding(config.n_ctx, config.d_model)
        self.h = nn.ModuleList(Block(config, layer) for layer in range(config.n_layers))
        self.ln_f = _layer_norm(config)
        self.lm_head = None if config.tied else _embedding(config.d_vocab, config.d_model)
        self._packed_unembed: packed.PackedLinear | None = None

    def forward(
        self,
        ids: Int[Tensor, "*batch pos"],
        *,
        tap: Tap | None = None,
        cache: KeyValueCache | None = None,
        eager: bool = False,
    ) -> Float[Tensor, "*batch pos d_model"]:
        """The residual stream after the last layer; pass the positions you need to `logits`.

        With `cache`, `ids` continue after the cached positions, and their own keys and values are written behind those.
        There must be no more than `n_ctx` positions in all. `eager` computes attention step by step.
        """
        see: Tap = tap or (lambda name, tensor: tensor)
        n_past = 0 if cache is None else cache.n_pos
        positions = torch.arange(n_past, n_past + ids.shape[-1], device=ids.device)
        x = see("embed", self.wte(ids)) + see("pos_embed", self.wpe(positions))  # (.., pos, d_model)
        for layer, block in enumerate(self.h):
            block_tap = see if tap is None else partial(_see_at, see, f"h.{layer}.")
            x = block(x, block_tap, cache, eager)
        return x

    def logits(self, resid: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_vocab"]:
        """The score of every token of the vocabulary, from the residual stream after the last layer (or any other)."""
        x, unembed = self.ln_f(resid), self.unembed
        if self._packed_unembed is not None and self._packed_unembed.serves(x, unembed):
            return self._packed_unembed(x)
        return F.linear(x, unembed)

    def block(self, layer: int) -> Block:
        """One layer.

        Raises:
            SelectionError: the network has no such layer.
        """
        if not 0 <= layer < self.config.n_layers:
            raise SelectionError(
                _("There is no layer {layer}; this model has layers 0 to {last}.").format(
                    layer=layer, last=self.config.n_layers - 1
                )
            )
        block = self.h[layer]
        assert isinstance(block, Block)
        return block

    def check_head(self, layer: int, head: int) -> None:
        """Raise unless the network has this head.

        Raises:
            SelectionError: it has no such layer, or the layer no such head.
        """
        n_heads = self.block(layer).attn.n_heads
        if not 0 <= head < n_heads:
            raise SelectionError(
                _("There is no head {head}; each layer of this model has heads 0 to {last}.").format(
                    head=head, last=n_heads - 1
                )
            )

    # A head's own weights, as views: its q, k and v are x @ w + b each, and `z @ w_o` is what it adds to the stream.
    # `c_attn` has the queries of all heads side by side, then the keys, then the values. Each raises as `check_head`.

    def w_q(self, layer: int, head: int) -> Float[Tensor, "d_model d_head"]:
        """The columns of `c_attn` that make the head's queries."""
        return self._of_head(self.block(layer).attn.c_attn.weight, layer, head, part=0)

    def w_k(self, layer: int, head: int) -> Float[Tensor, "d_model d_head"]:
        """The columns of `c_attn` that make the head's keys."""
        return self._of_head(self.block(layer).attn.c_attn.weight, layer, head, part=1)

    def w_v(self, layer: int, head: int) -> Float[Tensor, "d_model d_head"]:
        """The columns of `c_attn` that make the head's values."""
        return self._of_head(self.block(layer).attn.c_attn.weight, layer, head, part=2)

    def b_q(self, layer: int, head: int) -> Float[Tensor, " d_head"]:
        """The bias of the head's queries."""
        return self._of_head(self.block(layer).attn.c_attn.bias, layer, head, part=0)

    def b_k(self, layer: int, head: int) -> Float[Tensor, " d_head"]:
        """The bias of the head's keys."""
        return self._of_head(self.block(layer).attn.c_attn.bias, layer, head, part=1)

    def b_v(self, layer: int, head: int) -> Float[Tensor, " d_head"]:
        """The bias of the head's values."""
        return self._of_head(self.block(layer).attn.c_attn.bias, layer, head, part=2)

    def w_o(self, layer: int, head: int) -> Float[Tensor, "d_head d_model"]:
        """The rows of `c_proj` that read the head's z; the bias of `c_proj` belongs to no head."""
        return self._of_head(self.block(layer).attn.c_proj.weight.T, layer, head, part=0).T

    def _of_head(self, weight: Tensor, layer: int, head: int, *, part: int) -> Tensor:
        """The head's columns of `weight`, in its first, second or third part of `d_model` columns."""
        self.check_head(layer, head)
        start = part * self.config.d_model + head * self.config.d_head
        return weight[..., start : start + self.config.d_head]

    @property
    def unembed(self) -> Float[Tensor, "d_vocab d_model"]:
        """The output embedding, a row for every token; the same tensor as the input embedding if they are tied."""
        return (self.lm_head or self.wte).weight

    @property
    def packable_bytes(self) -> int:
        """Bytes that `pack` would allocate: all projections and the output embedding."""
        projections = (module.weight for module in self.modules() if isinstance(module, Conv1D))
        return sum(weight.nbytes for weight in (*projections, self.unembed))

    def pack(self) -> bool:
        """Copy all projections into oneDNN's layout; returns False, and does nothing, where that is impossible.

        Other threads may use the network meanwhile. A pass that needs gradients still uses the parameters themselves,
        and so does every pass after a parameter has changed.
        """
        unembed = self.unembed
        projections = [module for module in self.modules() if isinstance(module, Conv1D)]
        if not all(packed.can_pack(weight) for weight in (unembed, *(module.weight for module in projections))):
            return False
        for module in projections:
            module.pack()
        self._packed_unembed = packed.PackedLinear(unembed, None, unembed)
        return True

    @torch.no_grad()
    def init_weights(self, seed: int) -> GPT2:
        """Initialise every parameter (section 2.3): N(0, 0.02), residual projections divided by sqrt(2 n_layers)."""
        generator = torch.Generator().manual_seed(seed)
        residual_std = 0.02 * (2 * self.config.n_layers) ** -0.5
        for name, module in self.named_modules():
            if isinstance(module, nn.LayerNorm):
                module.weight = nn.Parameter(torch.ones(module.weight.shape))
                module.bias = nn.Parameter(torch.zeros(module.bias.shape))
            elif isinstance(module, Conv1D | nn.Embedding):
                std = residual_std if name.endswith("c_proj") else 0.02
                weight = torch.empty(module.weight.shape)
                module.weight = nn.Parameter(weight.normal_(0.0, std, generator=generator))
                if isinstance(module, Conv1D):
                    module.bias = nn.Parameter(torch.zeros(module.bias.shape))
        return self
