"""The measures of all heads of a trace: equal to those of `model.heads.measures`, in range, and the standard test."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from model.changes.interventions import Changes, Link
from model.heads import all_heads as head_measures
from model.heads import measures as heads
from model.heads import sums as head_sums
from model.heads.all_heads import MEASURES, REPEATED, ROLES, TEXT
from model.network.gpt2 import GPT2
from model.trace.trace import Trace, run_trace
from tests.model.heads import by_hand
from tests.models import make_config, random_network

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "head_detector.json").read_text())
SHARES = [entry.name for entry in MEASURES if entry.unit == "share of weight"]


def patterns_of(trace: Trace) -> np.ndarray:
    config = trace.network.config
    layers, every = range(config.n_layers), range(config.n_heads)
    return np.stack([[trace.pattern(layer, head) for head in every] for layer in layers]).astype(np.float64)


def measured_by_hand(pattern: np.ndarray, ids: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The text's measures from whole patterns, by the functions of `model.heads.measures`."""
    return {
        "previous_token": heads.previous_token_score(pattern),
        "current_token": by_hand.current_token_score(pattern),
        "first_token": heads.first_token_score(pattern),
        "entropy": by_hand.mean_entropy(pattern),
        "effective_tokens": 2 ** by_hand.mean_entropy(pattern),
        "mean_distance": by_hand.mean_distance(pattern),
        "duplicate_token": heads.duplicate_token_score(pattern, ids),
        "induction": heads.induction_score(pattern, ids),
        "prefix_matching": by_hand.detector_score(pattern, heads.induction_targets(ids)),
    }


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert list(found) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, atol=3e-6, err_msg=name)


@pytest.mark.parametrize("block", [1 << 20, 60])
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("scaled_by_layer", [False, True])
def test_row_blocks_measure_what_whole_patterns_show(trace, monkeypatch, block, cut, scaled_by_layer):
    monkeypatch.setattr(head_sums, "_BLOCK", block)  # 60: two queries of three heads at a time
    network = random_network(make_config(scale_attn_by_inverse_layer_idx=scaled_by_layer))
    cuts = (Link(0, 1, 4, 1), Link(1, 2, 3, 3), Link(1, 2, 9, 0)) if cut else ()
    trace = run_trace(network, trace.ids, changes=Changes(cuts=cuts))
    assert_same(head_measures.measure_heads(trace), measured_by_hand(patterns_of(trace), trace.ids))


def test_a_text_of_one_token_leaves_nothing_to_measure(network):
    found = head_measures.measure_heads(run_trace(network, [5]))
    assert found.pop("prefix_matching").tolist() == [[0.0] * 3] * 2
    assert all(np.isnan(values).all() for values in found.values())


@settings(max_examples=15)
@given(ids=st.lists(st.integers(0, 8), min_size=2, max_size=16), one_head=st.booleans())
def test_measures_stay_in_their_range(ids, one_head):
    network = random_network(make_config(n_layers=1, n_heads=1 if one_head else 3), seed=sum(ids))
    found = head_measures.measure_heads(run_trace(network, ids))
    n_seen = np.arange(2, len(ids) + 1)  # keys that each query with a choice sees
    most = {"entropy": np.log2(n_seen).mean(), "mean_distance": len(ids) / 2}
    most["effective_tokens"] = 2 ** most["entropy"]
    for entry in MEASURES:
        if entry.needs == TEXT:
            values = found[entry.name]
            high = most[entry.name] if entry.high is None else entry.high
            inside = (values >= entry.low - 1e-6) & (values <= high + 1e-5)
            assert (inside | np.isnan(values)).all(), (entry.name, values)
    np.testing.assert_allclose(found["previous_token"] + found["current_token"] <= 1 + 1e-6, True)


