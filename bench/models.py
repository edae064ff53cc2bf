"""The contestants, all with one set of random weights of GPT-2 small's shape.

A contestant is a function of token ids that returns what it keeps; the report shows it under the name used here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from model.files.family import CONFIG_FILE
from model.files.safetensors_file import WEIGHTS_FILE
from model.network.config import GPT2Config
from model.network.gpt2 import GPT2
from model.network.parameters import GPT2_SMALL
from model.trace.store import KINDS
from model.trace.trace import Trace, run_trace

Contestant = Callable[[list[int]], Any]

OWN, FLOOR, PLAIN = "own trace", "bare forward", "own trace, weights not packed"
TRANSFORMERS, FUSED, LENS = "transformers", "transformers, fused, nothing kept", "TransformerLens"
ALL_LOGITS = ", all logits"


def random_weights(config: GPT2Config = GPT2_SMALL, seed: int = 0) -> dict[str, Tensor]:
    """Random weights by name, initialised as for training, so that every number has a usual size."""
    return dict(GPT2(config).init_weights(seed).state_dict())


def network_of(weights: dict[str, Tensor], *, packed: bool = False, config: GPT2Config = GPT2_SMALL) -> GPT2:
    """The network on these weights, without a copy.

    Raises:
        SystemExit: packed weights are asked for, and this PyTorch cannot pack.
    """
    network = GPT2(config)
    network.load_state_dict(weights, assign=True)
    network.eval().requires_grad_(False)
    if packed and not network.pack():
        raise SystemExit("This PyTorch cannot pack weights for oneDNN: the bench measures nothing without that.")
    return network


def write_checkpoint(folder: Path, weights: dict[str, Tensor], config: GPT2Config = GPT2_SMALL) -> Path:
    """The weights as a folder that `load_model` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG_FILE).write_text(json.dumps(config.to_hugging_face()))
    save_file(weights, folder / WEIGHTS_FILE)
    return folder


def ids_of(length: int) -> list[int]:
    """Random ids; shorter lists are prefixes of longer ones."""
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, GPT2_SMALL.d_vocab, (GPT2_SMALL.n_ctx,), generator=generator).tolist()[:length]


def contestants(weights: dict[str, Tensor], names: tuple[str, ...]) -> dict[str, Contestant]:
    """The contestants of these names, ready to run."""
    every = partial(_own, all_logits=True), partial(_floor, all_logits=True), partial(_lens, all_logits=True)
    makers: dict[str, Callable[[dict[str, Tensor]], Contestant]] = {
        OWN: _own,
        FLOOR: _floor,
        LENS: _lens,
        TRANSFORMERS: _transformers,
        FUSED: _transformers_fused,
        **dict(zip((OWN + ALL_LOGITS, FLOOR + ALL_LOGITS, LENS + ALL_LOGITS), every, strict=True)),
        PLAIN: partial(_own, packed=False),
    }
    return {name: makers[name](weights) for name in names}


def hugging_face(weights: dict[str, Tensor], attention: str) -> Any:
    """`transformers.GPT2LMHeadModel` on the same memory."""
    import transformers

    transformers.logging.set_verbosity_error()
    config = transformers.GPT2Config(**GPT2_SMALL.to_hugging_face())
    config._attn_implementation = attention
    with torch.device("meta"):
        theirs = transformers.GPT2LMHeadModel(config)
    named = {f"transformer.{name}": tensor for name, tensor in weights.items()}
    theirs.load_state_dict(named | {"lm_head.weight": weights["wte.weight"]}, strict=False, assign=True)
    left = [name for name, tensor in (*theirs.named_parameters(), *theirs.named_buffers()) if tensor.is_meta]
    if left:
        raise SystemExit(f"transformers has tensors that the weights do not name: {left[:3]}")
    return theirs.eval().requires_grad_(False)


# --- the contestants: by default each computes what a page needs, with the logits of the last position only ---------


def _own(weights: dict[str, Tensor], *, packed: bool = True, all_logits: bool = False) -> Contestant:
    network = network_of(weights, packed=packed)

    def run(ids: list[int]) -> Any:
        trace = run_trace(network, ids)
        return trace, network.logits(torch.tensor(trace.resid_post[-1])) if all_logits else trace.logits(len(ids) - 1)

    return run


def _floor(weights: dict[str, Tensor], *, all_logits: bool = False) -> Contestant:
    network = network_of(weights)

    def run(ids: list[int]) -> Any:
        with torch.inference_mode():
            resid = network(torch.tensor(ids))
            return network.logits(resid if all_logits else resid[-1])

    return run


def _transformers(weights: dict[str, Tensor]) -> Contestant:
    theirs = hugging_face(weights, "eager")
    kept: list[Tensor] = []
    for block in theirs.transformer.h:
        block.attn.c_attn.register_forward_hook(lambda module, inputs, output: kept.append(output))

    def run(ids: list[int]) -> Any:
        kept.clear()
        with torch.inference_mode():
            options = {"output_attentions": True, "output_hidden_states": True, "use_cache": False}
            out = theirs(torch.tensor([ids]), logits_to_keep=1, **options)
        return out.logits, out.attentions, out.hidden_states, list(kept)

    return run


def _transformers_fused(weights: dict[str, Tensor]) -> Contestant:
    theirs = hugging_face(weights, "sdpa")

    def run(ids: list[int]) -> Any:
        with torch.inference_mode():
            return theirs(torch.tensor([ids]), logits_to_keep=1, use_cache=False).logits

    return run


def _lens(weights: dict[str, Tensor], *, all_logits: bool = False) -> Contestant:
    # The public `boot_transformers` asks a hub for a tokenizer and then calls this.
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformer_lens.model_bridge.sources._bridge_builder import build_bridge_from_module

    theirs = hugging_face(weights, "eager")
    bridge = build_bridge_from_module(theirs, "GPT2LMHeadModel", hf_config=theirs.config, model_name="gpt2")
    options = {} if all_logits else {"logits_to_keep": 1}

    def run(ids: list[int]) -> Any:
        with torch.inference_mode():
            return bridge.run_with_cache(torch.tensor([ids]), **options)

    return run


def held_bytes(kept: Any) -> int:
    """The bytes of memory that what a contestant returned holds, each block of memory counted once."""
    blocks = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in _tensors(kept)}
    return sum(blocks.values())


def _tensors(kept: Any) -> Iterator[Tensor]:
    if isinstance(kept, Tensor):
        yield kept
    elif isinstance(kept, Trace):
        yield from (getattr(kept.memory, kind) for kind in KINDS)
    elif isinstance(kept, tuple | list) or hasattr(kept, "values"):  # a mapping, or TransformerLens' ActivationCache
        for part in kept if isinstance(kept, tuple | list) else kept.values():
            yield from _tensors(part)
