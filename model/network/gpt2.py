"""The GPT-2 network. Parameters have the names and the (in, out) layout of the published checkpoints.

Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3, and the published code.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from model.network import attention
from model.network.config import GPT2Config
from model.network.network import Network
from model.network.parts import MLP, Attention, Block, Conv1D, Linear, Run, Tap


class GPT2Attention(Attention):
    """q, k and v from one projection, side by side."""

    def __init__(self, config: GPT2Config, layer: int) -> None:
        super().__init__(config, layer)
        self.c_attn = Conv1D(config.d_model, 3 * config.d_model)
        self.c_proj = Conv1D(config.d_model, config.d_model)

    @property
    def out(self) -> Linear:
        return self.c_proj

    def qkv(self, x: Float[Tensor, "*batch pos d_model"], run: Run) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = (
            run.tap(name, attention.split_heads(part, self.n_heads))  # (.., head, pos, d_head)
            for name, part in zip("qkv", self.c_attn(x).chunk(3, dim=-1), strict=True)  # three of (.., pos, d_model)
        )
        return q, k, v


class GPT2MLP(MLP):
    """Two projections with a GELU in between."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.c_fc = Conv1D(config.d_model, config.d_mlp)
        self.c_proj = Conv1D(config.d_mlp, config.d_model)
        self.approximate = "tanh" if config.tanh_gelu else "none"

    @property
    def out(self) -> Linear:
        return self.c_proj

    @property
    def inputs(self) -> tuple[Linear, ...]:
        return (self.c_fc,)

    def hidden(self, x: Float[Tensor, "*batch pos d_model"], tap: Tap) -> Float[Tensor, "*batch pos d_mlp"]:
        mlp_pre = tap("mlp_pre", self.c_fc(x))  # (.., pos, d_mlp)
        return tap("mlp_post", F.gelu(mlp_pre, approximate=self.approximate))


class GPT2(Network):
    """The GPT-2 described by `config`, without weights."""

    config: GPT2Config
    wpe: nn.Embedding

    def __init__(self, config: GPT2Config) -> None:
        blocks = (Block(config, GPT2Attention(config, n), GPT2MLP(config)) for n in range(config.n_layers))
        super().__init__(config, blocks)

    def qkv_projections(self, layer: int) -> tuple[tuple[Linear, int], ...]:
        attn = self.block(layer).attn
        assert isinstance(attn, GPT2Attention)
        return tuple((attn.c_attn, part * self.config.d_model) for part in range(3))
