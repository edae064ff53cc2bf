"""The mask's steps against a head's own numbers, the two masks against each other, and the article's fixed table."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.steps import masking
from model.steps.checks import largest_difference
from model.trace.trace import run_trace
from tests.models import make_config, random_network

SHAPES = {
    "three heads": {},
    "one head": {"n_heads": 1, "d_model": 7},
    "scale by layer": {"scale_attn_by_inverse_layer_idx": True},
    "no scale": {"scale_attn_weights": False},
    "untied": {"tied": False},
}


@pytest.fixture(scope="module", params=SHAPES)
def network(request):
    return random_network(make_config(**SHAPES[request.param]))


@pytest.mark.parametrize("n", [1, 2, 9, 32])
def test_the_steps_are_the_heads_own_numbers(network, n):
    trace = run_trace(network, [(7 * i) % 250 for i in range(n)])
    for layer in range(network.config.n_layers):
        head = layer % network.config.n_heads
        products = trace.attn_scores(layer, head, scaled=False)
        steps = masking.mask_steps(products, network.config.attn_scale(layer))
        np.testing.assert_array_equal(steps.products, products)
        np.testing.assert_allclose(steps.scaled, trace.attn_scores(layer, head), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(steps.masked, trace.masked_scores(layer, head), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(steps.pattern, trace.pattern(layer, head), atol=1e-6)
        z = masking.head_output(steps.pattern, trace.v[layer, head])
        assert largest_difference(z, trace.z[layer, head]) < 1e-5


def test_subtracting_gives_the_same_weights_as_minus_infinity(network):
    trace = run_trace(network, list(range(32)))
    products, scale = trace.attn_scores(1, 0, scaled=False), network.config.attn_scale(1)
    infinite = masking.mask_steps(products, scale)
    finite = masking.mask_steps(products, scale, subtract=masking.SUBTRACTED)
    hidden = np.triu(np.ones((32, 32), bool), 1)
    assert np.isneginf(infinite.masked[hidden]).all()
    assert (finite.masked[hidden] == -1e10).all()
    np.testing.assert_array_equal(finite.masked[~hidden], infinite.masked[~hidden])
    assert largest_difference(finite.pattern, infinite.pattern) == 0
    assert (finite.pattern[hidden] == 0).all()


def test_too_small_a_number_would_let_the_future_through():
    scores = np.array([[0.0, 0.0], [0.0, 0.0]], np.float32)
    assert masking.mask_steps(scores, 1.0, subtract=1.0).pattern[0, 1] == pytest.approx(1 / (1 + math.e))


def test_a_masked_score_is_dropped_before_the_number_is_subtracted():
    masked = masking.subtract_mask(torch.tensor([[3.0, 5e9], [2.0, 4.0]]))
    assert masked.tolist() == [[3.0, -1e10], [2.0, 4.0]]


def test_the_articles_weights_follow_from_its_scores_divided_by_four():
    for subtract in (None, masking.SUBTRACTED):
        steps = masking.article_steps(subtract=subtract)
        np.testing.assert_array_equal(masking.as_printed(steps.pattern), masking.ARTICLE_WEIGHTS)
        np.testing.assert_array_equal(steps.scaled, masking.ARTICLE_SCORES / 4)
    unscaled = masking.as_printed(masking.article_steps(scaled=False).pattern)
    assert unscaled[1].tolist() == [0.42, 0.58, 0, 0]
    assert largest_difference(unscaled, masking.ARTICLE_WEIGHTS) > 0.05
    assert masking.ARTICLE_SCORES[2].tolist() == [0.53, 0.98, 0.95, 0.14]


def test_the_three_largest_shares_in_the_order_of_the_text():
    shares = masking.largest_shares(np.array([0.1, 0.4, 0.05, 0.3, 0.15]))
    assert shares.named == ((1, 0.4), (3, 0.3), (4, 0.15))
    assert (shares.n_rest, shares.rest) == (2, pytest.approx(0.15))


def test_small_shares_are_not_named_but_one_always_is():
    assert masking.largest_shares(np.array([0.999, 0.0005, 0.0005])).named == ((0, 0.999),)
    even = masking.largest_shares(np.full(1024, 1 / 1024, np.float32))
    assert even.named == ((0, 1 / 1024),)
    assert even.n_rest == 1023
    assert masking.largest_shares(np.ones(1)) == masking.Shares(((0, 1.0),), 0, 0.0)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40).filter(any))
def test_named_and_other_shares_add_up(weights):
    row = np.array(weights) / sum(weights)
    shares = masking.largest_shares(row)
    assert 1 <= len(shares.named) <= 3
    assert len(shares.named) + shares.n_rest == len(row)
    assert sum(share for _, share in shares.named) + shares.rest == pytest.approx(1)
    assert max(share for _, share in shares.named) == row.max()
