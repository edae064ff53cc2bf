"""Heads that rest on the first token, and their pattern without it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from model.heads.sinks import hide_first_token, is_sink


def test_the_rest_is_scaled_up():
    pattern = np.array([[1, 0, 0], [0.9, 0.1, 0], [0.8, 0.05, 0.15]])
    np.testing.assert_allclose(hide_first_token(pattern), [[1, 0, 0], [0, 1, 0], [0, 0.25, 0.75]])


def test_a_row_without_any_other_weight_stays():
    pattern = np.array([[1.0, 0, 0], [1.0, 0, 0], [1.0, 0, 0]], dtype=np.float32)
    assert (hide_first_token(pattern) == pattern).all()
    tiny = np.array([[1.0, 0, 0], [1.0, 1e-30, 3e-30]], dtype=np.float32)[:, :2]
    np.testing.assert_allclose(hide_first_token(tiny), [[1, 0], [0, 1]])


def test_most_is_more_than_half():
    assert is_sink(np.array([[1, 0, 0], [0.6, 0.4, 0], [0.5, 0.4, 0.1]]))
    assert not is_sink(np.array([[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.4, 0.1]]))
    assert not is_sink(np.ones((1, 1)))  # one token has no choice


@given(n=st.integers(1, 12), sharp=st.floats(0, 60))
def test_rows_still_add_up_to_one(n, sharp):
    scores = np.random.default_rng(n).normal(size=(n, n)) + sharp * (np.arange(n) == 0)
    weights = np.tril(np.exp(scores - scores.max(1, keepdims=True))).astype(np.float32)
    pattern = weights / weights.sum(1, keepdims=True)
    rest = hide_first_token(pattern)
    assert rest.dtype == pattern.dtype
    np.testing.assert_allclose(rest.sum(1), 1, atol=1e-5)
    assert not rest[1:, 0].any()
    assert not np.triu(rest, 1).any()
    for row, before in zip(rest[2:, 1:], pattern[2:, 1:], strict=True):  # the rest keep their proportions
        np.testing.assert_allclose(row * before.sum(), before, atol=1e-6)
