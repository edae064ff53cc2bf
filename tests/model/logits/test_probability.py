"""Probabilities, their ranking, entropy and KL against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from model.logits.probability import entropy_bits, kl_bits, log_probabilities, n_tied, probabilities, ranking, top

HALVES = np.array([0.125, 0.5, 0.125, 0.25])
LOGITS = np.log(HALVES).astype(np.float32)
ROWS = arrays(np.float32, 7, elements=st.floats(-40, 40, width=32))


def test_kl_of_two_coins():
    half, skewed = np.log([0.5, 0.5]), np.log([0.75, 0.25])
    assert kl_bits(half, skewed) == pytest.approx(0.5 * np.log2(0.5 / 0.75) + 0.5 * np.log2(0.5 / 0.25))
    assert kl_bits(skewed, half) == pytest.approx(0.75 * np.log2(1.5) + 0.25 * np.log2(0.5))
    certain, other = np.array([0.0, -1e4]), np.array([-1e4, 0.0])
    assert np.isfinite(kl_bits(certain, other))


@settings(max_examples=30)
@given(ROWS, ROWS, st.floats(-100, 100))
def test_kl_is_never_negative_and_0_for_equal_rows(a, b, shift):
    assert kl_bits(a, b) >= 0
    assert kl_bits(a, a) == 0
    assert kl_bits(np.float64(a) + shift, b) == pytest.approx(kl_bits(a, b), abs=1e-9)


@settings(max_examples=30)
@given(ROWS)
def test_entropy_lies_between_certain_and_all_alike(logits):
    assert -1e-12 <= entropy_bits(logits) <= np.log2(7) + 1e-9
    np.testing.assert_allclose(np.exp(log_probabilities(logits)).sum(), 1.0)


def test_entropy_of_known_rows():
    rows = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, -1e5, -1e5, -1e5]])
    np.testing.assert_allclose(entropy_bits(rows), [2.0, 0.0], atol=1e-12)


def test_a_temperature_of_one_is_the_softmax():
    np.testing.assert_allclose(probabilities(LOGITS), HALVES, atol=1e-7)


def test_a_temperature_of_one_half_squares_and_of_two_takes_roots():
    np.testing.assert_allclose(probabilities(LOGITS, 0.5), HALVES**2 / (HALVES**2).sum(), atol=1e-7)
    np.testing.assert_allclose(probabilities(LOGITS, 2.0), HALVES**0.5 / (HALVES**0.5).sum(), atol=1e-7)


def test_large_logits_and_tiny_temperatures_stay_finite():
    np.testing.assert_array_equal(probabilities(np.array([1e4, -1e4, 0.0]), 1e-6), [1, 0, 0])


def test_equal_values_are_ranked_by_id():
    np.testing.assert_array_equal(ranking(HALVES), [1, 3, 0, 2])


@given(st.lists(st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 3.0]), min_size=1, max_size=40), st.integers(1, 50))
def test_top_is_the_beginning_of_the_ranking_ties_included(values: list[float], n: int) -> None:
    assert top(np.array(values), n).tolist() == ranking(np.array(values))[:n].tolist()


@pytest.mark.parametrize(("logits", "expected"), [([1, 3, 2], 1), ([3, 1, 3, 2], 2), ([0.5] * 5, 5), ([-np.inf, 0], 1)])
def test_the_tokens_that_share_the_largest_logit_are_counted(logits, expected):
    assert n_tied(np.array(logits, np.float32)) == expected


def test_kl_is_that_of_the_first_from_the_second_not_turned_round():
    """Bits by hand: 0.9 log2(0.9 / 0.5) + 0.1 log2(0.1 / 0.5); the other way round it is 0.737."""
    assert kl_bits(np.log([0.9, 0.1]), np.log([0.5, 0.5])) == pytest.approx(0.531, abs=5e-4)
    assert kl_bits(np.log([0.5, 0.5]), np.log([0.9, 0.1])) == pytest.approx(0.737, abs=5e-4)
