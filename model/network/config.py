"""The sizes of a GPT-2 network, under the names that the rest of the project uses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from gettext import gettext as _
from pathlib import Path
from typing import Any

from model.errors import CheckpointError, ConfigError

CONFIG_FILE = "config.json"

# Hugging Face's names of the GELU variants in GPT-2 checkpoints; True: the tanh approximation.
_ACTIVATIONS = {"gelu_new": True, "gelu_pytorch_tanh": True, "gelu": False}
# A larger size can only be an error, and believing it would exhaust memory.
_LARGEST = {
    "n_layer": 1_000,
    "n_head": 1_000,
    "n_embd": 100_000,
    "n_positions": 1_000_000,
    "vocab_size": 10_000_000,
    "n_inner": 1_000_000,
}


@dataclass(frozen=True)
class GPT2Config:
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
    layer_norm_epsilon: float = 1e-5
    tanh_gelu: bool = True
    tied: bool = True
    scale_attn_weights: bool = True
    scale_attn_by_inverse_layer_idx: bool = False

    def __post_init__(self) -> None:
        for name in ("n_layers", "n_heads", "d_model", "n_ctx", "d_vocab", "d_mlp"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(
                    _("{name} is {value!r}; it must be a whole number of at least 1.").format(name=name, value=value)
                )
        if self.d_model % self.n_heads:
            raise ConfigError(
                _(
                    "The vector size {d_model} (n_embd) cannot be split into {n_heads} heads (n_head) of "
                    "equal size; n_embd must be a multiple of n_head."
                ).format(d_model=self.d_model, n_heads=self.n_heads)
            )

    @property
    def d_head(self) -> int:
        """Length of a head's query, key or value vector."""
        return self.d_model // self.n_heads

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
        sizes: dict[str, int] = {}
        for name, largest in _LARGEST.items():
            value = raw.get(name)
            if value is None and name == "n_positions":
                value = raw.get("n_ctx")  # the name in the oldest files
            elif value is None and name == "n_inner":
                value = 4 * sizes["n_embd"]
            if type(value) is not int or not 1 <= value <= largest:
                raise ConfigError(
                    _("config.json says {name} = {value!r}; expected a whole number from 1 to {largest:,}.").format(
                        name=name, value=value, largest=largest
                    )
                )
            sizes[name] = value
        activation = raw.get("activation_function", "gelu_new")
        if not isinstance(activation, str) or activation not in _ACTIVATIONS:
            raise ConfigError(
                _("config.json asks for the activation {activation!r}; this network has {activations}.").format(
                    activation=activation, activations=", ".join(_ACTIVATIONS)
                )
            )
        epsilon = raw.get("layer_norm_epsilon", 1e-5)
        if not isinstance(epsilon, int | float) or not 0 <= epsilon < 1:
            raise ConfigError(
                _("config.json says layer_norm_epsilon = {epsilon!r}; expected a number from 0 to 1.").format(
                    epsilon=epsilon
                )
            )
        if raw.get("add_cross_attention"):
            raise ConfigError(_("config.json asks for cross-attention; only GPT-2's own decoder is supported."))
        return cls(
            n_layers=sizes["n_layer"],
            n_heads=sizes["n_head"],
            d_model=sizes["n_embd"],
            n_ctx=sizes["n_positions"],
            d_vocab=sizes["vocab_size"],
            d_mlp=sizes["n_inner"],
            layer_norm_epsilon=float(epsilon),
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
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "tie_word_embeddings": self.tied,
            "scale_attn_weights": self.scale_attn_weights,
            "scale_attn_by_inverse_layer_idx": self.scale_attn_by_inverse_layer_idx,
        }


def read_config(folder: Path) -> GPT2Config:
    """The sizes in the `config.json` of a model folder.

    Raises:
        CheckpointError: the folder has none.
        ConfigError: it is not a JSON object, or as `GPT2Config.from_hugging_face`.
    """
    path = folder / CONFIG_FILE
    if not path.is_file():
        raise CheckpointError(
            _("{folder} has no {config_file}; a model folder needs one.").format(
                folder=folder.name or folder, config_file=CONFIG_FILE
            )
        )
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            _("{file} in {folder} cannot be read as JSON ({error}).").format(
                file=CONFIG_FILE, folder=folder.name, error=error
            )
        ) from error
    if not isinstance(raw, dict):
        raise ConfigError(
            _("{file} in {folder} must hold an object, not {type}.").format(
                file=CONFIG_FILE, folder=folder.name, type=type(raw).__name__
            )
        )
    return GPT2Config.from_hugging_face(raw)
