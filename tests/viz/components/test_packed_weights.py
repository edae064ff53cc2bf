"""What of a strip's weights travels to the browser: exact where it may, else few bytes and hardly rounded."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from viz.components.packed_weights import EXACT_BYTES, PACKED_BYTES, SCALES, PackedWeights, pack


def pattern(n: int, seed: int = 0, spread: float = 2.0) -> np.ndarray:
    """Softmax weights as of a random head; `spread` 0: every token sees all before it alike."""
    weights = np.tril(np.exp(np.random.default_rng(seed).normal(size=(n, n)) * spread))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


def unpacked(packed: PackedWeights, n_heads: int) -> list[np.ndarray]:
    """Each head's triangle as the browser reads it."""
    if not packed.name:
        return [column.to_numpy() for column in packed.table.columns]
    low, high = np.frombuffer(zlib.decompress(packed.table.column(0).to_numpy().tobytes()), np.uint8).reshape(2, -1)
    return np.split((low + high.astype(np.uint16) * 256) / packed.scale, n_heads)


@pytest.mark.parametrize(("n", "n_heads"), [(1, 1), (2, 4), (15, 2), (256, 4), (540, 1)])
def test_few_weights_come_back_exactly(n, n_heads):
    patterns = [pattern(n, seed) for seed in range(n_heads)]
    packed = pack(patterns)
    assert (packed.scale, packed.name) == (1, "")
    for triangle, expected in zip(unpacked(packed, n_heads), patterns, strict=True):
        np.testing.assert_array_equal(triangle, expected[np.tril_indices(n)])


@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("n_heads", [1, 2, 4])
def test_many_are_rounded_and_small(n_heads, spread):
    patterns = [pattern(1024, seed, spread) for seed in range(n_heads)]
    packed = pack(patterns)
    assert packed.table.nbytes <= PACKED_BYTES
    assert packed.scale == SCALES[0] or n_heads > 1
    for triangle, expected in zip(unpacked(packed, n_heads), patterns, strict=True):
        assert np.abs(triangle - expected[np.tril_indices(1024)]).max() <= 0.5 / packed.scale + 1e-7


def test_all_attention_on_one_token_stays_all():
    n = 1024
    assert n * (n + 1) * 2 > EXACT_BYTES
    (triangle,) = unpacked(pack([np.eye(n, dtype=np.float32)]), 1)
    assert triangle[-1] == 1
    assert triangle[-n:-1].max() == 0


def test_the_same_weights_are_packed_once_and_others_anew():
    first, again, other = pack([pattern(800)]), pack([pattern(800)]), pack([pattern(800, seed=1)])
    assert first is again
    assert other.name != first.name
