"""Checkpoints in PyTorch's own format as folders that open: nanoGPT's `ckpt.pt`, and `pytorch_model.bin`.

Such files are pickles. They are read with `torch.load(weights_only=True)`, which builds tensors and plain containers
and nothing else, and only by the command line: the app never reads one.
"""

from __future__ import annotations

import json
import pickle
import re
import shutil
import zipfile
from collections.abc import Mapping
from gettext import gettext as _
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from model.errors import CheckpointError
from model.files.family import CONFIG_FILE, read_config
from model.files.safetensors_file import WEIGHTS_FILE
from model.files.vocabulary import TOKENIZER_FILES
from model.network.config import GPT2Config

# nanoGPT's projections are Linear modules, (out, in); GPT-2's published layout is (in, out).
_TRANSPOSED = re.compile(r"(attn\.c_attn|attn\.c_proj|mlp\.c_fc|mlp\.c_proj)\.weight$")
_COMPILED = "_orig_mod."


def convert(file: Path, folder: Path) -> int:
    """Write the weights in `file` as a model folder; the number of parameters.

    A `pytorch_model.bin` needs its `config.json` beside it; tokenizer files beside it are copied.

    Raises:
        CheckpointError: the file is no checkpoint of these kinds, or the folder is not empty or cannot be written.
        ConfigError: its config describes no model that is supported.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CheckpointError(_("{folder} is there already; name a new or an empty folder.").format(folder=folder))
    loaded = _load(file)
    if isinstance(loaded.get("model"), Mapping) and isinstance(loaded.get("model_args"), Mapping):
        raw, weights = _nano_gpt(loaded["model_args"], loaded["model"], file)
    else:
        read_config(file.parent)
        raw, weights = json.loads((file.parent / CONFIG_FILE).read_text("utf-8")), _tensors(loaded, file)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CONFIG_FILE).write_text(json.dumps(raw, indent=2), "utf-8")
        save_file(weights, folder / WEIGHTS_FILE, {"format": "pt"})
        for name in TOKENIZER_FILES:
            if (file.parent / name).is_file():
                shutil.copyfile(file.parent / name, folder / name)
    except OSError as error:
        raise CheckpointError(
            _("{folder} cannot be written: {error}.").format(folder=folder, error=error.strerror or error)
        ) from error
    return sum(tensor.numel() for tensor in weights.values())


def _load(file: Path) -> Mapping[str, Any]:
    if not file.is_file():
        raise CheckpointError(_("There is no file {file}.").format(file=file))
    try:
        # Only the archives that torch writes since 1.6 can be mapped.
        loaded = torch.load(file, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(file))
    except (pickle.UnpicklingError, RuntimeError, OSError, EOFError, ValueError, KeyError, AttributeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CheckpointError(
            _("{file} is not a PyTorch file of tensors alone ({reason}); nothing in it was run.").format(
                file=file.name, reason=reason
            )
        ) from error
    if not isinstance(loaded, Mapping):
        raise CheckpointError(
            _("{file} holds {kind}, not named tensors.").format(file=file.name, kind=type(loaded).__name__)
        )
    return loaded


def _nano_gpt(
    sizes: Mapping[str, Any], state: Mapping[str, Any], file: Path
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The config and the weights of nanoGPT's checkpoint, in GPT-2's published layout."""
    try:
        config = GPT2Config(
            n_layers=sizes["n_layer"],
            n_heads=sizes["n_head"],
            d_model=sizes["n_embd"],
            n_ctx=sizes["block_size"],
            d_vocab=sizes["vocab_size"],
            d_mlp=4 * sizes["n_embd"],
            tanh_gelu=False,  # nanoGPT's MLP has nn.GELU()
        )
    except (KeyError, TypeError) as error:
        raise CheckpointError(
            _("{file}: model_args lacks a size ({error}).").format(file=file.name, error=error)
        ) from error
    weights = _tensors(state, file)
    weights = {name: (w.t().contiguous() if _TRANSPOSED.search(name) else w) for name, w in weights.items()}
    # The embedding is stored twice, by both of its names.
    if "lm_head.weight" in weights and torch.equal(weights["lm_head.weight"], weights["transformer.wte.weight"]):
        del weights["lm_head.weight"]
    return config.to_hugging_face(), weights


def _tensors(state: Mapping[str, Any], file: Path) -> dict[str, Tensor]:
    """The tensors in memory of their own, as the format requires; without the prefix of a compiled network."""
    found = {str(name).removeprefix(_COMPILED): value for name, value in state.items() if isinstance(value, Tensor)}
    if not found:
        raise CheckpointError(_("{file} holds no tensors.").format(file=file.name))
    return {name: tensor.detach().clone().contiguous() for name, tensor in found.items()}
