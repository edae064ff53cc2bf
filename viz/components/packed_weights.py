"""The weights of a strip's heads in few bytes: as they are while they are few, else rounded and compressed.

Weights are never more than 1 and add up to 1 in each row, so in a long text nearly all are small: rounded to two bytes,
their upper bytes are mostly 0, and compression leaves about half a megabyte of a head's two at the very most.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import numpy as np
import pyarrow as pa
from jaxtyping import Float

EXACT_BYTES = 600_000
"""Up to this size all weights travel as float32."""
PACKED_BYTES = 770_000
"""What compressed weights should not exceed; where they would, they are rounded to the next coarser step."""
SCALES = (65_535, 16_383, 4_095, 1_023)
"""A rounded weight is a whole number of steps of 1/65535, or coarser ones: off by at most half a step."""
_KEPT = 4

_lock = Lock()
_kept: OrderedDict[tuple[object, ...], PackedWeights] = OrderedDict()


@dataclass(frozen=True)
class PackedWeights:
    """What travels: `table` with a column a head, or, where `name` is not empty, with one column of deflated bytes.

    `scale` is the number that stands for a weight of 1. Equal weights have the same `name`.
    """

    table: pa.Table
    scale: int = 1
    name: str = ""


def pack(patterns: Sequence[Float[np.ndarray, "query key"]]) -> PackedWeights:
    """Each head's lower triangle row by row, T * (T + 1) / 2 weights."""
    n = patterns[0].shape[0]
    if len(patterns) * n * (n + 1) // 2 * 4 <= EXACT_BYTES:
        triangles = (np.asarray(pattern, np.float32)[_lower_triangle(n)] for pattern in patterns)
        return PackedWeights(pa.table({str(head): triangle for head, triangle in enumerate(triangles)}))
    # Every step asks again for the same weights; packing them anew would take longer than all else in a step.
    key = tuple(hash(np.ascontiguousarray(pattern).tobytes()) for pattern in patterns)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    packed = _deflated(patterns, f"{hash(key):x}")
    with _lock:
        _kept[key] = packed
        if len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return packed


def _deflated(patterns: Sequence[Float[np.ndarray, "query key"]], name: str) -> PackedWeights:
    """All heads' triangles, rounded, behind one another: first the lower bytes of all numbers, then the upper ones."""
    lower = _lower_triangle(patterns[0].shape[0])
    weights = np.concatenate([np.asarray(pattern, np.float32)[lower] for pattern in patterns]).clip(0, 1)
    for scale in SCALES:
        steps = np.rint(weights * np.float32(scale)).astype(np.uint16)
        planes = np.concatenate([(steps & 255).astype(np.uint8), (steps >> 8).astype(np.uint8)])
        # Runs of zeros and single bytes are all there is to save: looking for more takes longer and finds less.
        deflate = zlib.compressobj(1, strategy=zlib.Z_RLE)
        deflated = deflate.compress(planes.tobytes()) + deflate.flush()
        if len(deflated) <= PACKED_BYTES:
            break
    return PackedWeights(pa.table({"deflated": np.frombuffer(deflated, np.uint8)}), scale, name)


@lru_cache(maxsize=4)
def _lower_triangle(n: int) -> np.ndarray:
    return np.tri(n, dtype=bool)
