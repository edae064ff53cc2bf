"""Switched-off heads and cut links: what is derived is what the changed pass computed; the network stays as it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.changes.interventions import NO_CHANGES, Changes, Link, Off
from model.errors import SelectionError
from model.network.gpt2 import GPT2
from model.trace.cache import TraceCache
from model.trace.trace import Trace, run_trace
from tests.model.conftest import IDS
from tests.models import make_config, random_network, weights_of

N = len(IDS)
HEADS = st.integers(0, 1), st.integers(0, 2)
CHANGES = st.tuples(
    st.lists(st.tuples(*HEADS, st.sampled_from(["zero", "mean"])), max_size=4),
    st.lists(st.tuples(*HEADS, st.integers(0, N - 1), st.integers(0, N - 1)), max_size=8),
    st.booleans(),
)


@pytest.fixture(scope="session")
def plain(trace: Trace) -> Trace:
    """The unchanged pass."""
    return trace


def made(drawn: tuple) -> Changes:
    """Changes out of what hypothesis has drawn; a query comes no earlier than its key."""
    off, links, renormalise = drawn
    cuts = [Link(layer, head, max(pair), min(pair)) for layer, head, *pair in links]
    return Changes(tuple(Off(*one) for one in off), tuple(cuts), renormalise)


def eager(network: GPT2, changes: Changes) -> dict[str, torch.Tensor]:
    """What a pass that holds every weight leaves, changed there: weights before z is made of them, z after."""
    seen: dict[str, torch.Tensor] = {}

    def tap(name: str, tensor: torch.Tensor) -> torch.Tensor:
        _, layer, kind = name.split(".") if name.startswith("h.") else ("", "-1", name)
        tensor = tensor.clone()
        if kind == "pattern":
            for cut in (cut for cut in changes.cuts if cut.layer == int(layer)):
                tensor[cut.head, cut.query, cut.key] = 0.0
            if changes.renormalise:
                rows = tensor.sum(dim=-1, keepdim=True)
                tensor = torch.where(rows > 0, tensor / rows, tensor)
        if kind == "z":
            for off in (off for off in changes.off if off.layer == int(layer)):
                tensor[off.head] = 0.0 if off.way == "zero" else tensor[off.head].mean(dim=0)
        seen[name] = tensor
        return tensor

    seen["end"] = network(torch.tensor(IDS), tap=tap, eager=True)
    return seen


@settings(max_examples=15)
@given(CHANGES)
def test_a_changed_trace_is_what_an_eager_pass_with_these_changes_computes(network, drawn):
    changes = made(drawn)
    trace, seen = run_trace(network, IDS, changes=changes), eager(network, changes)

    def close(ours: np.ndarray, name: str, *at: int) -> None:
        np.testing.assert_allclose(ours, seen[name][at].numpy(), atol=2e-5, rtol=0, err_msg=f"{name} {at}")

    for layer in range(2):
        for kind in ("resid_pre", "resid_mid", "resid_post", "q", "k", "v", "z"):
            close(getattr(trace, kind)[layer], f"h.{layer}.{kind}")
        for kind in ("attn_out", "mlp_pre", "mlp_post", "mlp_out"):
            close(getattr(trace, kind)(layer), f"h.{layer}.{kind}")
        results = 0
        for head in range(3):
            close(trace.pattern(layer, head), f"h.{layer}.pattern", head)
            close(trace.masked_scores(layer, head), f"h.{layer}.attn_scores", head)
            results = results + trace.result(layer, head)
            if changes.way_of(layer, head) is None:
                values = trace.weighted_values(layer, head, N - 1)
                np.testing.assert_allclose(values.sum(axis=0), trace.z[layer, head, N - 1], atol=1e-5)
        bias = network.h[layer].attn.c_proj.bias.numpy()
        np.testing.assert_allclose(results + bias, trace.attn_out(layer), atol=1e-5)
    close(trace.resid_post[-1], "end")
    np.testing.assert_allclose(trace.logits(N - 1), network.logits(seen["end"][-1]).numpy(), atol=5e-5)


def test_no_change_changes_nothing_at_all(network, plain):
    trace = run_trace(network, IDS, changes=Changes(renormalise=True))
    for name in ("resid_pre", "resid_post", "q", "k", "v", "z"):
        assert np.array_equal(getattr(trace, name), getattr(plain, name))
    assert np.array_equal(trace.pattern(1, 2), plain.pattern(1, 2))
    assert np.array_equal(trace.logits(3), plain.logits(3))


def test_a_head_off_by_zero_is_a_head_whose_output_rows_are_zero(network, plain):
    trace = run_trace(network, IDS, changes=Changes((Off(0, 1, "zero"),)))
    assert not trace.z[0, 1].any()
    assert not trace.result(0, 1).any()
    assert np.array_equal(trace.z[0, [0, 2]], plain.z[0, [0, 2]])
    assert np.array_equal(trace.pattern(0, 1), plain.pattern(0, 1))  # it still reads
    cut = random_network()
    with torch.no_grad():
        cut.h[0].attn.c_proj.weight[10:20] = 0.0
    other = run_trace(cut, IDS)
    np.testing.assert_allclose(trace.resid_post, other.resid_post, atol=1e-5)
    assert np.abs(trace.pattern(1, 0) - plain.pattern(1, 0)).max() > 1e-3  # later layers see it


def test_a_head_off_by_mean_tells_no_position_from_another(network, plain):
    trace = run_trace(network, IDS, changes=Changes((Off(1, 0, "mean"),)))
    expected = np.broadcast_to(plain.z[1, 0].mean(axis=0), (N, 10))
    np.testing.assert_allclose(trace.z[1, 0], expected, atol=1e-6)


@pytest.mark.parametrize("renormalise", [False, True])
def test_a_cut_link_leaves_its_own_row_of_its_own_head_and_what_comes_after(network, plain, renormalise):
    trace = run_trace(network, IDS, changes=Changes(cuts=(Link(0, 2, 6, 3),), renormalise=renormalise))
    before, after = plain.pattern(0, 2), trace.pattern(0, 2)
    rest = np.arange(N) != 3
    lost = 1 - before[6, 3]
    assert after[6, 3] == 0.0
    np.testing.assert_allclose(after[6, rest], before[6, rest] / (lost if renormalise else 1.0), atol=1e-6)
    np.testing.assert_allclose(after[6].sum(), 1.0 if renormalise else lost, atol=1e-6)
    others = np.arange(N) != 6
    assert np.array_equal(after[others], before[others])
    assert np.array_equal(trace.resid_post[:, :6], plain.resid_post[:, :6])  # no earlier position hears of it
    assert np.abs(trace.resid_post[1, 6:] - plain.resid_post[1, 6:]).max(axis=-1).min() > 1e-5


@pytest.mark.parametrize("renormalise", [False, True])
def test_a_row_that_lost_every_key_is_empty(network, renormalise):
    links = tuple(Link(1, 1, 2, key) for key in range(3))
    trace = run_trace(network, IDS, changes=Changes(cuts=links, renormalise=renormalise))
    assert not trace.pattern(1, 1)[2].any()
    assert not trace.z[1, 1, 2].any()
    assert np.isfinite(trace.logits(N - 1)).all()


def test_a_network_with_one_head_and_other_scales():
    network = random_network(make_config(n_heads=1, scale_attn_by_inverse_layer_idx=True, tied=False))
    cut = Changes(cuts=(Link(1, 0, 4, 4),), renormalise=True)
    trace = run_trace(network, IDS, changes=cut)
    z = trace.pattern(1, 0) @ trace.v[1, 0]
    np.testing.assert_allclose(trace.z[1, 0], z, atol=1e-5)
    assert trace.pattern(1, 0)[4, 4] == 0.0


# --- the network and the cache stay as they were -------------------------------------------------------------------


def test_the_network_is_not_touched(network, plain):
    before = weights_of(network)
    run_trace(network, IDS, changes=Changes((Off(0, 0, "zero"), Off(1, 1, "mean")), (Link(1, 2, 5, 5),)))
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
    assert np.array_equal(run_trace(network, IDS).resid_post, plain.resid_post)


def test_changed_traces_are_kept_apart_and_continue_nothing(network, plain):
    cache, off = TraceCache(10**9), Changes((Off(0, 0, "zero"),))
    plain, changed = cache.get(network, IDS), cache.get(network, IDS, off)
    assert cache.get(network, IDS) is plain
    assert cache.get(network, IDS, Changes((Off(0, 0, "zero"),))) is changed
    assert cache.get(network, IDS, Changes(renormalise=True)) is plain
    longer = cache.get(network, (*IDS, 7))
    np.testing.assert_allclose(longer.z[:, :, :N], plain.z, atol=1e-5)
    again = run_trace(network, (*IDS, 7), prefix=changed)
    np.testing.assert_allclose(again.z[:, :, :N], plain.z, atol=1e-5)
    from_plain = run_trace(network, IDS, prefix=plain, changes=off)
    assert np.array_equal(from_plain.z, changed.z)


# --- the description -----------------------------------------------------------------------------------------------


def test_equal_changes_are_equal_in_any_order():
    one = Changes((Off(1, 0, "mean"), Off(0, 0, "zero")), (Link(0, 0, 2, 1), Link(0, 0, 2, 0)))
    other = Changes((Off(0, 0, "mean"), Off(0, 0, "zero"), Off(1, 0, "mean")), (Link(0, 0, 2, 0), Link(0, 0, 2, 1)))
    assert one == other
    assert hash(one) == hash(other)
    assert one.first_layer == 0
    assert one.keys_cut(0, 0) == {2: [0, 1]}
    assert (one.way_of(1, 0), one.way_of(1, 1)) == ("mean", None)


def test_other_changes_made_of_these():
    off = NO_CHANGES.with_off(1, 2, "zero")
    assert off == Changes((Off(1, 2, "zero"),))
    assert off.with_off(1, 2, "mean") == Changes((Off(1, 2, "mean"),))
    assert not off.with_off(1, 2, None)
    assert off.with_cuts([Link(0, 0, 3, 1)]).moved(1).cuts == (Link(0, 0, 4, 2),)


@settings(max_examples=25)
@given(CHANGES)
def test_what_fits_is_the_part_that_exists(drawn):
    changes = made(drawn)
    small = changes.fitting(n_layers=1, n_heads=2, n_pos=4)
    small.check(make_config(n_layers=1, n_heads=2), 4)
    assert set(small.off) == {off for off in changes.off if off.layer == 0 and off.head < 2}
    assert set(small.cuts) == {c for c in changes.cuts if c.layer == 0 and c.head < 2 and c.query < 4}
    assert changes.fitting(n_layers=2, n_heads=3, n_pos=N) == changes


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        (Changes((Off(2, 0, "zero"),)), "head L2H0"),
        (Changes((Off(0, 3, "mean"),)), "head L0H3"),
        (Changes(cuts=(Link(0, 0, 10, 3),)), "link 10 -> 3 in L0H0"),
        (Changes(cuts=(Link(1, 1, 2, 3),)), "link 2 -> 3 in L1H1"),
        (Changes(cuts=(Link(1, 1, 2, -1),)), "link 2 -> -1 in L1H1"),
    ],
)
def test_a_change_of_what_is_not_there(network, changes, what):
    with pytest.raises(SelectionError, match=f"no {what} to change: .*0 to 1 .*0 to 2.*0 to 9"):
        run_trace(network, IDS, changes=changes)


def test_no_change_has_no_first_layer():
    with pytest.raises(SelectionError, match="No layer is changed"):
        _ = NO_CHANGES.first_layer


def test_a_trace_knows_its_changes(network, plain):
    assert isinstance(plain, Trace)
    assert plain.changes == NO_CHANGES
    changes = Changes((Off(0, 0, "zero"),))
    assert run_trace(network, IDS, changes=changes).changes == changes
