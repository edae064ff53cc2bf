"""The sizes of a GPT-2 network, under the names that the rest of the project uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from gettext import gettext as _
from typing import Any, ClassVar, Literal

from model.errors import ConfigError
from model.network.sizes import (
    LONGEST_HIDDEN,
    LONGEST_VECTOR,
    MOST_HEADS,
    MOST_LAYERS,
    MOST_POSITIONS,
    MOST_TOKENS,
    Activation,
    Config,
    read_epsilon,
    read_size,
)

# Hugging Face's names of the GELU variants in GPT-2 checkpoints; True: the tanh approximation.
_ACTIVATIONS = {"gelu_new": True, "gelu_pytorch_tanh": True, "gelu": False}


@dataclass(frozen=True)
class GPT2Config(Config):
    """Sizes and switches of one GPT-2 network (Radford et al. 2019, section 2.3).

    `d_head * n_heads == d_model` always holds. `attn_scale(layer)` is the factor on a query-key product.

    Raises:
        ConfigError: a size is not a whole number of at least 1, or `d_model` not a multiple of `n_heads`.
    """

    n_layers: int
    n_heads: int
    d_model: int
    n_ctx: int
    d_vocab: int
    d_mlp: int
    norm_epsilon: float = 1e-5
    tanh_gelu: bool = True
    tied: bool = True
    scale_attn_weights: bool = True
    scale_attn_by_inverse_layer_idx: bool = False
    kind: str = field(init=False, default="gpt2")
    n_kv_heads: int = field(init=False, default=0)
    d_head: int = field(init=False, default=0)
    qk_norm: bool = field(init=False, default=False)

    norm: ClassVar[Literal["LayerNorm", "RMSNorm"]] = "LayerNorm"
    gated: ClassVar[bool] = False
    rotary: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.check_sizes("n_layers", "n_heads", "d_model", "n_ctx", "d_vocab", "d_mlp")
        if self.d_model % self.n_heads:
            raise ConfigError(
                _(
                    "The vector size {d_model} (n_embd) cannot be split into {n_heads} heads (n_head) of "
                    "equal size; n_embd must be a multiple of n_head."
                ).format(d_model=self.d_model, n_heads=self.n_heads)
            )
        object.__setattr__(self, "n_kv_heads", self.n_heads)
        object.__setattr__(self, "d_head", self.d_model // self.n_heads)

    @property
    def activation(self) -> Activation:
        """GELU, exact or in the form with tanh."""
        return "gelu_tanh" if self.tanh_gelu else "gelu"

    def attn_scale(self, layer: int) -> float:
        """The factor on the query-key products of `layer`: 1 / sqrt(d_head) unless the checkpoint says otherwise."""
        scale = self.d_head**-0.5 if self.scale_attn_weights else 1.0
        return scale / (layer + 1) if self.scale_attn_by_inverse_layer_idx else scale

    def scale_in_words(self, layer: int) -> str:
        """What the query-key products of `layer` are divided by: `√64 = 8` in GPT-2 small; empty if they are not."""
        value = f"{1 / self.attn_scale(layer):.4g}"
        if not self.scale_attn_weights:
            return "" if value == "1" else value
        by_layer = f" × {layer + 1}" if self.scale_attn_by_inverse_layer_idx and layer else ""
        return f"√{self.d_head}{by_layer} = {value}"

    @classmethod
    def from_hugging_face(cls, raw: Mapping[str, Any]) -> GPT2Config:
        """Read a `config.json` in Hugging Face's GPT-2 layout.

        Raises:
            ConfigError: another architecture, a missing or impossible size, an unsupported activation.
        """
        kind = raw.get("model_type")
        if kind != "gpt2":
            raise ConfigError(_("config.json describes a {kind!r} model; only 'gpt2' is supported.").format(kind=kind))
        activation = raw.get("activation_function", "gelu_new")
        if not isinstance(activation, str) or activation not in _ACTIVATIONS:
            raise ConfigError(
                _("config.json asks for the activation {activation!r}; this network has {activations}.").format(
                    activation=activation, activations=", ".join(_ACTIVATIONS)
                )
            )
        if raw.get("add_cross_attention"):
            raise ConfigError(_("config.json asks for cross-attention; only GPT-2's own decoder is supported."))
        d_model = read_size(raw, "n_embd", LONGEST_VECTOR, aliases=("hidden_size",))
        return cls(
            n_layers=read_size(raw, "n_layer", MOST_LAYERS, aliases=("num_hidden_layers",)),
            n_heads=read_size(raw, "n_head", MOST_HEADS, aliases=("num_attention_heads",)),
            d_model=d_model,
            # The last is the name in the oldest files.
            n_ctx=read_size(raw, "n_positions", MOST_POSITIONS, aliases=("max_position_embeddings", "n_ctx")),
            d_vocab=read_size(raw, "vocab_size", MOST_TOKENS),
            d_mlp=read_size(raw, "n_inner", LONGEST_HIDDEN, missing=4 * d_model),
            norm_epsilon=read_epsilon(raw, "layer_norm_epsilon", 1e-5),
            tanh_gelu=_ACTIVATIONS[activation],
            tied=bool(raw.get("tie_word_embeddings", True)),
            scale_attn_weights=bool(raw.get("scale_attn_weights", True)),
            scale_attn_by_inverse_layer_idx=bool(raw.get("scale_attn_by_inverse_layer_idx", False)),
        )

    def to_hugging_face(self) -> dict[str, Any]:
        """The `config.json` that `transformers.GPT2LMHeadModel` reads; the inverse of `from_hugging_face`."""
        return {
            "model_type": "gpt2",
            "architectures": ["GPT2LMHeadModel"],
            "n_layer": self.n_layers,
            "n_head": self.n_heads,
            "n_embd": self.d_model,
            "n_positions": self.n_ctx,
            "n_inner": self.d_mlp,
            "vocab_size": self.d_vocab,
            "activation_function": "gelu_new" if self.tanh_gelu else "gelu",
            "layer_norm_epsilon": self.norm_epsilon,
            "tie_word_embeddings": self.tied,
            "scale_attn_weights": self.scale_attn_weights,
            "scale_attn_by_inverse_layer_idx": self.scale_attn_by_inverse_layer_idx,
        }
