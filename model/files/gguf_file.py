"""Reads `.gguf` files, the format of llama.cpp, Ollama and LM Studio, as if they were checkpoints of Hugging Face's.

Source of the names and layouts: llama.cpp's converter, `convert_hf_to_gguf.py`. Quantised weights become fp32 by
`gguf.quants`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from gettext import gettext as _
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from model.errors import CheckpointError, ConfigError
from model.files.gguf_header import cut, read_header
from model.files.gguf_quantisation import PLAIN, Format, format_of
from model.files.tensors import Tensors
from model.network.rotary import Rotary

SUFFIX = ".gguf"
_LLAMA_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "blk": "model.layers",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_GPT2_NAMES = {
    "token_embd": "wte",
    "position_embd": "wpe",
    "output_norm": "ln_f",
    "output": "lm_head",
    "blk": "h",
    "attn_norm": "ln_1",
    "attn_qkv": "attn.c_attn",
    "attn_output": "attn.c_proj",
    "ffn_norm": "ln_2",
    "ffn_up": "mlp.c_fc",
    "ffn_down": "mlp.c_proj",
}
_NAMES = {"gpt2": _GPT2_NAMES, "llama": _LLAMA_NAMES, "qwen2": _LLAMA_NAMES, "qwen3": _LLAMA_NAMES}
_TENSOR = re.compile(r"(?:(?P<blk>blk)\.(?P<layer>\d+)\.)?(?P<part>\w+)\.(?P<kind>weight|bias)")
_STRETCH = "rope_freqs.weight"


class GGUFTensors(Tensors):
    """The tensors of one file under their names, and in the layout, of Hugging Face's checkpoints.

    Each is read, and turned into fp32, when it is asked for; nothing of the file stays mapped or is kept.
    """

    def __init__(self, path: Path) -> None:
        """Read and check the header of `path`.

        Raises:
            CheckpointError: no GGUF file, a cut one, a tensor without a place in the network, an unknown quantisation.
            ConfigError: another architecture.
        """
        self.path, header = path, read_header(path)
        self.metadata = header.metadata
        self.architecture = str(self.metadata.get("general.architecture"))
        if self.architecture not in _NAMES:
            raise ConfigError(
                _("{name} holds a model of the architecture {kind!r}; supported are {kinds}.").format(
                    name=path.name, kind=self.architecture, kinds=", ".join(_NAMES)
                )
            )
        if self.metadata.get("split.count", 1) != 1:
            raise CheckpointError(
                _("{name} is one part of a model; merge the parts first: llama-gguf-split --merge.").format(
                    name=path.name
                )
            )
        self._formats: dict[str, Format] = {}
        for name, stored in header.tensors.items():
            self._formats[name] = format_of(stored.kind, f"{path.name}: {name}")
            if stored.offset + self._formats[name].n_bytes(stored.shape, f"{path.name}: {name}") > header.size:
                raise cut(path.name)
        self._stored = header.tensors
        self._names = {self._published(name): name for name in header.tensors if name != _STRETCH}

    @property
    def names(self) -> Collection[str]:
        """The names of all tensors."""
        return self._names.keys()

    def source(self, name: str) -> str:
        """The name of the file, for messages."""
        return self.path.name

    def stored_as(self, name: str) -> str:
        return self._names[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape that `read(name)` has."""
        shape = self._stored[self._names[name]].shape
        return shape[::-1] if self._is_transposed(name) else shape

    def read(self, name: str) -> Float[Tensor, ...]:
        """The tensor in fp32, in memory of its own.

        Raises:
            CheckpointError: the file has been cut or removed.
        """
        weight = self._read(self._names[name])
        if self._is_transposed(name):
            return weight.T.contiguous()
        # llama.cpp turns neighbouring numbers of a query or key, Hugging Face number i and number i + d_head / 2.
        if self.architecture == "llama" and (projection := re.search(r"\.([qk])_proj\.", name)):
            n_heads = self.config()["num_attention_heads" if projection[1] == "q" else "num_key_value_heads"]
            return weight.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).reshape(weight.shape)
        return weight

    @property
    def quantisation(self) -> str:
        """The format that most of the weights have; empty if they are plain numbers (F32, F16, BF16)."""
        weights: Counter[str] = Counter()
        for name, stored in self._stored.items():
            weights[self._formats[name].name] += math.prod(stored.shape)
        most = max(weights, key=weights.__getitem__, default="")
        return "" if most in PLAIN else most

    @property
    def notes(self) -> tuple[str, ...]:
        """What somebody who looks at the model must know of the file."""
        if not self.quantisation:
            return ()
        return (_("The weights are {format}: approximations of the original.").format(format=self.quantisation),)

    def check_all_used(self, used: Collection[str]) -> None:
        """Raise unless the network has a place for every tensor: without one it would compute something else.

        Raises:
            CheckpointError: it has none for one that is not in `used`.
        """
        for name in self._names.keys() - used:
            raise self._no_place(self._names[name])

    def config(self) -> dict[str, Any]:
        """What the metadata say, as a `config.json`.

        Raises:
            ConfigError: a size is missing, or positions are stretched in a way that is not known here.
        """
        return _gpt2_config(self) if self.architecture == "gpt2" else _llama_config(self)

    def number(self, key: str, missing: float | None = None) -> Any:
        """The number `attention.head_count`, or another of the architecture, in the metadata.

        Raises:
            ConfigError: there is none above 0, and no `missing`; or it is not the same in all layers.
        """
        key = f"{self.architecture}.{key}"
        value = self.metadata.get(key, missing)
        if isinstance(value, list) and len(set(value)) == 1:
            value = value[0]
        if type(value) not in (int, float) or not 0 < value < math.inf:
            raise ConfigError(
                _("{name} says {key} = {value!r}; expected a number above 0, the same for all layers.").format(
                    name=self.path.name, key=key, value=value
                )
            )
        return value

    def d_vocab(self) -> int:
        """The rows of the embedding.

        Raises:
            CheckpointError: there is none.
        """
        rows = self._stored.get("token_embd.weight")
        if rows is None or not rows.shape:
            raise CheckpointError(_("{name} has no tensor token_embd.weight.").format(name=self.path.name))
        return rows.shape[0]

    def stretch(self) -> Float[Tensor, " pair"] | None:
        """By how much the angles of each pair of numbers are divided; None if they are not."""
        return self._read(_STRETCH) if _STRETCH in self._stored else None

    def _published(self, name: str) -> str:
        parts = _TENSOR.fullmatch(name)
        known = _NAMES[self.architecture]
        if parts is None or parts["part"] not in known:
            raise self._no_place(name)
        layer = f"{known['blk']}.{parts['layer']}." if parts["blk"] else ""
        return f"{layer}{known[parts['part']]}.{parts['kind']}"

    def _no_place(self, name: str) -> CheckpointError:
        return CheckpointError(
            _("{file} has a tensor {tensor} that this {kind} model has no place for.").format(
                file=self.path.name, tensor=name, kind=self.architecture
            )
        )

    def _is_transposed(self, name: str) -> bool:
        """GPT-2's published projections are (in, out); GGUF has (out, in)."""
        return self.architecture == "gpt2" and bool(re.search(r"\.c_(attn|proj|fc)\.weight$", name))

    def _read(self, name: str) -> Tensor:
        stored, form = self._stored[name], self._formats[name]
        data = bytearray(form.n_bytes(stored.shape, name))
        try:
            with self.path.open("rb") as file:
                file.seek(stored.offset)
                n_read = file.readinto(data)
        except OSError as error:
            raise CheckpointError(
                _("{name} cannot be read ({reason}).").format(name=self.path.name, reason=error.strerror)
            ) from error
        if n_read < len(data):
            raise cut(self.path.name)
        return form.undo(data, stored.shape)


