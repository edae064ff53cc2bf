"""Which patterns a change moved, and by how much."""

from __future__ import annotations

import numpy as np
import pytest

from model.changes.interventions import NO_CHANGES, Changes, Link, Off
from model.heads import effects
from model.heads.comparison import js_divergence
from model.heads.effects import compared_rows, pattern_shifts, row_shifts
from model.trace.trace import run_trace
from tests.model.conftest import IDS


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


def test_of_a_long_text_the_query_named_is_a_position_of_the_text(network, trace, monkeypatch):
    monkeypatch.setattr(effects, "MOST_ROWS", 4)
    after = run_trace(network, IDS, changes=Changes((Off(0, 1, "zero"),)))
    for shift in pattern_shifts(trace, after):
        rows = js_divergence(trace.pattern(shift.layer, shift.head), after.pattern(shift.layer, shift.head))
        assert shift.query in (3, 6, 9)  # of the rows 0, 3, 6, 9, the first of which only reads itself
        assert shift.largest == rows[shift.query] == rows[[0, 3, 6, 9]].max()
