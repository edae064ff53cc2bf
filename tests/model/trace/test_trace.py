"""The identities of the mathematics, on what a trace keeps and derives; and that a trace never changes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.changes.interventions import Changes, Link
from model.errors import CheckpointError, SelectionError, TextError
from model.trace.trace import Trace, run_trace, shared_length
from tests.model.conftest import IDS
from tests.models import make_config, random_network

KEPT = ("resid_pre", "resid_mid", "resid_post", "q", "k", "v", "z", "embed", "pos_embed")
OF_A_HEAD = ("attn_scores", "masked_scores", "pattern", "result")
OF_A_LAYER = ("attn_out", "mlp_pre", "mlp_post", "mlp_out")
HEADS = [(layer, head) for layer in range(2) for head in range(3)]


def _everything(trace: Trace) -> dict[str, np.ndarray]:
    """Every array that a trace gives."""
    arrays = {name: getattr(trace, name) for name in KEPT}
    for layer in range(trace.network.config.n_layers):
        arrays |= {f"{name} {layer}": getattr(trace, name)(layer) for name in OF_A_LAYER}
        for head in range(trace.network.config.n_heads):
            arrays |= {f"{name} {layer} {head}": getattr(trace, name)(layer, head) for name in OF_A_HEAD}
            last = trace.n_pos - 1
            arrays[f"weighted_values {layer} {head}"] = trace.weighted_values(layer, head, last)
    for pos in range(trace.n_pos):
        arrays |= {f"logits {pos}": trace.logits(pos), f"lens {pos}": trace.lens(pos)}
    return arrays


def _close(ours: np.ndarray, expected: np.ndarray, what: str = "") -> None:
    np.testing.assert_allclose(ours, expected, atol=1e-5, rtol=0, err_msg=what)


def _equal(one: Trace, other: Trace) -> None:
    a, b = _everything(one), _everything(other)
    assert a.keys() == b.keys()
    for name in a:
        _close(a[name], b[name], name)


# --- identities ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("layer", "head"), HEADS)
def test_rows_of_the_pattern_add_up_to_1_and_the_future_weighs_nothing(trace, layer, head):
    pattern = trace.pattern(layer, head)
    np.testing.assert_allclose(pattern.sum(axis=1), np.ones(len(IDS)), atol=1e-6)
    assert np.all(pattern[np.triu_indices(len(IDS), k=1)] == 0.0)
    assert np.all(pattern[np.tril_indices(len(IDS))] > 0.0)


@pytest.mark.parametrize(("layer", "head"), HEADS)
def test_masked_scores_are_the_scores_up_to_the_query_and_minus_infinity_after(trace, layer, head):
    scores, masked = trace.attn_scores(layer, head), trace.masked_scores(layer, head)
    future = np.triu(np.ones_like(scores, dtype=bool), k=1)
    assert np.isfinite(scores).all()
    assert np.all(np.isneginf(masked[future]))
    assert np.array_equal(masked[~future], scores[~future])


def test_weighted_values_add_up_to_z_where_links_are_cut(network):
    cuts = (Link(0, 1, 4, 1), Link(1, 2, 3, 3), Link(1, 2, 9, 0))
    for renormalise in (False, True):
        cut = run_trace(network, IDS, changes=Changes(cuts=cuts, renormalise=renormalise))
        for layer, head in HEADS:
            for query in range(cut.n_pos):
                _close(cut.weighted_values(layer, head, query).sum(axis=0), cut.z[layer, head, query])
        assert not cut.weighted_values(1, 2, 9)[0].any()


def test_scores_are_the_scaled_products_of_q_and_k(trace):
    expected = trace.q[1, 2] @ trace.k[1, 2].T / np.sqrt(10)
    _close(trace.attn_scores(1, 2), expected)


@pytest.mark.parametrize(("layer", "head"), HEADS)
def test_weighted_values_add_up_to_z(trace, layer, head):
    pattern = trace.pattern(layer, head)
    for query in range(trace.n_pos):
        values = trace.weighted_values(layer, head, query)
        assert values.shape == (query + 1, 10)
        _close(values.sum(axis=0), trace.z[layer, head, query])
        _close(values, pattern[query, : query + 1, None] * trace.v[layer, head, : query + 1])


@pytest.mark.parametrize("changes", [Changes(), Changes(cuts=(Link(1, 2, 6, 3), Link(0, 1, 5, 0)), renormalise=True)])
@pytest.mark.parametrize("network_changes", [{}, {"scale_attn_by_inverse_layer_idx": True}])
def test_rows_are_those_of_the_patterns(changes, network_changes):
    trace = run_trace(random_network(make_config(**network_changes)), IDS, changes=changes)
    for query in (0, 6, 9):
        rows = trace.rows(query)
        assert rows.shape == (2, 3, query + 1)
        for layer, head in HEADS:
            _close(rows[layer, head], trace.pattern(layer, head)[query, : query + 1])
    with pytest.raises(SelectionError, match="no position 10"):
        trace.rows(10)


@pytest.mark.parametrize("layer", [0, 1])
def test_the_residual_stream_is_the_sum_of_what_was_added(trace, layer):
    _close(trace.resid_pre[layer] + trace.attn_out(layer), trace.resid_mid[layer])
    _close(trace.resid_mid[layer] + trace.mlp_out(layer), trace.resid_post[layer])


def test_the_residual_stream_begins_with_the_embeddings_and_goes_from_layer_to_layer(trace):
    np.testing.assert_allclose(trace.embed + trace.pos_embed, trace.resid_pre[0], atol=1e-6)
    assert np.array_equal(trace.resid_post[0], trace.resid_pre[1])
    assert np.array_equal(trace.embed, trace.network.wte.weight.numpy()[list(IDS)])
    assert np.array_equal(trace.pos_embed, trace.network.wpe.weight.numpy()[: len(IDS)])


@pytest.mark.parametrize("layer", [0, 1])
def test_the_heads_results_and_the_bias_are_the_attentions_output(trace, layer):
    results = sum(trace.result(layer, head) for head in range(3))
    bias = trace.network.h[layer].attn.c_proj.bias.numpy()
    _close(results + bias, trace.attn_out(layer))
    assert np.abs(results).max() > 0.1


@pytest.mark.parametrize("layer", [0, 1])
def test_the_mlp_is_two_projections_with_a_gelu_between(trace, layer):
    mlp = trace.network.h[layer].mlp
    gelu = torch.nn.functional.gelu(torch.tensor(trace.mlp_pre(layer)), approximate="tanh").numpy()
    _close(trace.mlp_post(layer), gelu)
    expected = trace.mlp_post(layer) @ mlp.c_proj.weight.numpy() + mlp.c_proj.bias.numpy()
    _close(trace.mlp_out(layer), expected)


def test_logits_of_one_position_are_those_of_all(network, trace):
    full = network.logits(network(torch.tensor(IDS))).numpy()
    for pos in range(len(IDS)):
        _close(trace.logits(pos), full[pos])


def test_the_lens_reads_the_stream_off_at_every_layer(network, trace):
    for pos in range(len(IDS)):
        lens = trace.lens(pos)
        assert lens.shape == (3, network.config.d_vocab)
        _close(lens[-1], trace.logits(pos))
        _close(lens[0], network.logits(torch.tensor(trace.resid_pre[0, pos])).numpy())
        assert np.abs(lens[0] - lens[1]).max() > 0.1


def test_derived_values_are_what_the_eager_pass_computed(network, trace):
    seen: dict[str, torch.Tensor] = {}
    network(torch.tensor(IDS), tap=lambda name, tensor: seen.setdefault(name, tensor), eager=True)
    for layer in range(2):
        for kind in ("resid_pre", "resid_mid", "resid_post", "q", "k", "v", "z"):
            _close(getattr(trace, kind)[layer], seen[f"h.{layer}.{kind}"].numpy())
        for kind in OF_A_LAYER:
            _close(getattr(trace, kind)(layer), seen[f"h.{layer}.{kind}"].numpy())
        for head in range(3):
            _close(trace.pattern(layer, head), seen[f"h.{layer}.pattern"][head].numpy())
            masked = seen[f"h.{layer}.attn_scores"][head].numpy()
            _close(trace.masked_scores(layer, head), masked)


def test_a_later_token_changes_nothing_before_it(network, trace):
    other = run_trace(network, (*IDS[:6], 42, 43, 44))
    for name in ("resid_pre", "resid_mid", "resid_post", "q", "k", "v", "z"):
        here, there = getattr(trace, name), getattr(other, name)
        np.testing.assert_allclose(here[..., :6, :], there[..., :6, :], atol=1e-6, rtol=1e-6, err_msg=name)
        assert np.abs(here[..., 6, :] - there[..., 6, :]).max() > 1e-3, name
    for layer, head in HEADS:
        before, after = trace.pattern(layer, head)[:6, :6], other.pattern(layer, head)[:6, :6]
        np.testing.assert_allclose(before, after, atol=1e-6, rtol=0)


def test_equal_tokens_have_rows_of_their_own(trace):
    assert IDS[0] == IDS[3]
    assert np.array_equal(trace.embed[0], trace.embed[3])
    assert np.abs(trace.resid_pre[0, 0] - trace.resid_pre[0, 3]).max() > 0.1
    assert np.abs(trace.pattern(0, 0)[3] - trace.pattern(0, 0)[0]).max() > 0.01


@pytest.mark.parametrize(
    "changes", [{"scale_attn_by_inverse_layer_idx": True}, {"scale_attn_weights": False}, {"tied": False}]
)
def test_the_identities_hold_for_every_kind_of_network(changes):
    network = random_network(make_config(**changes), seed=3)
    trace = run_trace(network, IDS)
    for layer, head in HEADS:
        z = trace.pattern(layer, head) @ trace.v[layer, head]
        _close(z, trace.z[layer, head])
    _close(trace.logits(9), network.logits(torch.tensor(trace.resid_post[1, 9])).numpy())


# --- extended ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param((*IDS, 7), id="one appended"),
        pytest.param((*IDS, 7, 8, 9, 10, 11), id="five appended"),
        pytest.param((*IDS[:4], 200, *IDS[5:]), id="edited in the middle"),
        pytest.param((*IDS[:4], *IDS[5:]), id="deleted in the middle"),
        pytest.param(IDS[:5], id="shortened"),
        pytest.param(IDS[:1], id="shortened to one"),
        pytest.param(IDS, id="the same"),
        pytest.param((1, *IDS[1:]), id="nothing shared"),
    ],
)
def test_an_extended_trace_equals_a_fresh_one(network, trace, ids):
    before = {name: array.copy() for name, array in _everything(trace).items()}
    extended = run_trace(network, ids, prefix=trace)
    assert extended.ids == ids
    _equal(extended, run_trace(network, ids))
    assert all(np.array_equal(array, before[name]) for name, array in _everything(trace).items())


def test_a_prefix_of_one_token_is_enough(network):
    extended = run_trace(network, IDS, prefix=run_trace(network, IDS[:1]))
    _equal(extended, run_trace(network, IDS))


def test_many_small_steps_end_at_the_same_trace(network):
    grown = run_trace(network, IDS[:1])
    for length in range(2, len(IDS) + 1):
        grown = run_trace(network, IDS[:length], prefix=grown)
    _equal(grown, run_trace(network, IDS))


def test_the_shared_beginning_is_not_computed_again(network, trace, monkeypatch):
    passed = []
    forward = type(network).forward

    def counted(self, ids, **options):
        passed.append(ids.tolist())
        return forward(self, ids, **options)

    monkeypatch.setattr(type(network), "forward", counted)
    run_trace(network, (*IDS, 7, 8), prefix=trace)
    run_trace(network, IDS, prefix=trace)
    assert passed == [[7, 8], [IDS[-1]]]


def test_a_prefix_of_another_network_is_not_used(network, trace):
    other = random_network(seed=9)
    _equal(run_trace(other, (*IDS, 7), prefix=trace), run_trace(other, (*IDS, 7)))


# --- in one room -----------------------------------------------------------------------------------------------------


def test_a_text_that_goes_on_stays_in_its_room(network):
    """Nothing is copied: the longer trace's beginning is the shorter one's memory."""
    short = run_trace(network, IDS)
    longer = run_trace(network, (*IDS, 7, 8), prefix=short)
    assert longer.memory is short.memory
    for name in ("resid_pre", "resid_mid", "q", "k", "v", "z"):
        assert np.shares_memory(getattr(longer, name), getattr(short, name))
        assert getattr(short, name).shape[-2] == len(IDS)


def test_two_texts_that_go_on_differently_keep_out_of_each_others_way(network):
    first = run_trace(network, IDS)
    one = run_trace(network, (*IDS, 7), prefix=first)
    before = {name: array.copy() for name, array in _everything(one).items()}
    other = run_trace(network, (*IDS, 8), prefix=first)
    assert one.memory is first.memory is not other.memory
    _equal(other, run_trace(network, (*IDS, 8)))
    assert all(np.array_equal(array, before[name]) for name, array in _everything(one).items())


@pytest.mark.parametrize("ids", [(*IDS[:4], 200, *IDS[5:]), IDS[:5], IDS])
def test_an_edited_text_gets_a_room_of_its_own(network, ids):
    trace = run_trace(network, IDS)
    assert not np.shares_memory(run_trace(network, ids, prefix=trace).k, trace.k)


def test_a_full_room_is_left_for_a_larger_one(network):
    grown = run_trace(network, IDS[:1])
    rooms = {id(grown.memory): grown.memory}
    for length in range(2, 33):
        grown = run_trace(network, [*IDS, *range(22)][:length], prefix=grown)
        rooms[id(grown.memory)] = grown.memory
    assert [room.n_pos for room in rooms.values()] == [17, 32]  # 1 and 16 to spare; then all that the context allows


def test_a_pass_that_ends_early_leaves_its_beginning_usable(network):
    trace = run_trace(network, IDS)

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_trace(network, (*IDS, 7), prefix=trace, between=stop)
    _equal(run_trace(network, (*IDS, 7, 8), prefix=trace), run_trace(network, (*IDS, 7, 8)))


def test_shared_length():
    assert shared_length((1, 2, 3), (1, 2, 4)) == 2
    assert shared_length((1, 2), (1, 2, 4)) == 2
    assert shared_length((2, 2), (1, 2)) == 0
    assert shared_length((), (1,)) == 0


# --- frozen --------------------------------------------------------------------------------------------------------


def test_every_array_is_read_only(trace):
    for name, array in _everything(trace).items():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        assert not array.flags.writeable, name


def test_a_trace_cannot_be_changed(trace):
    with pytest.raises(AttributeError):
        trace.ids = (1, 2)


def test_looking_changes_nothing(network):
    trace = run_trace(network, IDS)
    first = {name: array.copy() for name, array in _everything(trace).items()}
    assert all(np.array_equal(array, first[name]) for name, array in _everything(trace).items())
    assert all(array.dtype == np.float32 for array in first.values())


def test_a_trace_of_a_network_that_is_being_trained():
    network = random_network().requires_grad_(True)
    trace = run_trace(network, IDS)
    assert all(isinstance(array, np.ndarray) for array in _everything(trace).values())


def test_memory_is_what_was_said_and_grows_with_the_length_only(network):
    one, ten, thirty = (run_trace(network, list(range(n))).nbytes for n in (1, 10, 30))
    # per token: 3 of resid (2 layers + 1) and 2 of resid_mid, d_model each; q, k, v, z of 2 layers
    assert one == 4 * (3 * 30 + 2 * 30 + 4 * 2 * 30)
    assert (ten, thirty) == (10 * one, 30 * one)


# --- refusals ------------------------------------------------------------------------------------------------------


def test_no_tokens(network):
    with pytest.raises(TextError, match="no token"):
        run_trace(network, ())


def test_more_tokens_than_the_context_holds(network):
    assert run_trace(network, [1] * 32).n_pos == 32
    with pytest.raises(TextError, match=r"33 tokens.*at most 32"):
        run_trace(network, [1] * 33)


@pytest.mark.parametrize("layer", [-1, 2, 999])
def test_a_layer_that_is_not_there(trace, layer):
    for look in (trace.attn_out, trace.mlp_pre, trace.mlp_post, trace.mlp_out):
        with pytest.raises(SelectionError, match=rf"no layer {layer}; .*0 to 1"):
            look(layer)
    for name in OF_A_HEAD:
        with pytest.raises(SelectionError, match=rf"no layer {layer}; .*0 to 1"):
            getattr(trace, name)(layer, 0)


@pytest.mark.parametrize("head", [-1, 3])
def test_a_head_that_is_not_there(trace, head):
    for name in OF_A_HEAD:
        with pytest.raises(SelectionError, match=rf"no head {head}; .*0 to 2"):
            getattr(trace, name)(0, head)


@pytest.mark.parametrize("pos", [-1, 10])
def test_a_position_that_is_not_there(trace, pos):
    for look in (trace.logits, trace.lens, lambda pos: trace.weighted_values(0, 0, pos)):
        with pytest.raises(SelectionError, match=rf"no position {pos}; .*0 to 9"):
            look(pos)


def test_numbers_beyond_fp32_are_named() -> None:
    network = random_network(make_config(n_layers=3))
    with torch.no_grad():
        network.h[1].attn.c_attn.weight *= 1e25
    with pytest.raises(CheckpointError, match="those that layer 2 reads"):
        run_trace(network, [1, 2, 3])