def _gpt2_config(tensors: GGUFTensors) -> dict[str, Any]:
    number = tensors.number
    return {
        "model_type": "gpt2",
        "n_layer": number("block_count"),
        "n_head": number("attention.head_count"),
        "n_embd": number("embedding_length"),
        "n_inner": number("feed_forward_length"),
        "n_positions": number("context_length"),
        "vocab_size": tensors.d_vocab(),
        "layer_norm_epsilon": number("attention.layer_norm_epsilon"),
        "tie_word_embeddings": "lm_head.weight" not in tensors.names,
    }


def _llama_config(tensors: GGUFTensors) -> dict[str, Any]:
    number, names = tensors.number, tensors.names
    if tensors.metadata.get(f"{tensors.architecture}.expert_count"):
        raise ConfigError(
            _("{name} is a mixture of experts; only models with one MLP a layer are supported.").format(
                name=tensors.path.name
            )
        )
    n_heads = number("attention.head_count")
    d_head = number("attention.key_length", max(number("embedding_length") // n_heads, 1))
    if (d_value := number("attention.value_length", d_head)) != d_head:
        raise ConfigError(
            _("{name} has keys of {d_key} numbers and values of {d_value} (value_length); they must be equal.").format(
                name=tensors.path.name, d_key=d_head, d_value=d_value
            )
        )
    return {
        "model_type": tensors.architecture,
        "num_hidden_layers": number("block_count"),
        "num_attention_heads": n_heads,
        "num_key_value_heads": number("attention.head_count_kv", n_heads),
        "hidden_size": number("embedding_length"),
        "head_dim": d_head,
        "intermediate_size": number("feed_forward_length"),
        "max_position_embeddings": number("context_length"),
        "vocab_size": tensors.d_vocab(),
        "rms_norm_eps": number("attention.layer_norm_rms_epsilon"),
        "rope_theta": number("rope.freq_base", 10_000.0),
        "rope_scaling": _rope_scaling(tensors, d_head),
        "partial_rotary_factor": number("rope.dimension_count", d_head) / d_head,
        "attention_bias": tensors.architecture != "qwen2" and "model.layers.0.self_attn.q_proj.bias" in names,
        "mlp_bias": "model.layers.0.mlp.gate_proj.bias" in names,
        "tie_word_embeddings": "lm_head.weight" not in names,
    }


def _rope_scaling(tensors: GGUFTensors, d_head: int) -> dict[str, Any] | None:
    """How positions are stretched.

    Of Llama 3's way only the factor of each pair is stored. All published models of that way differ in `factor` alone,
    which the pair that turns slowest tells; the others then prove it.
    """
    stretch = tensors.stretch()
    if stretch is None:
        way = tensors.metadata.get(f"{tensors.architecture}.rope.scaling.type", "none")
        return None if way == "none" else {"rope_type": way, "factor": tensors.number("rope.scaling.factor", 1.0)}
    rotary = Rotary(float(tensors.number("rope.freq_base", 10_000.0)), "llama3", float(stretch.flatten()[-1]))
    if (
        stretch.ndim != 1
        or 2 * len(stretch) != d_head
        or not torch.allclose(stretch, _factors(rotary, d_head), rtol=1e-4)
    ):
        raise ConfigError(
            _("{name} stretches positions in a way ({tensor}) that is not Llama 3's; it is not supported.").format(
                name=tensors.path.name, tensor=_STRETCH
            )
        )
    return rotary.to_hugging_face()


def _factors(rotary: Rotary, d_head: int) -> Float[Tensor, " pair"]:
    """By how much `rotary` divides the angle of each pair."""
    return replace(rotary, way="default").frequencies(d_head) / rotary.frequencies(d_head)
