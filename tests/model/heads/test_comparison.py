"""Distances between heads against values worked out by hand, and what heads add against the layer's whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from model.heads.comparison import cosine, head_output, js_divergence, mean_output, mean_pattern, pair_divergence
from model.network import attention
from model.trace.trace import Trace, run_trace
from tests.models import random_network

ROWS = (
    hnp.arrays(np.float64, (2, 6), elements=st.floats(0, 1))
    .map(lambda a: a + 1e-3)
    .map(lambda a: a / a.sum(axis=1, keepdims=True))
)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return run_trace(random_network(), [5, 17, 99, 5, 260])


@pytest.mark.parametrize(
    ("p", "q", "bits"),
    [
        ([1.0, 0.0], [1.0, 0.0], 0.0),
        ([1.0, 0.0], [0.0, 1.0], 1.0),
        # From the middle (3/4, 1/4): log2(4/3) and (log2(2/3) + 1) / 2, halved.
        ([1.0, 0.0], [0.5, 0.5], (np.log2(4 / 3) + (np.log2(2 / 3) + 1) / 2) / 2),
        ([0.25] * 4, [0.5, 0.5, 0.0, 0.0], (0.5 * np.log2(2 / 3) + 0.5 + np.log2(4 / 3)) / 2),
    ],
)
def test_divergence_of_known_rows(p, q, bits):
    assert js_divergence(np.array(p), np.array(q)) == pytest.approx(bits, abs=1e-12)


@given(ROWS, st.permutations(range(6)))
def test_divergence_is_symmetric_bounded_and_blind_to_order_and_padding(rows, order):
    p, q = rows
    bits = js_divergence(p, q)
    assert 0 <= bits <= 1
    assert js_divergence(q, p) == pytest.approx(bits)
    assert js_divergence(p[order], q[order]) == pytest.approx(bits)
    assert js_divergence(np.append(p, 0), np.append(q, 0)) == pytest.approx(bits)
    assert js_divergence(p, p) == 0
    # Never more than the total variation distance, nor less than half its square in nats (Lin 1991; Pinsker).
    apart = np.abs(p - q).sum() / 2
    assert apart**2 / 2 * np.log2(np.e) - 1e-12 <= bits <= apart + 1e-12


def test_a_pairs_number_is_the_mean_without_the_first_query():
    previous = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    rows, number = pair_divergence(np.eye(3, dtype=np.float32), previous)
    np.testing.assert_array_equal(rows, [0, 1, 1])
    assert number == 1
    assert pair_divergence(np.ones((1, 1)), np.ones((1, 1)))[1] == 0


def test_the_mean_of_a_layers_heads(trace):
    mean = mean_pattern(trace, 1)
    np.testing.assert_allclose(mean, np.mean([trace.pattern(1, head) for head in range(3)], axis=0), atol=1e-7)
    np.testing.assert_allclose(mean.sum(axis=1), 1, atol=1e-6)
    assert not np.triu(mean, 1).any()


def test_heads_results_add_up_to_attn_out(trace):
    outputs = [head_output(trace, 1, head, 3) for head in range(3)]
    bias = trace.network.h[1].attn.c_proj.bias.numpy()
    np.testing.assert_allclose(sum(o.result for o in outputs) + bias, trace.attn_out(1)[3], atol=1e-5)
    np.testing.assert_allclose(3 * mean_output(trace, 1, 3).result + bias, trace.attn_out(1)[3], atol=1e-5)
    assert mean_output(trace, 1, 3).z is None
    np.testing.assert_array_equal(outputs[2].z, trace.z[1, 2, 3])
    w_o = trace.network.h[1].attn.c_proj.weight.numpy()[20:]  # head 2's ten rows
    np.testing.assert_allclose(outputs[2].result, outputs[2].z @ w_o, atol=1e-5)
    expected = outputs[2].result @ outputs[2].attn_out
    expected /= np.linalg.norm(outputs[2].result) * np.linalg.norm(outputs[2].attn_out)
    assert outputs[2].cosine == pytest.approx(expected, abs=1e-5)


def test_outputs_at_one_position_are_made_of_that_position_alone(trace, monkeypatch):
    positions, merge = [], attention.merge_heads
    monkeypatch.setattr(attention, "merge_heads", lambda z: positions.append(z.shape[-2]) or merge(z))
    one, mean = head_output(trace, 0, 2, 4), mean_output(trace, 0, 4)
    assert positions == [1, 1]
    for output in (one, mean):
        np.testing.assert_allclose(output.attn_out, trace.attn_out(0)[4], atol=1e-5)
    np.testing.assert_allclose(one.result, trace.result(0, 2)[4], atol=1e-5)
    np.testing.assert_allclose(mean.result, np.mean([trace.result(0, head)[4] for head in range(3)], axis=0), atol=1e-5)


def test_cosines():
    x = np.array([3.0, 4.0])
    assert [cosine(x, y) for y in (2 * x, -x, np.array([-4.0, 3.0]))] == pytest.approx([1, -1, 0])
    assert np.isnan(cosine(x, np.zeros(2)))
