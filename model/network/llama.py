"""The network of the Llama family. Parameters have the layout of the published checkpoints, and their own names within
attention and MLP; around these, the names are those of GPT-2.

What differs from GPT-2: RMSNorm in place of LayerNorm; positions come in by turning queries and keys; several query
heads may share a key and a value head; the MLP multiplies two projections; most projections have no bias.
Sources: Touvron et al. 2023, "LLaMA"; Su et al. 2021 (rotary positions); Ainslie et al. 2023 (grouped heads);
Shazeer 2020, "GLU Variants Improve Transformer"; Qwen Team 2025, "Qwen3 Technical Report" (norms of q and k).
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from model.network import attention
from model.network.llama_config import LlamaConfig
from model.network.network import Network
from model.network.parts import MLP, Attention, Block, Linear, Norm, Projection, Run, Tap, norm
from model.network.rotary import rotate


class LlamaAttention(Attention):
    """q, k and v from three projections; with norms of their own (Qwen3), then turned by their position."""

    def __init__(self, config: LlamaConfig, layer: int) -> None:
        super().__init__(config, layer)
        d_q, d_kv = config.n_heads * config.d_head, config.n_kv_heads * config.d_head
        self.q_proj = Projection(config.d_model, d_q, bias=config.qkv_bias)
        self.k_proj = Projection(config.d_model, d_kv, bias=config.qkv_bias)
        self.v_proj = Projection(config.d_model, d_kv, bias=config.qkv_bias)
        self.o_proj = Projection(d_q, config.d_model, bias=config.out_bias)
        if config.qk_norm:
            self.q_norm, self.k_norm = norm(config, config.d_head), norm(config, config.d_head)
        self.qk_norm = config.qk_norm
        self.n_kv_heads = config.n_kv_heads

    @property
    def out(self) -> Linear:
        return self.o_proj

    @property
    def qk_norms(self) -> tuple[Norm, Norm] | None:
        return (self.q_norm, self.k_norm) if self.qk_norm else None

    def unturned(self, x: Float[Tensor, "*batch pos d_model"]) -> tuple[Tensor, Tensor]:
        """Queries and keys before they are turned: (.., head, pos, d_head) and (.., kv_head, pos, d_head)."""
        q = attention.split_heads(self.q_proj(x), self.n_heads)
        k = attention.split_heads(self.k_proj(x), self.n_kv_heads)
        return (self.q_norm(q), self.k_norm(k)) if self.qk_norm else (q, k)

    def qkv(self, x: Float[Tensor, "*batch pos d_model"], run: Run) -> tuple[Tensor, Tensor, Tensor]:
        assert run.turn is not None
        q, k = self.unturned(x)
        q, k = run.tap("q", q), run.tap("k", k)
        v = run.tap("v", attention.split_heads(self.v_proj(x), self.n_kv_heads))
        return run.tap("rot_q", rotate(q, run.turn)), run.tap("rot_k", rotate(k, run.turn)), v


class LlamaMLP(MLP):
    """`silu(gate) * up`: one projection decides how much of the other passes (SwiGLU)."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.gate_proj = Projection(config.d_model, config.d_mlp, bias=config.mlp_bias)
        self.up_proj = Projection(config.d_model, config.d_mlp, bias=config.mlp_bias)
        self.down_proj = Projection(config.d_mlp, config.d_model, bias=config.mlp_bias)

    @property
    def out(self) -> Linear:
        return self.down_proj

    @property
    def inputs(self) -> tuple[Linear, ...]:
        return self.gate_proj, self.up_proj

    def hidden(self, x: Float[Tensor, "*batch pos d_model"], tap: Tap) -> Float[Tensor, "*batch pos d_mlp"]:
        mlp_pre = tap("mlp_pre", self.gate_proj(x))  # (.., pos, d_mlp)
        mlp_pre_linear = tap("mlp_pre_linear", self.up_proj(x))  # (.., pos, d_mlp)
        return tap("mlp_post", F.silu(mlp_pre) * mlp_pre_linear)


class Llama(Network):
    """A network of the Llama family, described by `config`, without weights."""

    config: LlamaConfig

    def __init__(self, config: LlamaConfig) -> None:
        blocks = (Block(config, LlamaAttention(config, n), LlamaMLP(config)) for n in range(config.n_layers))
        super().__init__(config, blocks)

    def turn(self, positions: Tensor) -> tuple[Tensor, Tensor] | None:
        return self.config.positions.turn(positions, self.config.d_head)

    def angles(self, pos: int) -> Float[np.ndarray, " pair"] | None:
        return self.config.positions.angles(torch.tensor([pos]), self.config.d_head)[0].numpy()

    def qkv_projections(self, layer: int) -> tuple[tuple[Linear, int], ...]:
        attn = self.block(layer).attn
        assert isinstance(attn, LlamaAttention)
        return tuple((part, 0) for part in (attn.q_proj, attn.k_proj, attn.v_proj))

    def unturned(
        self, layer: int, x: Float[Tensor, "pos d_model"]
    ) -> tuple[Float[Tensor, "head pos d_head"], Float[Tensor, "kv_head pos d_head"]]:
        attn = self.block(layer).attn
        assert isinstance(attn, LlamaAttention)
        with torch.inference_mode():
            return attn.unturned(x)
