"""The measures of a head on patterns made by hand, where the right score is known."""

from __future__ import annotations

import numpy as np
import pytest

from model.heads import measures as heads
from tests.model.heads import by_hand

IDS = [5, 6, 7, 8, 5, 6, 7, 8]
N = len(IDS)


def looking_at(keys: list[int]) -> np.ndarray:
    """A pattern in which each query gives its whole weight to one key."""
    pattern = np.zeros((len(keys), len(keys)))
    pattern[np.arange(len(keys)), keys] = 1.0
    return pattern


PREVIOUS = looking_at([0, *range(N - 1)])
ITSELF = np.eye(N)
FIRST = looking_at([0] * N)
INDUCTION = looking_at([0, 0, 0, 0, 1, 2, 3, 4])
DUPLICATE = looking_at([0, 0, 0, 0, 0, 1, 2, 3])
UNIFORM = np.tril(np.ones((N, N))) / np.arange(1, N + 1)[:, None]


@pytest.mark.parametrize(
    ("pattern", "previous", "first", "duplicate", "induction"),
    [
        (PREVIOUS, 1, 1 / 7, 0, 0),
        (ITSELF, 0, 0, 0, 0),
        (FIRST, 1 / 7, 1, 1 / 4, 0),
        (INDUCTION, 1 / 7, 3 / 7, 0, 1),
        (DUPLICATE, 1 / 7, 4 / 7, 1, 0),
    ],
)
def test_scores_of_planted_patterns(pattern, previous, first, duplicate, induction):
    assert heads.previous_token_score(pattern) == pytest.approx(previous)
    assert heads.first_token_score(pattern) == pytest.approx(first)
    assert heads.duplicate_token_score(pattern, IDS) == pytest.approx(duplicate)
    assert heads.induction_score(pattern, IDS) == pytest.approx(induction)


def test_uniform_attention_scores_its_share():
    assert heads.first_token_score(UNIFORM) == pytest.approx(np.mean([1 / n for n in range(2, N + 1)]))
    assert heads.induction_score(UNIFORM, IDS) == pytest.approx(np.mean([1 / n for n in range(5, N + 1)]))


@pytest.mark.parametrize(
    ("pattern", "current", "bits", "distance"),
    [
        (PREVIOUS, 0, 0, 1),
        (ITSELF, 1, 0, 0),
        (FIRST, 0, 0, 4),  # 1, 2, .. 7 tokens back
        (UNIFORM, np.mean([1 / n for n in range(2, N + 1)]), np.mean(np.log2(range(2, N + 1))), 2),
        (looking_at([0, 1, 2, 3, 0, 0, 0, 0]) / 2 + ITSELF / 2, 5 / 7, 4 / 7, 11 / 7),
    ],
)
def test_spread_and_distance_of_known_patterns(pattern, current, bits, distance):
    assert by_hand.current_token_score(pattern) == pytest.approx(current)
    assert by_hand.mean_entropy(pattern) == pytest.approx(bits)
    assert by_hand.mean_distance(pattern) == pytest.approx(distance)


@pytest.mark.parametrize("targets", [by_hand.previous_token_targets(N), heads.induction_targets(IDS)])
@pytest.mark.parametrize("pattern", [PREVIOUS, FIRST, INDUCTION, UNIFORM])
def test_the_detector_counts_all_queries(pattern, targets):
    hits = (pattern * targets).sum()
    assert by_hand.detector_score(pattern, targets) == pytest.approx(hits / N)
    # A hit costs nothing on either side; a miss costs its weight where it is and its target where it is not.
    missed = (N - hits) + (targets.sum() - hits)
    assert by_hand.detector_score(pattern, targets, "abs") == pytest.approx(1 - missed / N)


def test_a_pattern_that_equals_its_targets_scores_one():
    full = by_hand.previous_token_targets(N)
    full[0, 0] = True
    assert (
        by_hand.detector_score(full.astype(float), full) == by_hand.detector_score(full.astype(float), full, "abs") == 1
    )


def test_equal_tokens_score_lowest_of_all():
    same = heads.duplicate_token_targets([3] * N)
    assert by_hand.detector_score(ITSELF, same, "abs") == pytest.approx(-(N - 1) / 2)


def test_several_earlier_occurrences_count_together():
    ids = [1, 2, 1, 3, 1]
    pattern = looking_at([0, 0, 0, 0, 3])
    assert heads.induction_score(pattern, ids) == pytest.approx(0.5)  # of positions 2 (should look at 1) and 4 (1 or 3)
    assert heads.duplicate_token_score(looking_at([0, 0, 0, 0, 2]), ids) == pytest.approx(1.0)


def test_leading_axes_are_layers_and_heads():
    stacked = np.stack([[PREVIOUS, INDUCTION], [FIRST, DUPLICATE]])
    scores = heads.induction_score(stacked, IDS)
    assert scores.shape == (2, 2)
    assert scores[0, 1] == pytest.approx(1.0)
    assert heads.previous_token_score(stacked)[0, 0] == pytest.approx(1.0)


def test_undefined_scores_are_nan():
    assert np.isnan(heads.previous_token_score(np.ones((1, 1))))
    assert np.isnan(heads.induction_score(np.eye(3), [1, 2, 3]))
    assert np.isnan(heads.duplicate_token_score(np.eye(3), [1, 2, 3]))
    for score in (by_hand.current_token_score, by_hand.mean_entropy, by_hand.mean_distance):
        assert np.isnan(score(np.ones((1, 1))))
