"""The alignment of two texts: known ones, and against a plain recursive longest common subsequence."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.text.align import align, aligned_part, with_rest

IDS = st.lists(st.integers(0, 4), max_size=12)


def longest(a, b):
    @cache
    def length(i, j):
        if i == len(a) or j == len(b):
            return 0
        return 1 + length(i + 1, j + 1) if a[i] == b[j] else max(length(i + 1, j), length(i, j + 1))

    return length(0, 0)


@pytest.mark.parametrize(
    ("a", "b", "pairs"),
    [
        ([1, 2, 3], [1, 2, 3], [(0, 0), (1, 1), (2, 2)]),
        ([1, 2, 3, 4], [1, 9, 3, 4], [(0, 0), (2, 2), (3, 3)]),  # one token changed
        ([1, 2, 3, 4], [1, 3, 4], [(0, 0), (2, 1), (3, 2)]),  # one left out
        ([1, 2], [1, 7, 8, 2], [(0, 0), (1, 3)]),  # two put in
        ([1, 1, 1], [1], [(0, 0)]),
        ([5, 1, 2, 9], [6, 2, 1, 8], [(1, 2)]),  # of two equally long ones, the earlier in the first text
        ([1, 2], [3, 4], []),
        ([1, 2], [], []),
    ],
)
def test_known_alignments(a, b, pairs):
    found = align(a, b)
    assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == pairs


@given(IDS, IDS)
def test_partners_are_equal_in_order_and_as_many_as_possible(a, b):
    found = align(a, b)
    assert [a[i] for i in found.first] == [b[j] for j in found.second]
    assert (np.diff(found.first) > 0).all()
    assert (np.diff(found.second) > 0).all()
    assert len(found.first) == longest(tuple(a), tuple(b))
    only_first, only_second = ([pos for gap in found.gaps for pos in gap[text]] for text in (0, 1))
    assert sorted([*found.first, *only_first]) == list(range(len(a)))
    assert sorted([*found.second, *only_second]) == list(range(len(b)))
    for pos in range(len(a)):
        partner = found.to_second(pos)
        assert (partner is None) == (pos in only_first)
        assert partner is None or found.turned.to_second(partner) == pos


def test_what_stands_in_a_tokens_place():
    found = align([1, 2, 3, 4, 5, 6], [1, 7, 4, 8, 9, 6])
    assert found.gaps == [(range(1, 3), range(1, 2)), (range(4, 5), range(3, 5))]
    assert [found.counterpart(pos) for pos in range(6)] == [0, 1, 1, 2, 3, 5]
    assert [found.turned.counterpart(pos) for pos in range(6)] == [0, 1, 3, 4, 4, 5]
    shorter = align([1, 2, 3], [1, 3])
    assert shorter.gaps == [(range(1, 2), range(1, 1))]
    assert [shorter.counterpart(pos) for pos in range(3)] == [0, 0, 1]
    assert align([5], [6, 7]).counterpart(0) == 0
    assert align([5, 1], [1]).counterpart(0) == 0


@given(IDS.filter(bool), IDS.filter(bool))
def test_every_token_has_a_place_in_the_other_text(a, b):
    found = align(a, b)
    assert sum(len(gap[0]) for gap in found.gaps) == len(a) - len(found.first)
    assert sum(len(gap[1]) for gap in found.gaps) == len(b) - len(found.second)
    assert all(0 <= found.counterpart(pos) < len(b) for pos in range(len(a)))
    assert all(0 <= found.turned.counterpart(pos) < len(a) for pos in range(len(b)))


def test_long_texts_align():
    ids = np.random.default_rng(0).integers(0, 50, 1024)
    other = np.delete(ids, [3, 500, 501])
    other[700] = 99
    found = align(ids.tolist(), other.tolist())
    assert len(found.first) == 1020
    assert len(align(ids.tolist(), ids[::-1].tolist()).first) > 100


def test_what_is_read_without_a_partner_is_one_column():
    pattern = np.array([[1, 0, 0], [0.25, 0.75, 0], [0.5, 0.375, 0.125]], np.float32)
    part = aligned_part(pattern, np.array([0, 2]))
    np.testing.assert_array_equal(part, [[1, 0], [0.5, 0.125]])
    np.testing.assert_array_equal(with_rest(part), [[1, 0, 0], [0.5, 0.125, 0.375]])
