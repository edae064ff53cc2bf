"""The article's steps, each against numbers worked out by hand or a plain loop."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from model.network import attention


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_split_heads_cuts_each_vector_into_consecutive_pieces():
    x = torch.arange(12.0).reshape(2, 6)  # two positions
    heads = attention.split_heads(x, 3)
    assert heads.tolist() == [[[0, 1], [6, 7]], [[2, 3], [8, 9]], [[4, 5], [10, 11]]]
    assert heads.data_ptr() == x.data_ptr()


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_merge_heads_is_the_inverse_of_split_heads(batch):
    x = _random(*batch, 5, 12)
    split = attention.split_heads(x, 4)
    assert split.shape == (*batch, 4, 5, 3)
    assert torch.equal(attention.merge_heads(split), x)
    assert torch.equal(attention.split_heads(attention.merge_heads(split), 4), split)


def test_scores_are_scaled_dot_products_of_query_rows_and_key_columns():
    q, k = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]])
    assert attention.attn_scores(q, k, 0.5).tolist() == [[8.5, 11.5, 14.5], [19.5, 26.5, 33.5]]


def test_the_mask_hides_the_keys_after_the_query():
    assert attention.causal_mask(3, 3).tolist() == [[False, True, True], [False, False, True], [False, False, False]]


def test_with_a_prefix_the_queries_are_the_last_positions():
    assert attention.causal_mask(2, 4).tolist() == [[False, False, False, True], [False, False, False, False]]
    assert attention.causal_mask(1, 4).tolist() == [[False, False, False, False]]


def test_masked_scores_are_minus_infinity_or_the_given_value():
    scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert attention.apply_mask(scores).tolist() == [[1.0, -math.inf], [3.0, 4.0]]
    assert scores.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_softmax_of_known_scores():
    weights = attention.softmax(torch.tensor([[0.0, math.log(3.0), -math.inf]]))
    assert weights[0].tolist() == pytest.approx([0.25, 0.75, 0.0], abs=1e-7)
    assert weights[0, 2] == 0.0


def test_softmax_survives_large_scores():
    assert attention.softmax(torch.tensor([[1000.0, 1000.0, -1000.0]])).tolist() == [[0.5, 0.5, 0.0]]


def test_weighted_values_add_up_to_the_weighted_sum():
    pattern, v = attention.softmax(_random(2, 4, 4)), _random(2, 4, 3, seed=1)
    z = attention.weighted_sum(pattern, v)
    for query in range(4):
        values = attention.weighted_values(pattern[:, query], v)
        assert values.shape == (2, 4, 3)
        torch.testing.assert_close(values.sum(dim=-2), z[:, query], atol=1e-6, rtol=0)
    known = attention.weighted_values(torch.tensor([0.25, 0.75]), torch.tensor([[4.0, 8.0], [4.0, 0.0]]))
    assert known.tolist() == [[1.0, 2.0], [3.0, 0.0]]


@pytest.mark.parametrize("n_query", [1, 2, 5, 7])
@pytest.mark.parametrize("batch", [(3,), (2, 3)])
def test_the_fused_kernel_equals_the_steps(n_query, batch):
    q, k, v = _random(*batch, n_query, 5), _random(*batch, 7, 5, seed=1), _random(*batch, 7, 5, seed=2)
    scale = 5**-0.5
    pattern = attention.softmax(attention.apply_mask(attention.attn_scores(q, k, scale)))
    expected = attention.weighted_sum(pattern, v)
    torch.testing.assert_close(attention.fused_attention(q, k, v, scale), expected, atol=1e-6, rtol=0)


def test_the_fused_kernel_uses_the_given_scale():
    q, k, v = _random(1, 3, 4), _random(1, 3, 4, seed=1), _random(1, 3, 4, seed=2)
    sharp, flat = attention.fused_attention(q, k, v, 2.0), attention.fused_attention(q, k, v, 0.0)
    torch.testing.assert_close(flat[0, 2], v[0].mean(dim=0), atol=1e-6, rtol=0)
    assert not torch.allclose(sharp, flat, atol=1e-3)
