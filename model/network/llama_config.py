"""The sizes of a network of the Llama family: Llama, SmolLM, TinyLlama, Qwen2, Qwen3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from gettext import gettext as _
from typing import Any, ClassVar, Literal

from model.errors import ConfigError
from model.network.rotary import PLAIN, Rotary
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

_CLASSES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}


@dataclass(frozen=True)
class LlamaConfig(Config):
    """Sizes and switches of one network (Touvron et al. 2023, section 2.2; grouped heads: Ainslie et al. 2023).

    `qkv_bias`, `out_bias`, `mlp_bias`: which projections have biases (Qwen2: q, k and v). `qk_norm`: each head's query
    and key passes a norm of its own before it is turned (Qwen3).

    Raises:
        ConfigError: a size is not a whole number of at least 1, the heads cannot be grouped, or `d_head` is odd.
    """

    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_model: int
    d_head: int
    n_ctx: int
    d_vocab: int
    d_mlp: int
    kind: str = "llama"
    norm_epsilon: float = 1e-6
    positions: Rotary = PLAIN
    tied: bool = False
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False

    norm: ClassVar[Literal["LayerNorm", "RMSNorm"]] = "RMSNorm"
    gated: ClassVar[bool] = True
    rotary: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.check_sizes("n_layers", "n_heads", "n_kv_heads", "d_model", "d_head", "n_ctx", "d_vocab", "d_mlp")
        if self.n_heads % self.n_kv_heads:
            raise ConfigError(
                _(
                    "{n_heads} query heads (num_attention_heads) cannot share {n_kv_heads} key heads "
                    "(num_key_value_heads) evenly; the first must be a multiple of the second."
                ).format(n_heads=self.n_heads, n_kv_heads=self.n_kv_heads)
            )
        if self.d_head % 2:
            raise ConfigError(
                _("Rotary positions turn pairs of numbers; a head of {d_head} (head_dim) cannot be paired.").format(
                    d_head=self.d_head
                )
            )

    @property
    def activation(self) -> Activation:
        """SiLU, of the gate."""
        return "silu"

    def attn_scale(self, layer: int) -> float:
        """The factor on the query-key products, 1 / sqrt(d_head) in every layer."""
        return self.d_head**-0.5

    def scale_in_words(self, layer: int) -> str:
        """What the query-key products are divided by: `√64 = 8` for heads of 64 numbers."""
        return f"√{self.d_head} = {self.d_head**0.5:.4g}"

    @classmethod
    def from_hugging_face(cls, raw: Mapping[str, Any]) -> LlamaConfig:
        """Read a `config.json` in Hugging Face's layout of `llama`, `qwen2` or `qwen3`.

        Raises:
            ConfigError: a missing or impossible size, or something that this network does not do.
        """
        kind = raw.get("model_type")
        if kind not in _CLASSES:
            raise ConfigError(
                _("config.json describes a {kind!r} model; this network is for {kinds}.").format(
                    kind=kind, kinds=", ".join(_CLASSES)
                )
            )
        if (activation := raw.get("hidden_act", "silu")) not in ("silu", "swish"):
            raise ConfigError(
                _("config.json asks for the activation {activation!r}; this network has silu.").format(
                    activation=activation
                )
            )
        layer_types = raw.get("layer_types") or ()
        if raw.get("use_sliding_window") or any(layer_type != "full_attention" for layer_type in layer_types):
            raise ConfigError(
                _(
                    "config.json asks for attention in a sliding window; only attention to all earlier tokens is "
                    "supported."
                )
            )
        n_heads = read_size(raw, "num_attention_heads", MOST_HEADS)
        d_model = read_size(raw, "hidden_size", LONGEST_VECTOR)
        n_ctx = read_size(raw, "max_position_embeddings", MOST_POSITIONS)
        d_head = 128 if kind == "qwen3" else d_model // n_heads  # what transformers assumes
        biased = bool(raw.get("attention_bias", False))
        return cls(
            n_layers=read_size(raw, "num_hidden_layers", MOST_LAYERS),
            n_heads=n_heads,
            n_kv_heads=read_size(raw, "num_key_value_heads", MOST_HEADS, missing=n_heads),
            d_model=d_model,
            d_head=read_size(raw, "head_dim", LONGEST_VECTOR, missing=d_head),
            n_ctx=n_ctx,
            d_vocab=read_size(raw, "vocab_size", MOST_TOKENS),
            d_mlp=read_size(raw, "intermediate_size", LONGEST_HIDDEN),
            kind=kind,
            norm_epsilon=read_epsilon(raw, "rms_norm_eps", 1e-6),
            positions=Rotary.from_hugging_face(raw, n_ctx),
            tied=bool(raw.get("tie_word_embeddings", False)),
            qkv_bias=biased or kind == "qwen2",
            out_bias=biased,
            mlp_bias=bool(raw.get("mlp_bias", False)) and kind == "llama",
            qk_norm=kind == "qwen3",
        )

    def to_hugging_face(self) -> dict[str, Any]:
        """The `config.json` that `transformers` reads; the inverse of `from_hugging_face`."""
        said = {
            "model_type": self.kind,
            "architectures": [_CLASSES[self.kind]],
            "num_hidden_layers": self.n_layers,
            "num_attention_heads": self.n_heads,
            "num_key_value_heads": self.n_kv_heads,
            "hidden_size": self.d_model,
            "head_dim": self.d_head,
            "max_position_embeddings": self.n_ctx,
            "vocab_size": self.d_vocab,
            "intermediate_size": self.d_mlp,
            "hidden_act": "silu",
            "rms_norm_eps": self.norm_epsilon,
            "rope_parameters": self.positions.to_hugging_face(),
            "tie_word_embeddings": self.tied,
        }
        if self.kind != "qwen2":
            said["attention_bias"] = self.out_bias
        if self.kind == "llama":
            said["mlp_bias"] = self.mlp_bias
        return said
