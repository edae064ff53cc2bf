"""A logit taken apart: the parts add up to the model's own logit, and each is what a detour by hand gives."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.changes.interventions import Changes, Off
from model.errors import SelectionError
from model.logits.direct import average_row, direct_logits
from model.trace.trace import run_trace
from tests.model.conftest import IDS
from tests.models import make_config, random_network

NETWORKS = {
    "tied": random_network(),
    "one head, untied": random_network(make_config(n_heads=1, tied=False), seed=1),
    "one layer": random_network(make_config(n_layers=1), seed=2),
}
TRACES = {name: run_trace(network, IDS) for name, network in NETWORKS.items()}


@pytest.mark.parametrize("name", TRACES)
@given(pos=st.integers(0, len(IDS) - 1), data=st.data())
@settings(max_examples=15)
def test_the_parts_add_up_to_the_models_logit(name, pos, data):
    trace = TRACES[name]
    ids = data.draw(st.lists(st.integers(0, trace.network.config.d_vocab - 1), min_size=1, max_size=4))
    parts = direct_logits(trace, pos, ids)
    np.testing.assert_array_equal(parts.logits, trace.logits(pos)[ids])
    np.testing.assert_allclose(parts.total, parts.logits, atol=1e-5)
    assert parts.difference == np.abs(parts.total - parts.logits).max()
    less = direct_logits(trace, pos, ids, less_average=True)
    own = trace.logits(pos).astype(np.float64)
    np.testing.assert_allclose(less.total, own[ids] - own.mean(), atol=1e-5)
    np.testing.assert_allclose(less.logits, own[ids] - own.mean(), atol=1e-9)


@pytest.mark.parametrize("name", TRACES)
def test_each_part_is_what_the_final_layer_norm_makes_of_it(name):
    trace, network = TRACES[name], NETWORKS[name]
    config, pos, token = network.config, 6, 17
    resid = trace.resid_post[-1, pos].astype(np.float64)
    scale = 1 / np.sqrt(resid.var() + network.ln_f.eps)
    row = (network.lm_head or network.wte).weight[token].double().numpy()
    weight = network.ln_f.weight.double().numpy()

    def by_hand(part: np.ndarray) -> float:
        return float(row @ (weight * (part - part.mean()) * scale))

    parts = direct_logits(trace, pos, [token])
    for layer in range(config.n_layers):
        for head in range(config.n_heads):
            expected = by_hand(trace.result(layer, head)[pos].astype(np.float64))
            assert parts.heads[layer, head, 0] == pytest.approx(expected, abs=1e-5)
        assert parts.mlps[layer, 0] == pytest.approx(by_hand(trace.mlp_out(layer)[pos]), abs=1e-5)
        assert parts.attn_bias[layer, 0] == pytest.approx(by_hand(network.h[layer].attn.c_proj.bias.numpy()), abs=1e-5)
    assert parts.embed[0] == pytest.approx(by_hand(trace.embed[pos]), abs=1e-5)
    assert parts.pos_embed[0] == pytest.approx(by_hand(trace.pos_embed[pos]), abs=1e-5)
    assert parts.unembed_bias[0] == pytest.approx(float(row @ network.ln_f.bias.double().numpy()))


def test_a_head_that_is_off_adds_nothing():
    trace = run_trace(NETWORKS["tied"], IDS, changes=Changes((Off(1, 2, "zero"),)))
    parts = direct_logits(trace, 4, [3, 5])
    assert not parts.heads[1, 2].any()
    np.testing.assert_allclose(parts.total, trace.logits(4)[[3, 5]], atol=1e-5)


def test_what_raises_all_logits_alike_counts_nothing_less_the_average():
    network = random_network(make_config(tied=False), seed=4)
    with torch.no_grad():
        network.lm_head.weight += 3.0
    trace = run_trace(network, IDS)
    raised = direct_logits(trace, 5, [9], less_average=True)
    with torch.no_grad():
        network.lm_head.weight -= 3.0
    plain = direct_logits(run_trace(network, IDS), 5, [9], less_average=True)
    np.testing.assert_allclose(raised.heads, plain.heads, atol=1e-5)


def test_the_average_tokens_row_is_read_once_for_as_long_as_the_weights_stay():
    network = random_network(make_config(tied=False), seed=5)
    average = average_row(network)
    np.testing.assert_allclose(average, network.lm_head.weight.double().mean(dim=0))
    direct_logits(run_trace(network, IDS), 5, [9], less_average=True)
    assert average_row(network) is average
    with torch.no_grad():
        network.lm_head.weight += 1.0
    np.testing.assert_allclose(average_row(network), average + 1.0, atol=1e-6)
    network.load_state_dict(random_network(make_config(tied=False), seed=6).state_dict(), assign=True)
    np.testing.assert_allclose(average_row(network), network.lm_head.weight.double().mean(dim=0))


@pytest.mark.parametrize("ids", [[], [-1], [271], [3, 999]])
def test_tokens_that_are_not_there(ids):
    with pytest.raises(SelectionError, match="0 to 270"):
        direct_logits(TRACES["tied"], 0, ids)


@pytest.mark.parametrize("pos", [-1, 10])
def test_a_position_that_is_not_there(pos):
    with pytest.raises(SelectionError, match="0 to 9"):
        direct_logits(TRACES["tied"], pos, [1])


def test_the_last_row_of_the_lens_is_the_models_output_with_one_layer_norm():
    for name, trace in TRACES.items():
        network = NETWORKS[name]
        for pos in (0, len(IDS) - 1):
            resid = torch.tensor(trace.resid_post[-1, pos])
            normed = torch.nn.functional.layer_norm(
                resid, resid.shape, network.ln_f.weight, network.ln_f.bias, network.ln_f.eps
            )
            expected = (normed @ (network.lm_head or network.wte).weight.T).numpy()
            lens = trace.lens(pos)
            np.testing.assert_allclose(lens[-1], expected, atol=1e-5)
            np.testing.assert_allclose(lens[-1], trace.logits(pos), atol=1e-5)
            np.testing.assert_array_equal(lens[-1].argmax(), trace.logits(pos).argmax())
