"""A trace of SmolLM2-135M's shape against transformers and TransformerLens on the same random weights.

    bench/.venv/bin/python -m bench.llama [--out FILE] [--lengths 16 64] [--runs 7]

All contestants keep what a page needs, with the logits of the last position only; in one process, in turn, repeatedly.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

import model  # noqa: F401 - before torch: it sets how idle threads wait
from bench.clock import alternated, medians
from bench.command import parser_of, write
from model.files.family import family_of
from model.network.llama import Llama
from model.network.llama_config import LlamaConfig
from model.network.rotary import Rotary
from model.trace.trace import run_trace

LENGTHS = (16, 64, 256, 1024)
OWN, TRANSFORMERS, LENS = "own trace", "transformers", "TransformerLens"
SHAPE = LlamaConfig(
    n_layers=30,
    n_heads=9,
    n_kv_heads=3,
    d_model=576,
    d_head=64,
    n_ctx=2048,
    d_vocab=49_152,
    d_mlp=1536,
    norm_epsilon=1e-5,
    positions=Rotary(100_000.0),
    tied=True,
)


def hugging_face(network: Llama) -> Any:
    """`transformers.LlamaForCausalLM` on the same memory, keeping weights and hidden states."""
    import transformers

    transformers.logging.set_verbosity_error()
    config = transformers.LlamaConfig(**SHAPE.to_hugging_face())
    config._attn_implementation = "eager"
    theirs = transformers.LlamaForCausalLM(config)
    published = family_of("llama").published
    named = {published(name): tensor for name, tensor in network.state_dict().items()}
    theirs.load_state_dict(named | {"lm_head.weight": network.unembed}, assign=True)
    return theirs.eval().requires_grad_(False)


def contestants() -> dict[str, Callable[[list[int]], Any]]:
    """The three, by their names in the report."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformer_lens.model_bridge.sources._bridge_builder import build_bridge_from_module

    network = Llama(SHAPE).init_weights(0).eval().requires_grad_(False)
    theirs = hugging_face(network)
    bridged = hugging_face(network)
    bridge = build_bridge_from_module(bridged, "LlamaForCausalLM", hf_config=bridged.config, model_name="llama")
    if not network.pack():
        raise SystemExit("This PyTorch cannot pack weights for oneDNN: the bench measures nothing without that.")

    def own(ids: list[int]) -> Any:
        trace = run_trace(network, ids)
        return trace, trace.logits(len(ids) - 1)

    def transformers(ids: list[int]) -> Any:
        options = {"output_attentions": True, "output_hidden_states": True, "use_cache": False}
        with torch.inference_mode():
            return theirs(torch.tensor([ids]), logits_to_keep=1, **options)

    def lens(ids: list[int]) -> Any:
        with torch.inference_mode():
            return bridge.run_with_cache(torch.tensor([ids]), logits_to_keep=1)

    return {OWN: own, TRANSFORMERS: transformers, LENS: lens}


def measure(lengths: list[int], runs: int) -> dict[str, Any]:
    """Milliseconds by length and contestant, and how the own trace compares."""
    ready, found = contestants(), {}
    generator = torch.Generator().manual_seed(1)
    for length in lengths:
        ids = torch.randint(0, SHAPE.d_vocab, (length,), generator=generator).tolist()
        ms = medians(alternated({name: partial(run, ids) for name, run in ready.items()}, runs))
        found[str(length)] = {
            "vs_transformers": round(ms[OWN] / ms[TRANSFORMERS], 3),
            "vs_transformer_lens": round(ms[OWN] / ms[LENS], 3),
            "ms": {name: round(value, 1) for name, value in ms.items()},
        }
        print(f"  SmolLM2's shape, {length:5} tokens: {found[str(length)]}", flush=True)
    return found


def main() -> None:
    """Measure, print, write."""
    parser = parser_of(__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    options = parser.parse_args()
    write(options.out, {"llama": measure(options.lengths, options.runs)})


if __name__ == "__main__":
    main()
