"""Writes networks as `.gguf` files, as llama.cpp's converter does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize
from torch import Tensor

from model.network.network import Network
from tests.models import weights_of

F32 = GGMLQuantizationType.F32
_TABLES = {
    "wte": "token_embd",
    "wpe": "position_embd",
    "ln_f": "output_norm",
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
_PARTS = {
    "ln_1": "attn_norm",
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf(
    path: Path,
    network: Network,
    *,
    kind: GGMLQuantizationType = F32,
    vocabulary: dict[str, Any] | None = None,
    tensors: dict[str, Tensor | None] | None = None,
    raw: dict[str, tuple[np.ndarray, GGMLQuantizationType]] | None = None,
    **changes: Any,
) -> Path:
    """Write `network`: matrices in the format `kind`, everything else in F32.

    `vocabulary` are keys of `tokenizer.ggml`; `changes` are keys of the metadata with `__` for dots and a leading `_`
    for the architecture's (None leaves one out); `tensors` replace others, or leave them out; `raw` are bytes instead.
    """
    config = network.config
    arch = config.kind
    metadata: dict[str, Any] = {
        "_block_count": config.n_layers,
        "_context_length": config.n_ctx,
        "_embedding_length": config.d_model,
        "_feed_forward_length": config.d_mlp,
        "_attention__head_count": config.n_heads,
        "_attention__head_count_kv": config.n_kv_heads,
        f"_attention__layer_norm_{'rms_' if config.rotary else ''}epsilon": config.norm_epsilon,
    }
    if config.rotary:
        metadata["_rope__freq_base"] = config.positions.base
        if config.kind == "qwen3" or config.d_head * config.n_heads != config.d_model:
            metadata |= {"_attention__key_length": config.d_head, "_attention__value_length": config.d_head}
        if config.positions.way == "linear":
            metadata |= {"_rope__scaling__type": "linear", "_rope__scaling__factor": config.positions.factor}
    metadata |= changes
    writer = GGUFWriter(path, changes.get("general__architecture", arch))
    for name, value in metadata.items():
        key = f"{arch}.{name[1:]}" if name.startswith("_") else name
        _add(writer, key.replace("__", "."), value)
    for name, value in (vocabulary or {}).items():
        _add(writer, f"tokenizer.ggml.{name}", value)
    weights = {gguf_name(name): converted(network, name, weight) for name, weight in weights_of(network).items()}
    if config.rotary and config.positions.way == "llama3":
        plain = 1 / config.positions.base ** (torch.arange(0, config.d_head, 2) / config.d_head)
        weights["rope_freqs.weight"] = plain / config.positions.frequencies(config.d_head)
    for name, tensor in {**weights, **(tensors or {})}.items():
        if name in (raw or {}):
            writer.add_tensor(name, raw[name][0], raw_dtype=raw[name][1])
        elif tensor is not None:
            numbers = tensor.contiguous().numpy()
            form = kind if numbers.ndim == 2 and name != "position_embd.weight" else F32
            writer.add_tensor(name, quantize(numbers, form), raw_dtype=form)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def gguf_name(published: str) -> str:
    """What llama.cpp calls a tensor."""
    base, kind = published.rsplit(".", 1)
    if base in _TABLES:
        return f"{_TABLES[base]}.{kind}"
    layer, part = base.removeprefix("model.layers.").removeprefix("h.").split(".", 1)
    return f"blk.{layer}.{_PARTS[part]}.{kind}"


def converted(network: Network, published: str, weight: Tensor) -> Tensor:
    """`weight` in llama.cpp's layout (`modify_tensors` of its converter)."""
    if network.config.kind == "gpt2" and published.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
        return weight.T
    if network.config.kind == "llama" and ".self_attn.q_proj" in published:
        return _permuted(weight, network.config.n_heads)
    if network.config.kind == "llama" and ".self_attn.k_proj" in published:
        return _permuted(weight, network.config.n_kv_heads)
    return weight


def _permuted(weight: Tensor, n_heads: int) -> Tensor:
    rows = weight.shape[0] // n_heads
    return weight.reshape(n_heads, 2, rows // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def _add(writer: GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    elif value is not None:
        writer.add_array(key, value)
