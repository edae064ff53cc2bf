"""What a family of models brings: how its config is read, its network, and what its tensors are called in files.

Nothing else asks which family a model is of: all networks have the same parts (`model.network.network`) and the same
accessors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from gettext import gettext as _
from pathlib import Path
from typing import Any

from model.errors import CheckpointError, ConfigError
from model.network.config import GPT2Config
from model.network.gpt2 import GPT2
from model.network.llama import Llama
from model.network.llama_config import LlamaConfig
from model.network.network import Network
from model.network.sizes import Config

CONFIG_FILE = "config.json"


@dataclass(frozen=True)
class Family:
    """`read_config` reads a `config.json`, `network` makes the network of what it returns.

    `published(name)` is what a parameter of the network is called in checkpoints.
    """

    read_config: Callable[[Mapping[str, Any]], Config]
    network: Callable[[Any], Network]
    published: Callable[[str], str]
    may_lack_biases: bool = False
    """Whether files without any bias are sound: their biases are 0."""


_LLAMA_NAMES = {
    "wte": "model.embed_tokens",
    "ln_f": "model.norm",
    "h": "model.layers",
    "ln_1": "input_layernorm",
    "attn": "self_attn",
    "ln_2": "post_attention_layernorm",
}


def _llama_name(name: str) -> str:
    return ".".join(_LLAMA_NAMES.get(part, part) for part in name.split("."))


_GPT2 = Family(GPT2Config.from_hugging_face, GPT2, lambda name: name, may_lack_biases=True)
_LLAMA = Family(LlamaConfig.from_hugging_face, Llama, _llama_name)
FAMILIES: Mapping[str, Family] = {"gpt2": _GPT2, "llama": _LLAMA, "qwen2": _LLAMA, "qwen3": _LLAMA}
"""By Hugging Face's `model_type`."""


def family_of(model_type: Any) -> Family:
    """The family of a `model_type`.

    Raises:
        ConfigError: it is not supported.
    """
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        raise ConfigError(
            _("config.json describes a {kind!r} model; supported are {kinds}.").format(
                kind=model_type, kinds=", ".join(FAMILIES)
            )
        )
    return FAMILIES[model_type]


def read_raw_config(folder: Path) -> dict[str, Any]:
    """The `config.json` of a model folder, as it stands.

    Raises:
        CheckpointError: the folder has none.
        ConfigError: it is not a JSON object.
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
    return raw


def read_config(folder: Path) -> Config:
    """The sizes in the `config.json` of a model folder.

    Raises:
        CheckpointError: the folder has none.
        ConfigError: it is not a JSON object, or describes no model that is supported.
    """
    raw = read_raw_config(folder)
    return family_of(raw.get("model_type")).read_config(raw)
