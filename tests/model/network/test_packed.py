"""Packed weights give the numbers of plain ones, and are left alone wherever they must not be used."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from model.network import packed
from model.network.gpt2 import GPT2
from model.trace.trace import run_trace
from tests.model.conftest import IDS
from tests.models import make_config, random_network

needs_packing = pytest.mark.skipif(not packed.can_pack(torch.ones(2, 2)), reason="this PyTorch cannot pack")


@pytest.fixture
def packed_network(network: GPT2) -> GPT2:
    """The network of the other tests with packed weights, or plain ones where they cannot be packed."""
    same = random_network()
    same.pack()
    return same


@pytest.fixture
def calls(monkeypatch) -> list[int]:
    """The rows of each product that went through a packed weight."""
    rows, call = [], packed.PackedLinear.__call__

    def counted(self, x):
        rows.append(x.numel() // x.shape[-1])
        return call(self, x)

    monkeypatch.setattr(packed.PackedLinear, "__call__", counted)
    return rows


# --- one projection ------------------------------------------------------------------------------------------------


@needs_packing
@given(n_rows=st.integers(1, 9), d_in=st.integers(1, 40), d_out=st.integers(1, 40), with_bias=st.booleans())
@settings(max_examples=30)
def test_a_packed_product_is_the_plain_one(n_rows, d_in, d_out, with_bias):
    generator = torch.Generator().manual_seed(d_in * 41 + d_out)
    weight, x = torch.randn(d_out, d_in, generator=generator), torch.randn(n_rows, d_in, generator=generator)
    bias = torch.randn(d_out, generator=generator) if with_bias else None
    linear = packed.PackedLinear(weight, bias, weight)
    assert linear.serves(x, weight, bias)
    torch.testing.assert_close(linear(x), F.linear(x, weight, bias), atol=1e-5, rtol=0)


@needs_packing
@pytest.mark.parametrize("shape", [(12,), (1, 12), (5, 12), (2, 3, 12), (2, 1, 1, 12)])
def test_any_leading_axes_go_through(shape):
    weight, x = torch.randn(7, 12), torch.randn(shape)
    torch.testing.assert_close(packed.PackedLinear(weight, None, weight)(x), F.linear(x, weight), atol=1e-5, rtol=0)


@needs_packing
def test_a_view_that_is_not_contiguous_goes_through():
    weight, x = torch.randn(7, 12), torch.randn(12, 5).t()
    torch.testing.assert_close(packed.PackedLinear(weight, None, weight)(x), F.linear(x, weight), atol=1e-5, rtol=0)


@needs_packing
def test_what_is_not_served():
    weight, x = torch.randn(7, 12), torch.randn(3, 12)
    linear = packed.PackedLinear(weight, None, weight)
    assert linear.serves(x, weight)
    assert not linear.serves(x, weight.clone())
    assert not linear.serves(x, weight, torch.zeros(7))
    assert not linear.serves(x.double(), weight)
    assert not linear.serves(x[:0], weight)
    assert not linear.serves(x.clone().requires_grad_(), weight)
    with torch.autocast("cpu", torch.bfloat16):
        assert not linear.serves(x, weight)
    weight += 1
    assert not linear.serves(x, weight)


# --- a network ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, {"tied": False}, {"n_heads": 1, "d_model": 7, "d_mlp": 11, "d_vocab": 13}])
@pytest.mark.parametrize("n_tokens", [1, 3, 10])
@pytest.mark.parametrize("eager", [False, True])
def test_a_packed_network_gives_the_numbers_of_a_plain_one(changes, n_tokens, eager):
    plain, other = (random_network(make_config(**changes)) for _ in range(2))
    other.pack()
    ids = torch.tensor([i % plain.config.d_vocab for i in IDS[:n_tokens]])
    with torch.inference_mode():
        seen: list[dict[str, torch.Tensor]] = [{}, {}]
        for network, kept in zip((plain, other), seen, strict=True):
            kept["out"] = network(ids, tap=lambda name, x, kept=kept: kept.setdefault(name, x), eager=eager)
            kept["logits"] = network.logits(kept["out"])
    assert seen[0].keys() == seen[1].keys()
    for name, tensor in seen[0].items():
        torch.testing.assert_close(seen[1][name], tensor, atol=1e-5, rtol=1e-5, msg=name)


@needs_packing
def test_every_projection_goes_through_the_packed_weights(packed_network, calls):
    trace = run_trace(packed_network, IDS)
    assert calls == [len(IDS)] * 4 * 2  # four projections in each of two layers
    trace.logits(3)
    assert calls[-1] == 1


def test_traces_of_packed_and_plain_networks_are_equal_and_extend_alike(network, packed_network):
    plain, other = run_trace(network, IDS), run_trace(packed_network, IDS[:6])
    other = run_trace(packed_network, IDS, prefix=other)
    for name in ("resid_mid", "resid_post", "q", "k", "v", "z"):
        np.testing.assert_allclose(getattr(other, name), getattr(plain, name), atol=1e-5, rtol=1e-5, err_msg=name)
    np.testing.assert_allclose(other.logits(9), plain.logits(9), atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(other.mlp_out(1), plain.mlp_out(1), atol=1e-5, rtol=1e-5)


@needs_packing
def test_what_the_tap_puts_in_place_is_used(packed_network):
    with torch.inference_mode():
        zero = packed_network(torch.tensor(IDS), tap=lambda name, x: x * 0 if name.endswith("mlp_post") else x)
        other = packed_network(torch.tensor(IDS))
    assert (zero - other).abs().max() > 0.1


@needs_packing
def test_training_never_reads_packed_weights(packed_network, calls):
    trained = packed_network.requires_grad_(True)
    resid = trained(torch.tensor(IDS))
    trained.logits(resid).sum().backward()
    assert calls == []
    assert all(parameter.grad is not None for parameter in trained.parameters())


@needs_packing
def test_a_gradient_of_what_a_layer_computed_is_the_plain_one(network, packed_network):
    grads = []
    for one in (network, packed_network):
        start = torch.ones(30, requires_grad=True)
        resid = one(torch.tensor(IDS), tap=lambda name, x, start=start: x + start if name == "embed" else x)
        one.logits(resid).sum().backward()
        grads.append(start.grad)
    torch.testing.assert_close(grads[0], grads[1])


@needs_packing
def test_a_network_that_is_trained_is_not_packed():
    network = random_network().requires_grad_(True)
    assert not network.pack()
    assert network.h[0].attn.c_attn.packed is None


@needs_packing
def test_changed_weights_are_read_anew(packed_network):
    before = run_trace(packed_network, IDS).logits(9)
    with torch.no_grad():
        packed_network.h[1].mlp.c_fc.weight *= 2
        packed_network.wte.weight[3] += 1
    plain = GPT2(packed_network.config)
    plain.load_state_dict(packed_network.state_dict(), assign=True)
    after = run_trace(packed_network, IDS).logits(9)
    np.testing.assert_allclose(after, run_trace(plain.requires_grad_(False), IDS).logits(9), atol=1e-5, rtol=1e-5)
    assert np.abs(after - before).max() > 0.1


def test_packing_changes_no_parameter(network, packed_network):
    ours, theirs = network.state_dict(), packed_network.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_copy_of_a_packed_network_works(packed_network):
    same = copy.deepcopy(packed_network)
    np.testing.assert_allclose(run_trace(same, IDS).z, run_trace(packed_network, IDS).z, atol=1e-5, rtol=1e-5)


def test_packable_bytes_are_those_of_the_projections_and_of_the_unembedding():
    config = make_config()
    projections = 2 * 30 * (3 * 30 + 30 + 70 + 70)
    assert GPT2(config).packable_bytes == 4 * (projections + config.d_vocab * 30)
    assert GPT2(make_config(tied=False)).packable_bytes == GPT2(config).packable_bytes


# --- where PyTorch cannot -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["_reorder_linear_weight", "_linear_pointwise"])
def test_without_the_private_names_weights_stay_plain(monkeypatch, name):
    class Without:
        def __getattr__(self, asked):
            if asked == name:
                raise AttributeError(asked)
            return object()

    monkeypatch.setattr(torch.ops, "mkldnn", Without())
    network = random_network()
    assert not network.pack()
    assert network.h[0].mlp.c_fc.packed is None
    assert run_trace(network, IDS).n_pos == len(IDS)


@pytest.mark.parametrize("kind", [{"dtype": torch.float64}, {"dtype": torch.float16}, {"device": "meta"}])
def test_what_cannot_be_packed(kind):
    assert not packed.can_pack(torch.empty(2, 2, **kind))


# --- the setting ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "free", "expected"),
    [
        (None, 400, True),
        ("auto", 399, False),
        ("auto", None, False),
        ("on", 1, True),
        ("ON ", None, True),
        ("off", 10**6, False),
        ("what", 400, True),
    ],
)
def test_the_setting_and_the_free_memory_decide(monkeypatch, setting, free, expected):
    monkeypatch.delenv(packed.VARIABLE, raising=False)
    if setting is not None:
        monkeypatch.setenv(packed.VARIABLE, setting)
    monkeypatch.setattr(packed, "free_memory", lambda: free)
    assert packed.wanted(100) is expected


def test_free_memory_is_the_machines_or_the_containers(monkeypatch, tmp_path):
    monkeypatch.setattr(packed, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(packed, "_CGROUP", tmp_path)
    assert packed.free_memory() is None
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    1000 kB\n")
    assert packed.free_memory() == 1_024_000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("5000\n")
    assert packed.free_memory() == 1_024_000
    (tmp_path / "memory.max").write_text("9000\n")
    assert packed.free_memory() == 4000
    (tmp_path / "memory.current").write_text("9500\n")
    assert packed.free_memory() == 0
