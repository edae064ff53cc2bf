from __future__ import annotations

import numpy as np
import pytest

from viz.figures.blocks import block_axis, block_note, starts_of, strongest, to_blocks
from viz.figures.labels import token_axis


@pytest.mark.parametrize("n", [1, 15, 256])
def test_up_to_256_nothing_is_reduced(n):
    values = np.random.default_rng(0).normal(size=(n, n))
    blocks = to_blocks(values)
    assert not blocks.reduced
    assert blocks.values is values
    assert block_note(blocks.block) == ""
    np.testing.assert_array_equal(blocks.rows[:, 0], np.arange(n))


def test_a_longer_side_may_be_reduced_to_fewer_cells_than_are_left_alone():
    values = np.random.default_rng(0).normal(size=(300, 40))
    blocks = to_blocks(values, max_cells=256, reduced_cells=100)
    assert blocks.block == (3, 1)
    assert blocks.values.shape == (100, 40)


@pytest.mark.parametrize(("n", "block"), [(257, 2), (600, 3), (1024, 4)])
def test_a_block_shows_its_strongest_value_and_where_it_lies(n, block):
    values = np.random.default_rng(0).normal(size=(n, n)).astype(np.float32)
    masked = np.triu(np.ones((n, n), bool), 1)
    blocks = to_blocks(values, masked)
    assert blocks.block == (block, block)
    assert max(blocks.values.shape) <= 256
    np.testing.assert_array_equal(blocks.values, values[blocks.rows, blocks.columns])
    for r, c in [(0, 0), (3, 1), (blocks.values.shape[0] - 1, 0), (7, 7), (2, 9)]:
        rows, columns = slice(r * block, (r + 1) * block), slice(c * block, (c + 1) * block)
        seen = np.where(masked, 0, values)[rows, columns]
        assert blocks.masked[r, c] == masked[rows, columns].all()
        if not blocks.masked[r, c]:
            assert abs(blocks.values[r, c]) == np.abs(seen).max()
    assert "strongest" in block_note(blocks.block)


def test_a_single_strong_cell_survives():
    values = np.zeros((1000, 1000))
    values[901, 17] = -5
    assert to_blocks(values).values.min() == -5


def test_values_that_are_not_finite_are_masked():
    assert to_blocks(np.array([[1.0, np.nan], [np.inf, 2.0]])).masked.tolist() == [[False, True], [True, False]]


def test_names_of_blocks():
    axis = block_axis(token_axis("key", list("abcdefg")), 3)
    assert axis.names == ("1–3", "4–6", "7")
    assert axis.ticks == ("1 a", "4 d", "7 g")


def test_the_strongest_of_a_square_keeps_its_sign():
    weights = np.array([[1.0, -2.0, 0.5], [0.1, 0.2, -0.6], [3.0, -3.5, 0.0]])
    twos = starts_of(3, 2)
    np.testing.assert_array_equal(strongest(weights, twos, twos), [[-2.0, -0.6], [-3.5, 0.0]])
    np.testing.assert_array_equal(strongest(weights, twos), [[-2.0, 0.5], [0.2, -0.6], [-3.5, 0.0]])
    np.testing.assert_array_equal(strongest(weights, starts_of(3, 3), starts_of(3, 8)), weights)


@pytest.mark.parametrize(
    ("n", "most", "starts"), [(5, 3, [0, 2, 4]), (64, 4, [0, 16, 32, 48]), (7, 1, [0]), (1, 8, [0])]
)
def test_a_vector_is_cut_into_pieces_of_equal_length(n, most, starts):
    assert starts_of(n, most).tolist() == starts


def test_the_strongest_values_are_those_that_blocks_show():
    values = np.random.default_rng(0).normal(size=(600, 300))
    blocks = to_blocks(values)
    starts = (np.arange(0, n, b) for n, b in zip(values.shape, blocks.block, strict=True))
    np.testing.assert_array_equal(strongest(values, *starts), blocks.values)
