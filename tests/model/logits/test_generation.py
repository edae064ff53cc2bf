"""One token at a time gives what a whole pass gives, writes what `transformers` writes, and counts what it saves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from model.errors import SelectionError, TextError
from model.logits.generation import (
    cache_of,
    largest_number,
    multiplications,
    read_again,
    read_next,
    step_difference,
    timed,
    written,
)
from model.logits.sampling import Sampling, choose
from model.network.key_value_cache import KeyValueCache
from model.trace.trace import run_trace
from tests.model.conftest import IDS
from tests.models import hugging_face_model, make_config, random_network

SHAPES = [
    {},
    {"n_heads": 1},
    {"n_layers": 1, "n_heads": 2, "d_model": 14},
    {"tied": False, "scale_attn_by_inverse_layer_idx": True},
]


def greedy(logits: np.ndarray, position: int) -> int:
    return choose(logits, Sampling(greedy=True), position).id


@pytest.mark.parametrize("changes", SHAPES)
def test_every_step_through_the_cache_equals_a_pass_over_the_whole_text(changes):
    network = random_network(make_config(**changes))
    ids = tuple(int(x) for x in np.random.default_rng(1).integers(0, network.config.d_vocab, network.config.n_ctx))
    trace = run_trace(network, ids)
    cache = KeyValueCache.empty(network.config)
    for position, token in enumerate(ids):
        step, cache = read_next(network, token, cache)
        assert step.position == position
        assert step_difference(step, read_again(network, ids[: position + 1])) < 1e-4
        np.testing.assert_allclose(step.q, trace.q[:, :, position], atol=1e-5)
        np.testing.assert_allclose(step.logits, trace.logits(position), atol=1e-4)
    np.testing.assert_allclose(cache.k, trace.k, atol=1e-5)
    np.testing.assert_allclose(cache.v, trace.v, atol=1e-5)
    with pytest.raises(TextError, match="at most 32"):
        read_next(network, 0, cache)


def test_the_cache_holds_the_keys_and_values_read_and_counts_their_bytes(network, trace):
    cache = cache_of(trace, 7)
    before = cache.k.clone(), cache.v.clone()
    np.testing.assert_array_equal(before[0], trace.k[:, :, :7])
    np.testing.assert_array_equal(before[1], trace.v[:, :, :7])
    assert (cache.n_pos, cache.capacity, cache.nbytes) == (7, network.config.n_ctx, 4 * 2 * 2 * 7 * 30)
    _, longer = read_next(network, IDS[7], cache)
    assert (longer.n_pos, longer.nbytes) == (8, 4 * 2 * 2 * 8 * 30)
    assert cache.n_pos == 7  # the one before is as it was
    assert torch.equal(cache.k, before[0])
    assert torch.equal(cache.v, before[1])
    assert KeyValueCache.empty(network.config).nbytes == 0
    with pytest.raises(SelectionError, match="this text has 10"):
        cache_of(trace, 11)


def test_the_largest_number_is_that_of_all_that_is_compared(network):
    step = read_again(network, IDS)
    assert largest_number(step) == max(abs(part).max() for part in (step.q, step.k, step.v, step.logits))
    step.k.flat[0] = -1e6
    assert largest_number(step) == 1e6


def test_a_difference_is_found_wherever_it_is(network):
    step = read_again(network, IDS)
    for name in ("q", "k", "v", "logits"):
        other = read_again(network, IDS)
        getattr(other, name).flat[-1] += 0.5
        assert step_difference(step, other) == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize("changes", SHAPES)
def test_greedy_writing_is_that_of_transformers(changes):
    network = random_network(make_config(**changes), seed=3)
    theirs = hugging_face_model(network)
    ids = torch.tensor([IDS])
    options = {"do_sample": False, "max_new_tokens": 22, "pad_token_id": 0, "eos_token_id": None}
    expected = theirs.generate(ids, attention_mask=torch.ones_like(ids), **options)[0, len(IDS) :].tolist()
    assert list(written(run_trace(network, IDS), greedy)) == expected


def test_writing_in_pieces_gives_the_same_as_at_once(network):
    def sampled(logits, position):
        return choose(logits, Sampling(temperature=1.5, seed=4), position).id

    at_once = list(written(run_trace(network, IDS), sampled))
    assert len(IDS) + len(at_once) == network.config.n_ctx
    ids = IDS
    while len(ids) < network.config.n_ctx:
        few = [token for token, _ in zip(written(run_trace(network, ids), sampled), range(3), strict=False)]
        ids += tuple(few)
    assert ids == IDS + tuple(at_once)


def test_a_full_context_leaves_nothing_to_write(network):
    assert list(written(run_trace(network, (1,) * 32), greedy)) == []


@pytest.mark.parametrize("n_past", [0, 9])
@pytest.mark.parametrize("changes", SHAPES[:3])
def test_multiplications_are_those_that_torch_counts(changes, n_past):
    network = random_network(make_config(**changes))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        past = run_trace(network, IDS[:n_past]) if n_past else None
        cache = cache_of(past, n_past) if past else KeyValueCache.empty(network.config)
        before = counter.get_total_flops()
        network.logits(network(torch.tensor([IDS[n_past]]), cache=cache, eager=True)[-1])
    assert 2 * multiplications(network.config, 1, n_past) == counter.get_total_flops() - before


def test_the_savings_grow_with_the_text():
    config = make_config(n_ctx=1024)
    assert multiplications(config, 1, 0) == multiplications(config, 1)
    shares = [multiplications(config, 1, n) / multiplications(config, n + 1) for n in (0, 1, 10, 100, 1000)]
    assert shares[0] == 1
    assert shares == sorted(shares, reverse=True)
    # A pass over n tokens is n steps, but for the logits, which only the last one needs.
    steps = sum(multiplications(config, 1, n) for n in range(20))
    assert steps - 19 * config.d_model * config.d_vocab == multiplications(config, 20)


def test_timing_returns_the_step_and_a_positive_time(network):
    step, milliseconds = timed(lambda: read_again(network, IDS))
    assert step.position == len(IDS) - 1
    assert milliseconds > 0


def test_nothing_to_read_is_said(network):
    with pytest.raises(TextError, match="no token"):
        read_again(network, ())
    with pytest.raises(TextError, match="no room for 33"):
        read_again(network, (1,) * 33)
