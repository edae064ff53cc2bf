"""Two texts side by side: which of their tokens are partners, by a longest common subsequence of their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Alignment:
    """Partners: token `first[i]` of the one text and token `second[i]` of the other are the same. Both lists rise."""

    first: Int[np.ndarray, " pair"]
    second: Int[np.ndarray, " pair"]
    n_first: int
    n_second: int

    @property
    def gaps(self) -> list[tuple[range, range]]:
        """What lies between partners: the positions of either text, empty where one has nothing there."""
        edges = zip(
            [-1, *self.first.tolist()],
            [-1, *self.second.tolist()],
            [*self.first.tolist(), self.n_first],
            [*self.second.tolist(), self.n_second],
            strict=True,
        )
        found = [(range(i + 1, j), range(k + 1, m)) for i, k, j, m in edges]
        return [gap for gap in found if gap[0] or gap[1]]

    @property
    def turned(self) -> Alignment:
        """The same with the two texts changing places."""
        return Alignment(self.second, self.first, self.n_second, self.n_first)

    def counterpart(self, pos: int) -> int:
        """Where to look in the second text for position `pos` of the first: its partner, or what stands in its place.

        In a gap that is the token as far from its start, or the gap's last one; where the second text has nothing
        there, the partner before it (the first token, if there is none).
        """
        if (partner := self.to_second(pos)) is not None:
            return partner
        here, there = next(gap for gap in self.gaps if pos in gap[0])
        if there:
            return there[min(pos - here[0], len(there) - 1)]
        return max(there.start - 1, 0)

    def to_second(self, pos: int) -> int | None:
        """The partner in the second text of position `pos` of the first, or None."""
        at = np.flatnonzero(self.first == pos)
        return int(self.second[at[0]]) if at.size else None


def align(a: Sequence[int], b: Sequence[int]) -> Alignment:
    """Align two texts by a longest common subsequence of their ids: as many partners as an order-keeping match allows.

    Of several longest ones it is the one whose partners stand earliest in `a`, after the common beginning and end,
    which always are partners. Time grows with `len(a) * len(b)` of what lies between these; 1024 x 1024 takes
    milliseconds. Source: Wagner and Fischer 1974, "The String-to-String Correction Problem".
    """
    x, y = np.asarray(a, np.int64), np.asarray(b, np.int64)
    shortest = min(len(x), len(y))
    start = _run(x[:shortest] == y[:shortest])
    end = _run(x[::-1][: shortest - start] == y[::-1][: shortest - start])
    inner = [(start + i, start + j) for i, j in _common(x[start : len(x) - end], y[start : len(y) - end])]
    pairs = [*((i, i) for i in range(start)), *inner, *((len(x) - i, len(y) - i) for i in range(end, 0, -1))]
    places = np.asarray(pairs, np.int64).reshape(-1, 2)
    return Alignment(places[:, 0], places[:, 1], len(x), len(y))


def aligned_part(
    pattern: Float[np.ndarray, "query key"], places: Int[np.ndarray, " pair"]
) -> Float[np.ndarray, "pair pair"]:
    """The weights among tokens with a partner; their rows add up to less than 1 where others are read too."""
    return pattern[np.ix_(places, places)]


def with_rest(part: Float[np.ndarray, "pair pair"]) -> Float[np.ndarray, "pair pair_and_rest"]:
    """The aligned part with one more column: the weight on all tokens without a partner. Rows add up to 1 again."""
    rest = np.clip(1.0 - part.sum(axis=1, dtype=np.float64), 0.0, 1.0)
    return np.concatenate([part.astype(np.float64), rest[:, None]], axis=1)


def _run(equal: np.ndarray) -> int:
    """How many of the first booleans are True in a row."""
    return int(np.argmin(equal)) if not equal.all() else len(equal)


def _common(x: Int[np.ndarray, " a"], y: Int[np.ndarray, " b"]) -> list[tuple[int, int]]:
    """The pairs of a longest common subsequence."""
    # lengths[i, j]: of x[i:] and y[j:]. A row never falls to the left, so a running maximum fills it at once.
    lengths = np.zeros((len(x) + 1, len(y) + 1), np.int32)
    for i in range(len(x) - 1, -1, -1):
        found = np.where(x[i] == y, lengths[i + 1, 1:] + 1, lengths[i + 1, :-1])
        lengths[i, :-1] = np.maximum.accumulate(found[::-1])[::-1]
    pairs, i, j = [], 0, 0
    while i < len(x) and j < len(y) and lengths[i, j]:
        here = np.flatnonzero(x[i] == y[j:])
        if here.size and lengths[i + 1, j + here[0] + 1] + 1 == lengths[i, j]:
            j += int(here[0])
            pairs.append((i, j))
            j += 1
        i += 1
    return pairs
