"""A block step by step: each step's numbers are those of the network's own pass, and each check would notice."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from model.errors import SelectionError
from model.network import attention
from model.network.gpt2 import GPT2
from model.steps.block import Addition, Check, block_steps, steps_of, sum_table
from model.trace.trace import Trace, run_trace
from tests.models import make_config, random_network

IDS = (5, 17, 260, 5, 17, 260, 99, 0, 263, 5)
SHAPES = {
    "three heads": {},
    "one head": {"n_heads": 1},
    "d_head 1": {"n_heads": 30},
    "untied": {"tied": False},
    "exact GELU": {"tanh_gelu": False},
    "scaled by layer": {"scale_attn_by_inverse_layer_idx": True},
    "unscaled": {"scale_attn_weights": False},
    "narrow MLP": {"d_mlp": 7},
}


def passed(network: GPT2, ids: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Every activation of one pass with the weights written out, by its name."""
    seen: dict[str, torch.Tensor] = {}
    with torch.inference_mode():
        network(torch.tensor(ids), tap=lambda name, tensor: seen.setdefault(name, tensor), eager=True)
    return {name: tensor.numpy() for name, tensor in seen.items()}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layer", [0, 1])
def test_every_step_holds_the_networks_own_numbers_and_its_check(shape: str, layer: int) -> None:
    network = random_network(make_config(**SHAPES[shape]))
    trace, own = run_trace(network, IDS), passed(network, IDS)
    for pos in (0, 4, len(IDS) - 1):
        steps = block_steps(trace, layer, pos)
        assert tuple(steps.checks) == steps_of(network)
        assert all(check.holds for check in steps.checks.values()), steps.checks
        assert max(check.difference for check in steps.checks.values()) < 1e-4
        pairs = {
            "resid_pre": steps.input.out,
            "ln_1": steps.ln_1.out,
            "attn_out": steps.attn_out.out,
            "resid_mid": steps.resid_mid.out,
            "ln_2": steps.ln_2.out,
            "mlp_pre": steps.mlp_pre.out,
            "mlp_post": steps.mlp_post,
            "mlp_out": steps.mlp_out.out,
            "resid_post": steps.resid_post.out,
        }
        for name, ours in pairs.items():
            np.testing.assert_allclose(ours, own[f"h.{layer}.{name}"][pos], atol=2e-5, err_msg=name)
        np.testing.assert_allclose(steps.q, own[f"h.{layer}.q"][:, pos], atol=2e-5)
        np.testing.assert_allclose(steps.k, own[f"h.{layer}.k"][:, : pos + 1], atol=2e-5)
        np.testing.assert_allclose(steps.v, own[f"h.{layer}.v"][:, : pos + 1], atol=2e-5)
        np.testing.assert_allclose(steps.scores, own[f"h.{layer}.attn_scores"][:, pos, : pos + 1], atol=2e-5)
        np.testing.assert_allclose(steps.pattern, own[f"h.{layer}.pattern"][:, pos, : pos + 1], atol=2e-5)
        np.testing.assert_allclose(steps.z, own[f"h.{layer}.z"][:, pos], atol=2e-5)


def test_the_input_is_token_plus_position_or_comes_from_below(trace: Trace) -> None:
    first = block_steps(trace, 0, 3).input
    np.testing.assert_array_equal(first.first, trace.embed[3])
    np.testing.assert_array_equal(first.second, trace.pos_embed[3])
    second = block_steps(trace, 1, 3).input
    np.testing.assert_array_equal(second.first, trace.resid_mid[0, 3])
    np.testing.assert_allclose(second.second, trace.mlp_out(0)[3], atol=1e-6)


def test_the_parts_add_up(trace: Trace) -> None:
    steps = block_steps(trace, 1, 9)
    for projection in (*steps.qkv, steps.attn_out, steps.mlp_pre, steps.mlp_out):
        np.testing.assert_allclose(projection.x @ projection.weight, projection.product, atol=1e-5)
        np.testing.assert_allclose(projection.product + projection.bias, projection.out, atol=1e-5)
    for norm in (steps.ln_1, steps.ln_2):
        assert abs(norm.normalised.mean()) < 1e-12
        np.testing.assert_allclose((norm.x - norm.x.mean()) / norm.x.std(), norm.normalised, atol=1e-3)
    np.testing.assert_array_equal(steps.merged, np.concatenate(list(steps.z)))
    for part, own in zip(steps.qkv, (steps.q, steps.k[:, 9], steps.v[:, 9]), strict=True):
        np.testing.assert_array_equal(part.out, own.reshape(-1))
    np.testing.assert_array_equal(steps.attn_out.x, steps.merged)


