"""Small random models for all tests: ours, the same in `transformers`, and as a folder on disk."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from model.files.family import family_of
from model.network.config import GPT2Config
from model.network.gpt2 import GPT2
from model.network.llama import Llama
from model.network.llama_config import LlamaConfig
from model.network.network import Network
from model.network.rotary import Rotary
from model.text.tokenizer import TiktokenTokenizer

AnyNetwork = TypeVar("AnyNetwork", bound=Network)

# Tokens of the reduced vocabulary beside the 256 bytes; each is merged from two that stand before it.
PIECES = (b" t", b"he", b" the", b" a", b"ro", b"bo", b"bot", b"robot", b" r", b"obot", b" robot", b"in", b"er", b" o")
N_REDUCED = 256 + len(PIECES) + 1  # with the start token


def make_config(**changes: Any) -> GPT2Config:
    """A GPT-2 of two layers and three heads, whose vocabulary `write_vocabulary` names."""
    sizes: dict[str, Any] = {"n_layers": 2, "n_heads": 3, "d_model": 30, "n_ctx": 32, "d_vocab": N_REDUCED, "d_mlp": 70}
    return GPT2Config(**{**sizes, **changes})


LLAMAS: dict[str, dict[str, Any]] = {
    "llama": {},
    "tied": {"tied": True},
    "one key head": {"n_kv_heads": 1},
    "a key head for each": {"n_kv_heads": 6},
    "biases": {"qkv_bias": True, "out_bias": True, "mlp_bias": True},
    "linear scaling": {"positions": Rotary(way="linear", factor=2.0)},
    "llama 3": {"positions": Rotary(500_000.0, "llama3", 8.0, 1.0, 4.0, 8)},
    "qwen2": {"kind": "qwen2", "qkv_bias": True},
    "qwen3": {"kind": "qwen3", "qk_norm": True, "d_head": 16},
}
"""Networks of the Llama family that differ from each other in one way each; see `make_llama`."""


def make_llama(**changes: Any) -> LlamaConfig:
    """A Llama of two layers, six query heads and two key heads, whose vocabulary `write_vocabulary` names."""
    sizes: dict[str, Any] = {"n_layers": 2, "n_heads": 6, "n_kv_heads": 2, "d_model": 48, "d_head": 8}
    return LlamaConfig(**{**sizes, "n_ctx": 32, "d_vocab": N_REDUCED, "d_mlp": 70, **changes})


def random_llama(**changes: Any) -> Llama:
    """A network of `make_llama` with random weights."""
    return with_random_weights(Llama(make_llama(**changes)))


def random_network(config: GPT2Config | None = None, *, seed: int = 0) -> GPT2:
    """A GPT-2 with random weights."""
    return with_random_weights(GPT2(config or make_config()), seed=seed)


def with_random_weights(network: AnyNetwork, *, seed: int = 0) -> AnyNetwork:
    """`network` with random weights, biases and norms, large enough for its heads to differ clearly."""
    generator = torch.Generator().manual_seed(seed)

    def values(name: str, shape: torch.Size) -> nn.Parameter:
        noise = torch.randn(shape, generator=generator)
        if ".ln_" in name or "_norm" in name or name.startswith("ln_f"):
            return nn.Parameter((1.0 if name.endswith("weight") else 0.0) + 0.2 * noise)
        return nn.Parameter(noise * (0.1 if name.endswith("bias") or ".c_proj." in name else 0.2))

    state = {name: values(name, parameter.shape) for name, parameter in network.named_parameters()}
    network.load_state_dict(state, assign=True)
    return network.eval().requires_grad_(False)


def hugging_face_model(network: Network, attention: str = "eager") -> Any:
    """The model of `transformers` with the sizes and weights of `network`."""
    import transformers

    said = network.config.to_hugging_face()
    kind = getattr(transformers, said.pop("architectures")[0])
    config = kind.config_class(**said)
    config._attn_implementation = attention
    theirs = kind(config).eval()
    published = family_of(network.config.kind).published
    prefix = "transformer." if network.config.kind == "gpt2" else ""
    state = {
        name if name.startswith("lm_head") else f"{prefix}{published(name)}": tensor
        for name, tensor in network.state_dict().items()
    }
    if network.config.tied:
        state["lm_head.weight"] = network.wte.weight
    theirs.load_state_dict(state)
    return theirs


def published_name(name: str) -> str:
    """A parameter's name with the prefix that `GPT2LMHeadModel` gives it."""
    return name if name.startswith("lm_head") else f"transformer.{name}"


def weights_of(network: Network) -> dict[str, Tensor]:
    """Copies of the network's weights by their names in files, to be changed and written."""
    published = family_of(network.config.kind).published
    return {published(name): tensor.clone() for name, tensor in network.state_dict().items()}


def write_checkpoint(
    folder: Path, network: Network, *, weights: dict[str, Tensor] | None = None, vocabulary: bool = True, **changes: Any
) -> Path:
    """Write `network` as a checkpoint folder; `weights` replace its own, `changes` go into config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**network.config.to_hugging_face(), **changes}))
    save_file(weights_of(network) if weights is None else weights, folder / "model.safetensors")
    if vocabulary:
        write_vocabulary(folder / "vocab.tiktoken")
    return folder


def reduced_vocabulary() -> dict[bytes, int]:
    """The 256 bytes in GPT-2's order, then `PIECES`: each token with its rank."""
    gpt2 = TiktokenTokenizer.gpt2()
    tokens = [gpt2.token_bytes(rank) for rank in range(256)] + list(PIECES)
    return {token: rank for rank, token in enumerate(tokens)}


def write_vocabulary(path: Path, ranks: dict[bytes, int] | None = None) -> Path:
    """Write a `.tiktoken` file, by default the reduced vocabulary."""
    ranks = reduced_vocabulary() if ranks is None else ranks
    path.write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()))
    return path