def test_a_head_measures_the_same_whatever_heads_stand_beside_it():
    """Heads whose queries are 0 beside two others: they spread their weight evenly, the others are as if alone."""
    network, ids = random_network(make_config(n_layers=1, n_heads=4, d_model=32)), (3, 9, 3, 9, 4, 3)
    for name in ("weight", "bias"):
        network.state_dict()[f"h.0.attn.c_attn.{name}"][..., 16:32] = 0  # the queries of heads 2 and 3
    trace = run_trace(network, ids)
    found = head_measures.measure_heads(trace)
    for head in range(4):
        alone = head_measures.measure_head(trace, 0, head)
        assert alone == pytest.approx(head_measures.scores_of(found, 0, head), abs=1e-6)
    for head in (2, 3):
        assert found["first_token"][0, head] == pytest.approx(np.mean([1 / n for n in range(2, 7)]))
        assert found["entropy"][0, head] == pytest.approx(np.mean(np.log2(range(2, 7))))
    pattern = patterns_of(trace)
    assert_same(
        {name: values[:, :2] for name, values in measured_by_hand(pattern, ids).items()},
        measured_by_hand(pattern[:, :2], ids),
    )


# --- the standard test: random tokens, twice -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start_id", "n_ctx", "n_ids"), [(None, 32, 32), (270, 32, 31), (270, 1000, 129), (None, 5, 4)]
)
def test_the_repeated_run(start_id, n_ctx, n_ids):
    ids = head_measures.repeated_ids(random_network(make_config(n_ctx=n_ctx)), start_id)
    assert len(ids) == n_ids <= n_ctx
    body = ids if start_id is None else ids[1:]
    run = body[: len(body) // 2]
    assert body == run + run
    assert len(set(ids)) == len(run) + (start_id is not None)
    assert ids == head_measures.repeated_ids(random_network(make_config(n_ctx=n_ctx)), start_id)
    assert ids != head_measures.repeated_ids(random_network(make_config(n_ctx=n_ctx)), start_id, seed=1)


def test_a_context_too_short_for_the_test_measures_nothing():
    found = head_measures.measure_repeated(random_network(make_config(n_ctx=3)))
    assert all(np.isnan(values).all() and values.shape == (2, 3) for values in found.values())


def test_the_standard_test_measures_its_own_tokens(network):
    found = head_measures.measure_repeated(network, start_id=270, seed=3)
    ids = head_measures.repeated_ids(network, 270, 3)
    pattern = patterns_of(run_trace(network, ids))
    expected = {f"{name}_repeated": values for name, values in measured_by_hand(pattern, ids).items()}
    assert set(found) == {entry.name for entry in MEASURES if entry.needs == REPEATED}
    assert_same(found, {name: expected[name] for name in found})
    period = (len(ids) - 1) // 2
    diagonal = np.diagonal(pattern, offset=1 - period, axis1=-2, axis2=-1)[..., 2:]  # the published test's own picture
    np.testing.assert_allclose(found["induction_repeated"], diagonal.mean(-1), atol=3e-6)


def test_a_planted_induction_head_is_named():
    """Weights set by hand: layer 0 copies the token before, layer 1 looks for it."""
    network = planted_induction()
    found = head_measures.measure_repeated(network) | head_measures.measure_heads(run_trace(network, [5, 6, 7, 8, 5]))
    # 12 queries, of which the first finds its token before both of the first two positions: 11.5 of 12 at best
    assert found["induction_repeated"][1, 0] == pytest.approx(11.5 / 12, abs=0.01)
    assert found["prefix_matching_repeated"][1, 0] == pytest.approx(found["induction_repeated"][1, 0] / 2, abs=0.01)
    assert found["previous_token_repeated"][0, 0] > 0.95
    assert head_measures.roles(head_measures.scores_of(found, 1, 0)) == ("induction head",)
    assert head_measures.roles(head_measures.scores_of(found, 0, 0)) == ("previous-token head",)


def planted_induction(n_ids: int = 12, n_ctx: int = 24) -> GPT2:
    """Two layers of one head. The residual stream holds the token and the position, one number each, and room for the
    token before, which layer 0 writes there and layer 1 compares with its own token."""
    d = 2 * n_ids + n_ctx
    network = GPT2(make_config(n_layers=2, n_heads=1, d_model=d, n_ctx=n_ctx, d_vocab=n_ids, d_mlp=1)).init_weights(0)
    state = {name: torch.zeros_like(tensor) for name, tensor in network.state_dict().items()}
    own, pos, before = slice(0, n_ids), slice(n_ids, n_ids + n_ctx), slice(n_ids + n_ctx, d)
    state["wte.weight"][:, own] = torch.eye(n_ids)
    state["wpe.weight"][:, pos] = torch.eye(n_ctx)
    for layer in range(2):
        state[f"h.{layer}.ln_1.weight"] += 1
    strong = 60 * d**0.5 / d  # the LayerNorm makes a lone 1 about sqrt(d / 2) large; the scores are over sqrt(d)
    c_attn = state["h.0.attn.c_attn.weight"]
    c_attn[pos, pos] = strong * torch.eye(n_ctx)  # query: my place
    c_attn[pos, d + pos.start : d + pos.stop] = torch.roll(torch.eye(n_ctx), 1, 1)  # key: the place after mine
    c_attn[own, 2 * d : 2 * d + n_ids] = torch.eye(n_ids)
    state["h.0.attn.c_proj.weight"][:n_ids, before] = torch.eye(n_ids)
    c_attn = state["h.1.attn.c_attn.weight"]
    c_attn[own, before] = strong * torch.eye(n_ids)  # query: my token
    c_attn[before, d + before.start : 2 * d] = torch.eye(n_ids)  # key: the token before me
    network.load_state_dict(state)
    return network.eval().requires_grad_(False)


# --- roles, and what the app says ------------------------------------------------------------------------------------


def test_a_role_needs_more_than_its_threshold():
    for role in ROLES:
        assert head_measures.roles({role.measure: role.threshold}) == ()
        assert head_measures.roles({role.measure: role.threshold + 0.01}) == (role.name,)
    assert head_measures.roles({}) == head_measures.roles({role.measure: float("nan") for role in ROLES}) == ()


def test_evenly_spread_weight_gives_no_role():
    flat = random_network(make_config())
    flat.load_state_dict({name: tensor * 0 for name, tensor in flat.state_dict().items()})
    for n in (2, 3, 20):
        found = head_measures.measure_heads(run_trace(flat, list(range(n)))) | head_measures.measure_repeated(flat)
        assert head_measures.roles(head_measures.scores_of(found, 0, 0)) == ()


def test_every_measure_says_what_it_is():
    names = [entry.name for entry in MEASURES]
    assert len(set(names)) == len(names) == len({entry.title for entry in MEASURES})
    for entry in MEASURES:
        assert entry.definition.endswith(".")
        assert entry.source
        assert head_measures.measure(entry.name) is entry
    assert {role.measure for role in ROLES} <= set(names)


# --- TransformerLens -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", GOLDEN["texts"], ids=lambda text: text["text"])
def test_the_detector_agrees_with_transformer_lens(text):
    network, ids = random_network(make_config(), seed=GOLDEN["seed"]), tuple(text["ids"])
    trace = run_trace(network, ids)
    pattern = patterns_of(trace)
    targets = {
        "previous_token_head": by_hand.previous_token_targets(len(ids)),
        "duplicate_token_head": heads.duplicate_token_targets(ids),
        "induction_head": heads.induction_targets(ids),
    }
    for kind, where in targets.items():
        theirs = text["scores"]
        np.testing.assert_allclose(by_hand.detector_score(pattern, where), theirs[f"{kind} mul"], atol=2e-6)
        absolute = by_hand.detector_score(pattern, where, "abs")
        np.testing.assert_allclose(absolute, theirs[f"{kind} abs"], atol=5.1e-4)  # theirs has three digits
    found = head_measures.measure_heads(trace)
    np.testing.assert_allclose(found["prefix_matching"], text["scores"]["induction_head mul"], atol=2e-6)
    # The measures over the queries that have a target are theirs, spread over fewer queries.
    for name, kind in (("induction", "induction_head"), ("duplicate_token", "duplicate_token_head")):
        n_queries = targets[kind].any(-1).sum()
        np.testing.assert_allclose(
            found[name] * n_queries / len(ids), text["scores"][f"{kind} mul"], atol=2e-6, err_msg=name
        )
    before = np.array(text["scores"]["previous_token_head mul"])
    np.testing.assert_allclose(found["previous_token"] * (len(ids) - 1) / len(ids), before, atol=2e-6)
