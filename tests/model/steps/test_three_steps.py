"""The three steps, one operation at a time, equal what the network computes at once."""

from __future__ import annotations

import numpy as np
import pytest

from model.errors import SelectionError
from model.steps.checks import largest_difference
from model.steps.three_steps import head_projections, score, sum_values, unmasked_z
from model.trace.trace import Trace, run_trace
from tests.models import make_config, random_network

SHAPES = {
    "three heads of 10": {},
    "one head": {"n_heads": 1},
    "thirty heads of 1": {"n_heads": 30},
    "unscaled": {"scale_attn_weights": False},
    "scaled by layer": {"scale_attn_by_inverse_layer_idx": True},
    "untied": {"tied": False},
}
LENGTHS = {"one token": [7], "some": [5, 17, 260, 5, 17], "full context": [i * 7 % 256 for i in range(32)]}


@pytest.fixture(scope="module", params=[(shape, length) for shape in SHAPES for length in LENGTHS], ids=str)
def some_trace(request: pytest.FixtureRequest) -> Trace:
    shape, length = request.param
    return run_trace(random_network(make_config(**SHAPES[shape])), LENGTHS[length])


def every_head(trace: Trace):
    n_layers, n_heads = trace.z.shape[:2]
    return [(layer, head) for layer in range(n_layers) for head in {0, n_heads - 1}]


def test_x_through_the_heads_matrices_gives_its_q_k_and_v(some_trace: Trace) -> None:
    for layer, head in every_head(some_trace):
        parts, x = head_projections(some_trace.network, layer, head), some_trace.ln_1(layer)
        for part, own in ((parts.q, some_trace.q), (parts.k, some_trace.k), (parts.v, some_trace.v)):
            np.testing.assert_allclose(part(x), own[layer, head], atol=2e-5)


def test_score_and_sum_give_the_models_own_weights_and_z(some_trace: Trace) -> None:
    for layer, head in every_head(some_trace):
        scale = some_trace.network.config.attn_scale(layer)
        for query in {0, some_trace.n_pos // 2, some_trace.n_pos - 1}:
            step = score(some_trace.q[layer, head, query], some_trace.k[layer, head], query=query, scale=scale)
            np.testing.assert_allclose(step.scaled, some_trace.attn_scores(layer, head)[query], atol=2e-5)
            np.testing.assert_allclose(step.weights, some_trace.pattern(layer, head)[query], atol=1e-5)
            assert step.masked.tolist() == [key > query for key in range(some_trace.n_pos)]
            assert not step.weights[step.masked].any()
            z = sum_values(step.weights, some_trace.v[layer, head]).z
            assert largest_difference(z, some_trace.z[layer, head, query]) < 1e-5


def test_without_the_mask_every_key_counts(some_trace: Trace) -> None:
    scale, query = some_trace.network.config.attn_scale(1), some_trace.n_pos // 2
    step = score(some_trace.q[1, 0, query], some_trace.k[1, 0], query=query, scale=scale, causal=False)
    assert not step.masked.any()
    np.testing.assert_allclose(step.weights, some_trace.pattern(1, 0, causal=False)[query], atol=1e-5)
    free = unmasked_z(some_trace, 1, 0)
    np.testing.assert_allclose(sum_values(step.weights, some_trace.v[1, 0]).z, free[query], atol=1e-5)
    np.testing.assert_allclose(free[-1], some_trace.z[1, 0, -1], atol=1e-5)  # the last token sees all anyway


def test_a_score_by_hand() -> None:
    q, k = np.array([1.0, 2.0], np.float32), np.array([[3.0, 1.0], [1.0, 2.0], [9.0, 9.0]], np.float32)
    step = score(q, k, query=1, scale=0.5)
    assert step.products.tolist() == [[3.0, 2.0], [1.0, 4.0], [9.0, 18.0]]
    assert step.sums.tolist() == [5.0, 5.0, 27.0]
    assert step.scaled.tolist() == [2.5, 2.5, 13.5]
    assert step.weights.tolist() == [0.5, 0.5, 0.0]
    total = sum_values(step.weights, k)
    assert total.weighted.tolist() == [[1.5, 0.5], [0.5, 1.0], [0.0, 0.0]]
    assert total.z.tolist() == [2.0, 1.5]


def test_large_scores_do_not_overflow() -> None:
    k = np.array([[300.0], [299.0]], np.float32)
    step = score(np.array([300.0], np.float32), k, query=1, scale=1.0)
    np.testing.assert_allclose(step.weights, [1.0, 0.0], atol=1e-6)


def test_the_articles_toy_shares() -> None:
    """Scores whose softmax is 20%, 10%, 50%, 20%."""
    scores = np.log(np.array([[0.2], [0.1], [0.5], [0.2]], np.float32))
    step = score(np.ones(1, np.float32), scores, query=0, scale=1.0, causal=False)
    np.testing.assert_allclose(step.weights, [0.2, 0.1, 0.5, 0.2], atol=1e-6)


@pytest.mark.parametrize(("layer", "head"), [(2, 0), (-1, 0), (0, 3), (0, -1)])
def test_a_head_that_is_not_there_is_refused(trace: Trace, layer: int, head: int) -> None:
    with pytest.raises(SelectionError, match="no layer" if layer in (2, -1) else "no head"):
        head_projections(trace.network, layer, head)


@pytest.mark.parametrize("query", [-1, 2])
def test_a_position_that_is_not_there_is_refused(query: int) -> None:
    with pytest.raises(SelectionError, match="positions 0 to 1"):
        score(np.ones(3, np.float32), np.ones((2, 3), np.float32), query=query, scale=1.0)
