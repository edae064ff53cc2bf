"""What the networks of all families have in common: embeddings, blocks, the residual stream, the logits.

One hook serves inspection and intervention: `forward(ids, tap=...)`. The tap receives every named activation once, in
the order of computation, and what it returns replaces the activation. Names are TransformerLens': `embed`, `pos_embed`
(where positions are embedded), then for each layer `h.N.` + `resid_pre ln_1 q k v attn_scores pattern z attn_out
resid_mid ln_2 mlp_pre mlp_post mlp_out resid_post`; with rotary positions also `rot_q rot_k` after `v`, with a gated
MLP `mlp_pre_linear` after `mlp_pre`. `attn_scores` (masked) and `pattern` exist only with `eager=True`: the fused
kernel never holds them. All functions accept leading (batch) axes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from gettext import gettext as _
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from model.errors import SelectionError
from model.network import packed
from model.network.key_value_cache import KeyValueCache
from model.network.parts import Block, Linear, Norm, Run, Tap, embedding, norm
from model.network.sizes import Config

Own = TypeVar("Own", bound="Network")


class Network(nn.Module):
    """The network described by `config`, without weights: call `init_weights`, or assign a checkpoint's state dict.

    A family's class brings the blocks and says how queries, keys and values are made.
    """

    def __init__(self, config: Config, blocks: Iterable[Block]) -> None:
        super().__init__()
        self.config = config
        self.wte = embedding(config.d_vocab, config.d_model)
        self.wpe: nn.Embedding | None = None if config.rotary else embedding(config.n_ctx, config.d_model)
        self.h = nn.ModuleList(blocks)
        self.ln_f: Norm = norm(config)
        self.lm_head = None if config.tied else embedding(config.d_vocab, config.d_model)
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
        x = see("embed", self.wte(ids))  # (.., pos, d_model)
        if self.wpe is not None:
            x = x + see("pos_embed", self.wpe(positions))
        run = Run(see, cache, eager, self.turn(positions))
        for layer, block in enumerate(self.h):
            x = block(x, run if tap is None else replace(run, tap=partial(_see_at, see, f"h.{layer}.")))
        return x

    def turn(self, positions: Int[Tensor, " pos"]) -> tuple[Tensor, Tensor] | None:
        """Cosines and sines of the angles by which queries and keys are turned; None where positions are embedded."""
        return None

    def angles(self, pos: int) -> Float[np.ndarray, " pair"] | None:
        """The angle in radians by which position `pos` turns each pair of numbers; None where `turn` is."""
        return None

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
    # Query heads of a group share w_k, b_k, w_v and b_v. Each raises as `check_head`.

    def w_q(self, layer: int, head: int) -> Float[Tensor, "d_model d_head"]:
        """The columns of the projection that make the head's queries."""
        linear, columns = self._of_head(layer, head, 0)
        return linear.w[:, columns]

    def w_k(self, layer: int, head: int) -> Float[Tensor, "d_model d_head"]:
        """The columns that make the keys the head reads."""
        linear, columns = self._of_head(layer, head, 1)
        return linear.w[:, columns]

    def w_v(self, layer: int, head: int) -> Float[Tensor, "d_model d_head"]:
        """The columns that make the values the head reads."""
        linear, columns = self._of_head(layer, head, 2)
        return linear.w[:, columns]

    def b_q(self, layer: int, head: int) -> Float[Tensor, " d_head"] | None:
        """The bias of the head's queries; None if they have none."""
        linear, columns = self._of_head(layer, head, 0)
        return None if linear.bias is None else linear.bias[columns]

    def b_k(self, layer: int, head: int) -> Float[Tensor, " d_head"] | None:
        """The bias of its keys."""
        linear, columns = self._of_head(layer, head, 1)
        return None if linear.bias is None else linear.bias[columns]

    def b_v(self, layer: int, head: int) -> Float[Tensor, " d_head"] | None:
        """The bias of its values."""
        linear, columns = self._of_head(layer, head, 2)
        return None if linear.bias is None else linear.bias[columns]

    def w_o(self, layer: int, head: int) -> Float[Tensor, "d_head d_model"]:
        """The rows of the output projection that read the head's z; that projection's bias belongs to no head."""
        self.check_head(layer, head)
        d_head = self.config.d_head
        return self.block(layer).attn.out.w[head * d_head : (head + 1) * d_head]

    def qkv_projections(self, layer: int) -> tuple[tuple[Linear, int], ...]:
        """For queries, keys and values of a layer: the projection that makes them, and their first column in it."""
        raise NotImplementedError

    def _of_head(self, layer: int, head: int, part: int) -> tuple[Linear, slice]:
        """The projection of the first, second or third part, and the head's columns in it."""
        self.check_head(layer, head)
        linear, first = self.qkv_projections(layer)[part]
        start = first + (self.config.kv_of(head) if part else head) * self.config.d_head
        return linear, slice(start, start + self.config.d_head)

    def unturned(
        self, layer: int, x: Float[Tensor, "pos d_model"]
    ) -> tuple[Float[Tensor, "head pos d_head"], Float[Tensor, "kv_head pos d_head"]]:
        """Queries and keys of `x`, what the layer's attention reads, before rotary positions turn them."""
        raise NotImplementedError

    @property
    def unembed(self) -> Float[Tensor, "d_vocab d_model"]:
        """The output embedding, a row for every token; the same tensor as the input embedding if they are tied."""
        return (self.lm_head or self.wte).weight

    @property
    def packable_bytes(self) -> int:
        """Bytes that `pack` would allocate: all projections and the output embedding."""
        projections = (module.weight for module in self.modules() if isinstance(module, Linear))
        return sum(weight.nbytes for weight in (*projections, self.unembed))

    def pack(self) -> bool:
        """Copy all projections into oneDNN's layout; returns False, and does nothing, where that is impossible.

        Other threads may use the network meanwhile. A pass that needs gradients still uses the parameters themselves,
        and so does every pass after a parameter has changed.
        """
        unembed = self.unembed
        projections = [module for module in self.modules() if isinstance(module, Linear)]
        if not all(packed.can_pack(weight) for weight in (unembed, *(module.weight for module in projections))):
            return False
        for module in projections:
            module.pack()
        self._packed_unembed = packed.PackedLinear(unembed, None, unembed)
        return True

    @torch.no_grad()
    def init_weights(self: Own, seed: int) -> Own:
        """Initialise every parameter as GPT-2 does (Radford et al. 2019, section 2.3): N(0, 0.02), projections into the
        residual stream divided by sqrt(2 n_layers); biases 0, norms 1.
        """
        generator = torch.Generator().manual_seed(seed)
        blocks = [self.block(layer) for layer in range(self.config.n_layers)]
        residual = {id(part) for block in blocks for part in (block.attn.out, block.mlp.out)}
        for module in self.modules():
            if isinstance(module, nn.LayerNorm | nn.RMSNorm):
                module.weight = nn.Parameter(torch.ones(module.weight.shape))
            elif isinstance(module, Linear | nn.Embedding):
                std = 0.02 * (2 * self.config.n_layers) ** -0.5 if id(module) in residual else 0.02
                weight = torch.empty(module.weight.shape)
                module.weight = nn.Parameter(weight.normal_(0.0, std, generator=generator))
            if (bias := getattr(module, "bias", None)) is not None:
                module.bias = nn.Parameter(torch.zeros(bias.shape))
        return self


def _see_at(see: Tap, prefix: str, name: str, tensor: Tensor) -> Tensor:
    return see(prefix + name, tensor)
