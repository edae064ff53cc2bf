"""A checkpoint of a given shape with random weights, as quick to write as the disk is."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors.torch import save_file

from model.network.config import GPT2Config
from model.network.gpt2 import GPT2

GPT2_SMALL = GPT2Config(n_layers=12, n_heads=12, d_model=768, n_ctx=1024, d_vocab=50257, d_mlp=3072)


def write_random_model(folder: Path, config: GPT2Config) -> Path:
    """Write it; without a vocabulary of its own, so one of 50,257 rows gets GPT-2's."""
    network = GPT2(config).init_weights(seed=0)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config.to_hugging_face()), "utf-8")
    save_file(network.state_dict(), folder / "model.safetensors")
    return folder
