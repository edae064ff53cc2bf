"""KL and entropy in bits against values worked out by hand; which patterns a change moved, and by how much."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from model.changes.interventions import NO_CHANGES, Changes, Link, Off
from model.heads.comparison import js_divergence
from model.heads.effects import compared_rows, entropy_bits, kl_bits, log_probabilities, pattern_shifts, row_shifts
from model.trace.trace import run_trace
from tests.model.conftest import IDS

LOGITS = arrays(np.float32, 7, elements=st.floats(-40, 40, width=32))


def test_kl_of_two_coins():
    half, skewed = np.log([0.5, 0.5]), np.log([0.75, 0.25])
    assert kl_bits(half, skewed) == pytest.approx(0.5 * np.log2(0.5 / 0.75) + 0.5 * np.log2(0.5 / 0.25))
    assert kl_bits(skewed, half) == pytest.approx(0.75 * np.log2(1.5) + 0.25 * np.log2(0.5))
    certain, other = np.array([0.0, -1e4]), np.array([-1e4, 0.0])
    assert np.isfinite(kl_bits(certain, other))


@settings(max_examples=30)
@given(LOGITS, LOGITS, st.floats(-100, 100))
def test_kl_is_never_negative_and_0_for_equal_rows(a, b, shift):
    assert kl_bits(a, b) >= 0
    assert kl_bits(a, a) == 0
    assert kl_bits(np.float64(a) + shift, b) == pytest.approx(kl_bits(a, b), abs=1e-9)


@settings(max_examples=30)
@given(LOGITS)
def test_entropy_lies_between_certain_and_all_alike(logits):
    assert -1e-12 <= entropy_bits(logits) <= np.log2(7) + 1e-9
    np.testing.assert_allclose(np.exp(log_probabilities(logits)).sum(), 1.0)


def test_entropy_of_known_rows():
    rows = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, -1e5, -1e5, -1e5]])
    np.testing.assert_allclose(entropy_bits(rows), [2.0, 0.0], atol=1e-12)


def test_shifts_are_those_of_the_rows_of_later_heads(network, trace):
    after = run_trace(network, IDS, changes=Changes((Off(0, 1, "zero"),)))
    shifts = pattern_shifts(trace, after)
    assert [(shift.layer, shift.head) for shift in shifts] == [(1, 0), (1, 1), (1, 2)]
    for shift in shifts:
        rows = js_divergence(trace.pattern(shift.layer, shift.head), after.pattern(shift.layer, shift.head))
        assert (shift.largest, shift.query) == (rows.max(), rows.argmax())
        assert shift.mean == pytest.approx(rows[1:].mean())
        assert shift.largest > 1e-4


def test_no_change_moves_nothing(network, trace):
    assert pattern_shifts(trace, run_trace(network, IDS, changes=NO_CHANGES)) == []
    assert not row_shifts(trace, trace, 1, 2)[0].any()
    last = run_trace(network, IDS, changes=Changes((Off(1, 1, "zero"),)))
    assert pattern_shifts(trace, last) == []  # no layer comes after


@pytest.mark.parametrize("renormalise", [False, True])
def test_weight_that_a_row_lost_counts_as_given_to_nothing(network, trace, renormalise):
    cut = Changes((), (Link(1, 2, 5, 0), Link(1, 2, 0, 0)), renormalise)
    rows, _ = row_shifts(trace, run_trace(network, IDS, changes=cut), 1, 2)
    assert rows[0] == pytest.approx(1.0, abs=1e-6)  # all of it
    before, after = trace.pattern(1, 2)[5], trace.pattern(1, 2)[5].copy()
    after[0] = 0.0
    lost = 0.0 if renormalise else before[0]
    after = after / after.sum() if renormalise else after
    assert rows[5] == pytest.approx(float(js_divergence(np.append(before, 0.0), np.append(after, lost))), abs=1e-6)
    assert not rows[[1, 2, 3, 4, 6, 7, 8, 9]].any()


def test_of_a_long_text_rows_are_spread_evenly():
    assert compared_rows(1).tolist() == [0]
    assert compared_rows(256).tolist() == list(range(256))
    rows = compared_rows(1024)
    assert (len(rows), rows[0], rows[-1]) == (256, 0, 1023)
    assert set(np.diff(rows)) <= {4, 5}
