"""The benches measure the traces of today: what they hold, and steps that go on in the same memory."""

from __future__ import annotations

from dataclasses import replace

from bench import models, steps
from model.network.parameters import GPT2_SMALL
from model.trace.trace import run_trace

TINY = replace(GPT2_SMALL, n_layers=1, n_heads=2, d_model=8, d_mlp=8, d_vocab=8, n_ctx=64)


def test_a_trace_holds_its_memory_once_with_what_was_not_used_yet():
    trace = run_trace(models.network_of(models.random_weights(TINY), config=TINY), [1, 2, 3])
    assert models.held_bytes(trace) == models.held_bytes((trace, [trace])) == trace.memory.nbytes > trace.nbytes


def test_a_measured_step_can_be_taken_again_in_the_same_memory():
    network = models.network_of(models.random_weights(TINY), config=TINY)
    whole = run_trace(network, [1, 2, 3])
    for _ in range(2):
        step = steps._own_step(network, [1, 2, 3], whole)
        assert step.ids == (1, 2, 3, steps.ANOTHER)
        assert step.memory is whole.memory
    _, logits = steps._own_step(network, [1, 2, 3], whole, logits=True)
    assert (logits == step.logits(3)).all()
