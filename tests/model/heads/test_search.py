"""Heads found by where they look: the weights are the patterns' own, the ranking is the stated one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from model.errors import SelectionError
from model.heads import search as find_heads
from model.heads.search import Found, largest_of, mean_weights_to, ranked, strongest_key
from model.trace.trace import Trace, run_trace
from tests.model.conftest import IDS
from tests.models import make_config, random_network


def patterns(trace: Trace) -> np.ndarray:
    """(layer, head, query, key)"""
    config = trace.network.config
    return np.array([[trace.pattern(i, j) for j in range(config.n_heads)] for i in range(config.n_layers)])


def test_to_a_key_it_is_the_mean_over_the_queries_that_see_it(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    every = patterns(trace)
    expected = np.stack([every[:, :, key:, key].mean(axis=-1) for key in range(trace.n_pos)], axis=-1)
    np.testing.assert_allclose(mean_weights_to(trace), expected, atol=1e-5)
    monkeypatch.setattr(find_heads, "_BLOCK", 70)  # two queries at a time
    np.testing.assert_allclose(mean_weights_to(trace), expected, atol=1e-5)


def test_the_strongest_key_of_a_row_made_by_hand() -> None:
    rows = np.array([[[0.7, 0.1, 0.2], [0.1, 0.3, 0.6]]])
    weight, key = strongest_key(rows)
    assert weight.tolist() == [[0.7, 0.6]]
    assert key.tolist() == [[0, 2]]
    weight, key = strongest_key(rows, left_out=(0, 2))
    assert weight.tolist() == [[0.1, 0.3]]
    assert key.tolist() == [[1, 1]]
    with pytest.raises(SelectionError, match="left out"):
        strongest_key(rows[..., :1], left_out=(0,))


def test_a_ranking_made_by_hand() -> None:
    weights = np.array([[0.2, 0.5], [0.5, 0.004]])
    assert ranked(weights, 3, most=9, least=0.01) == [Found(0, 1, 0.5, 3), Found(1, 0, 0.5, 3), Found(0, 0, 0.2, 3)]
    keys = np.array([[7, 8], [9, 6]])
    assert ranked(weights, keys, most=2) == [Found(0, 1, 0.5, 8), Found(1, 0, 0.5, 9)]


@given(arrays(np.float32, (3, 4), elements=st.floats(0, 1, width=32)), st.integers(0, 12), st.floats(0, 1))
def test_a_ranking_leaves_out_nobody_who_is_larger(weights: np.ndarray, most: int, least: float) -> None:
    found = ranked(weights, 0, most=most, least=least)
    assert len(found) == min(most, int((weights >= least).sum()))
    shown = [one.weight for one in found]
    assert shown == sorted(shown, reverse=True)
    assert all(weights[one.layer, one.head] == np.float32(one.weight) for one in found)
    left = np.delete(weights.ravel(), [one.layer * 4 + one.head for one in found])
    assert not found or not (left > shown[-1]).any()


def test_the_largest_of_several_scores() -> None:
    nan = np.nan
    scores = [np.array([[0.1, nan, nan]]), np.array([[0.4, 0.2, nan]])]
    assert largest_of(scores).tolist() == [[1, 1, -1]]


def test_each_layer_is_read_with_its_own_scale() -> None:
    network = random_network(make_config(n_layers=3, scale_attn_by_inverse_layer_idx=True))
    trace = run_trace(network, IDS)
    every = patterns(trace)
    expected = np.stack([every[:, :, key:, key].mean(axis=-1) for key in range(trace.n_pos)], axis=-1)
    np.testing.assert_allclose(mean_weights_to(trace), expected, atol=1e-5)
