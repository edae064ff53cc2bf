"""The nearest position after which the next token is open."""

from __future__ import annotations

import pytest

from model.logits.open_guess import open_position
from model.logits.probability import probabilities
from model.trace.trace import Trace, run_trace
from tests.models import make_config, random_network


@pytest.fixture(scope="module")
def trace() -> Trace:
    return run_trace(random_network(make_config()), list(range(8)))


@pytest.mark.parametrize("query", range(8))
def test_the_nearest_after_the_query_else_before_it(trace: Trace, query: int) -> None:
    best = [probabilities(trace.logits(pos)).max() for pos in range(8)]
    for most in (*best, 0.0, 1.0):
        near = [*range(query + 1, min(query + 4, 8)), *range(query - 1, max(query - 4, -1), -1)]
        expected = next((pos for pos in near if best[pos] <= most), None)
        assert open_position(trace, query, most=most, reach=3) == expected


def test_one_token_has_no_other(trace: Trace) -> None:
    alone = run_trace(trace.network, [0])
    assert open_position(alone, 0, most=1.0) is None
