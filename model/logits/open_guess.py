"""Where the next token is open: a position after which no token has most of the probability."""

from __future__ import annotations

from model.logits.probability import probabilities
from model.trace.trace import Trace

SURE = 0.95
"""From this probability of one token on, the others leave little to see."""


def open_position(trace: Trace, query: int, *, most: float = 0.5, reach: int = 12) -> int | None:
    """The nearest position after `query`, or else before it, where no next token has more than `most` (0 to 1).

    It looks at `reach` positions to either side; None if there is none among them.
    """
    after = range(query + 1, min(query + 1 + reach, trace.n_pos))
    before = range(query - 1, max(query - 1 - reach, -1), -1)
    return next((pos for pos in (*after, *before) if probabilities(trace.logits(pos)).max() <= most), None)
