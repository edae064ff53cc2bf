"""The chosen token after an edit: which token of the new text is the same one, or stands in its place."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate


def followed(query: int, before: Sequence[bytes], now: Sequence[bytes]) -> int:
    """Where the token at position `query` (from 0) of a text is after an edit; `before` and `now` are its tokens.

    Bytes are followed, since an edit can cut the text beside it into other tokens: the last byte of the chosen token,
    since a space belongs to the word behind it. The edit is what lies between the longest common beginning and end of
    both texts. A replaced byte is followed to the same place in the replacement, or to the replacement's end; where the
    replacement is empty, to the byte before it. Where an edit could have been made in several places ("a a a" with one
    "a" more), the last one counts.

    A `query` that `before` has no token for is returned as it is.
    """
    if query not in range(len(before)) or not now:
        return query
    old, new = b"".join(before), b"".join(now)
    start = _n_alike(old, new)
    end = _n_alike(old[start:][::-1], new[start:][::-1])
    place = sum(map(len, before[: query + 1])) - 1
    if place >= len(old) - end:
        place += len(new) - len(old)
    else:
        place = max(0, min(place, len(new) - end - 1))
    return bisect_right(list(accumulate(map(len, now))), place)


def _n_alike(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
