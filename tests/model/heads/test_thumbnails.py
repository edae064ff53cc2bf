"""Thumbnails: the patterns themselves while they fit, and honest sums of the model's own weights where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.heads.thumbnails import thumbnails
from model.network.gpt2 import GPT2
from model.trace.trace import Trace, run_trace
from tests.models import make_config, random_network

LONG = random_network(make_config(n_ctx=160))


def patterns(trace: Trace) -> np.ndarray:
    """(layer, head, query, key)"""
    config = trace.network.config
    return np.array([[trace.pattern(i, j) for j in range(config.n_heads)] for i in range(config.n_layers)])


def test_what_fits_is_the_pattern_itself(trace: Trace) -> None:
    shown = thumbnails(trace)
    assert shown.block == 1
    assert shown.queries.tolist() == list(range(trace.n_pos))
    np.testing.assert_allclose(shown.weights, patterns(trace), atol=1e-5)


@given(n_pos=st.integers(1, 160), max_cells=st.integers(1, 64), seed=st.integers(0, 9))
@settings(max_examples=25)
def test_rows_are_sampled_and_columns_added_up(n_pos: int, max_cells: int, seed: int) -> None:
    ids = np.random.default_rng(seed).integers(0, LONG.config.d_vocab, n_pos).tolist()
    trace = run_trace(LONG, ids)
    shown = thumbnails(trace, max_cells=max_cells)
    assert shown.n_cells <= max_cells
    assert (n_pos <= max_cells) == (shown.block == 1)
    np.testing.assert_allclose(shown.weights.sum(-1), 1, atol=1e-5)
    assert not np.triu(shown.weights, 1).any()
    # Row i is the last query of block i, column j adds up block j.
    assert shown.queries.tolist() == [min((i + 1) * shown.block, n_pos) - 1 for i in range(shown.n_cells)]
    starts = range(0, n_pos, shown.block)
    expected = np.add.reduceat(patterns(trace)[:, :, shown.queries], starts, axis=-1)
    np.testing.assert_allclose(shown.weights, expected, atol=1e-5)


def test_a_layers_own_scale_is_used() -> None:
    network = random_network(make_config(scale_attn_by_inverse_layer_idx=True))
    trace = run_trace(network, [1, 2, 3, 4, 5])
    np.testing.assert_allclose(thumbnails(trace).weights, patterns(trace), atol=1e-5)


def test_they_are_read_only_and_need_a_cell(network: GPT2) -> None:
    trace = run_trace(network, [1])
    assert thumbnails(trace).weights.tolist() == np.ones((2, 3, 1, 1)).tolist()
    with pytest.raises(ValueError, match="read-only"):
        thumbnails(trace).weights[0, 0, 0, 0] = 0
    with pytest.raises(ValueError, match="0 cells"):
        thumbnails(trace, max_cells=0)
