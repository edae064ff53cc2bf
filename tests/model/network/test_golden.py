"""Our network and our traces against `transformers.GPT2LMHeadModel` on the same weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from model.files.checkpoint import EMBEDDED_FOLDER, load_model
from model.network.gpt2 import GPT2
from model.trace.trace import Trace, run_trace
from tests.models import hugging_face_model, make_config, random_network

TOLERANCE = 1e-5  # for values up to 10, whose own spacing in fp32 is 1e-6; in proportion for larger ones

# What is changed in the config, and how many tokens are read.
CASES: dict[str, tuple[dict[str, Any], int]] = {
    "one layer, one head": ({"n_layers": 1, "n_heads": 1, "d_model": 7, "d_mlp": 28}, 9),
    "three layers, four heads": ({"n_layers": 3, "n_heads": 4, "d_model": 52, "d_mlp": 208}, 20),
    "three heads of ten, own MLP size": ({}, 20),
    "own output embedding": ({"tied": False}, 11),
    "scale by layer": ({"n_layers": 3, "scale_attn_by_inverse_layer_idx": True}, 11),
    "no scale": ({"scale_attn_weights": False}, 11),
    "exact GELU": ({"tanh_gelu": False}, 11),
    "another epsilon": ({"norm_epsilon": 0.01}, 11),
    "one token": ({}, 1),
    "the whole context": ({"n_layers": 3}, 32),
}


@dataclass(frozen=True)
class Pair:
    """One text through both: our network and trace, and what `transformers` returned by each kind of attention."""

    network: GPT2
    trace: Trace
    eager: Any
    sdpa: Any
    last_resid: np.ndarray  # what the reference's last layer leaves, before ln_f


def _run(network: GPT2, ids: tuple[int, ...], eager: Any, sdpa: Any) -> Pair:
    last = []
    eager.transformer.h[-1].register_forward_hook(lambda module, args, out: last.append(out))
    with torch.no_grad():
        batch = torch.tensor([ids])
        by_eager = eager(batch, output_attentions=True, output_hidden_states=True)
        by_sdpa = sdpa(batch, output_hidden_states=True)
    resid = last[0][0] if isinstance(last[0], tuple) else last[0]
    return Pair(network, run_trace(network, ids), by_eager, by_sdpa, resid[0].numpy())


@pytest.fixture(scope="module", params=[*CASES, "embedded"])
def pair(request: pytest.FixtureRequest) -> Pair:
    if request.param == "embedded":
        import transformers

        model = load_model()
        ids = model.tokenizer.encode("A robot must obey the orders given it by human beings, unless it cannot.\n")
        eager, sdpa = (
            transformers.GPT2LMHeadModel.from_pretrained(
                EMBEDDED_FOLDER, attn_implementation=kind, dtype=torch.float32, local_files_only=True
            ).eval()
            for kind in ("eager", "sdpa")
        )
        return _run(model.network, ids, eager, sdpa)
    changes, n_pos = CASES[request.param]
    network = random_network(make_config(**changes), seed=len(request.param))
    ids = tuple(torch.randint(0, network.config.d_vocab, (n_pos,), generator=torch.manual_seed(n_pos)).tolist())
    return _run(network, ids, hugging_face_model(network, "eager"), hugging_face_model(network, "sdpa"))


def _close(ours: np.ndarray, theirs: np.ndarray | torch.Tensor, what: str) -> None:
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape, what
    difference, largest = float(np.abs(ours - theirs).max()), float(np.abs(theirs).max())
    assert difference <= TOLERANCE * max(1.0, largest / 10), f"{what}: {difference:.2e} apart, up to {largest:.2f}"


def test_logits(pair):
    ours = np.stack([pair.trace.logits(pos) for pos in range(pair.trace.n_pos)])
    _close(ours, pair.eager.logits[0], "logits, eager")
    _close(ours, pair.sdpa.logits[0], "logits, sdpa")


def test_every_attention_weight(pair):
    config = pair.network.config
    assert len(pair.eager.attentions) == config.n_layers
    for layer, theirs in enumerate(pair.eager.attentions):
        ours = np.stack([pair.trace.pattern(layer, head) for head in range(config.n_heads)])
        _close(ours, theirs[0], f"pattern of layer {layer}")


def test_every_hidden_state(pair):
    n_layers = pair.network.config.n_layers
    for kind, out in (("eager", pair.eager), ("sdpa", pair.sdpa)):
        assert len(out.hidden_states) == n_layers + 1
        for layer in range(n_layers):
            _close(pair.trace.resid_pre[layer], out.hidden_states[layer][0], f"resid_pre of layer {layer}, {kind}")
        normed = pair.network.ln_f(torch.tensor(pair.trace.resid_post[-1])).numpy()
        _close(normed, out.hidden_states[-1][0], f"ln_f, {kind}")
    _close(pair.trace.resid_post[-1], pair.last_resid, "resid_post of the last layer")


def test_the_weights_are_no_trifle(pair):
    """The comparisons above say something: values well above the tolerance, and heads that choose."""
    if pair.trace.n_pos > 1:
        last_rows = np.stack([pair.trace.pattern(0, head)[-1] for head in range(pair.network.config.n_heads)])
        assert np.ptp(last_rows, axis=1).min() > 1e-4
    assert np.abs(pair.trace.logits(0)).max() > 0.05