@pytest.mark.parametrize("step", ["qkv", "sum", "resid_mid", "resid_post"])
def test_a_check_notices_a_wrong_number_in_the_trace(network: GPT2, step: str) -> None:
    trace = run_trace(network, IDS)
    store = trace._store
    {"qkv": store.q, "sum": store.z, "resid_mid": store.resid_mid, "resid_post": store.resid}[step][-1] += 0.01
    assert not block_steps(trace, 1, 4).checks[step].holds


@pytest.mark.parametrize("step", ["ln_1", "ln_2", "attn_out", "mlp_pre", "mlp_out"])
def test_a_check_notices_a_wrong_result(trace: Trace, step: str) -> None:
    part = getattr(block_steps(trace, 1, 4), step)
    assert part.check.holds
    assert not dataclasses.replace(part, out=part.out + 0.01).check.holds


@pytest.mark.parametrize("tanh", [True, False])
def test_the_gelu_notices_its_other_form(tanh: bool) -> None:
    """The two forms differ by up to 5e-4, more than rounding does."""
    network = random_network(make_config(tanh_gelu=tanh))
    for block in network.h:
        block.mlp.approximate = "none" if tanh else "tanh"
    checks = block_steps(run_trace(network, IDS), 1, 4).checks
    assert not checks["mlp_post"].holds
    assert checks["mlp_pre"].holds


def test_another_order_of_heads_is_noticed(network: GPT2, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = run_trace(network, IDS)
    assert block_steps(trace, 1, 4).checks["split"].difference == 0  # nothing is computed
    trace._store.q[1] = trace._store.q[1].flip(0)
    assert not block_steps(trace, 1, 4).checks["qkv"].holds
    split = attention.split_heads
    monkeypatch.setattr(attention, "split_heads", lambda x, n_heads: split(x, n_heads).flip(-3))
    assert not block_steps(trace, 1, 4).checks["split"].holds


def test_what_a_check_tolerates() -> None:
    assert Check(1e-5, 0.1).holds
    assert not Check(1e-3, 0.1).holds
    assert Check(1e-3, 3000.0).holds
    assert not Check(float("nan"), 1.0).holds
    addition = Addition(*(np.array([1.0, 2.0], np.float32),) * 2, np.array([2.0, 4.5], np.float32))
    assert addition.check == Check(0.5, 4.5)


@pytest.mark.parametrize("most", [1, 3, 7, 50])
def test_the_table_adds_up_to_z(trace: Trace, most: int) -> None:
    steps = block_steps(trace, 1, 6)
    for head in range(3):
        table = sum_table(steps, head, most=most)
        assert len(table.keys) == min(most, 7)
        assert len(table.keys) + table.n_rest == 7
        assert (np.diff(table.keys) > 0).all()
        np.testing.assert_allclose(table.weighted.sum(axis=0) + table.rest, table.total, atol=1e-6)
        np.testing.assert_allclose(table.total, trace.z[1, head, 6], atol=1e-6)
        np.testing.assert_allclose(table.weights.sum() + table.rest_weight, 1, atol=1e-6)
        np.testing.assert_array_equal(table.values, trace.v[1, head, table.keys])
        np.testing.assert_array_equal(table.k, trace.k[1, head, table.keys])
        left_out = np.delete(steps.pattern[head], table.keys)
        assert not left_out.size or left_out.max() <= table.weights.min()


def test_one_token_and_the_full_context(network: GPT2) -> None:
    for ids in ((7,), tuple(range(32))):
        trace = run_trace(network, ids)
        steps = block_steps(trace, 1, len(ids) - 1)
        assert steps.pattern.shape == (3, len(ids))
        assert all(check.holds for check in steps.checks.values())


@pytest.mark.parametrize(("layer", "pos"), [(-1, 0), (2, 0), (0, -1), (0, 10)])
def test_a_place_that_is_not_there_is_told(trace: Trace, layer: int, pos: int) -> None:
    with pytest.raises(SelectionError, match="layers 0 to 1" if layer in (-1, 2) else "positions 0 to 9"):
        block_steps(trace, layer, pos)
