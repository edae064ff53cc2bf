"""Packs the weights of a strip's heads for the browser: exact for short texts, rounded and compressed for long ones.

Each row of weights sums to 1, so in a long text nearly all are small. Rounded to two bytes their upper bytes are mostly
0, and compression shrinks the two megabytes of a head to about half a megabyte at most.
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
"""Up to this size all weights are sent as float32."""
PACKED_BYTES = 770_000
"""The target for compressed weights; larger results are rounded to the next coarser scale."""
SCALES = (65_535, 16_383, 4_095, 1_023)
"""A rounded weight is a whole number of steps of 1/scale, so it is off by at most half a step."""
_KEPT = 4

_lock = Lock()
_kept: OrderedDict[tuple[object, ...], PackedWeights] = OrderedDict()


@dataclass(frozen=True)
class PackedWeights:
    """What is sent: a `table` with one column per head or, if `name` is set, one column of deflated bytes.

    `scale` is the number that represents a weight of 1. Equal weights have the same `name`.
    """

    table: pa.Table
    scale: int = 1
    name: str = ""


def pack(patterns: Sequence[Float[np.ndarray, "query key"]]) -> PackedWeights:
    """Pack each head's lower triangle row by row: T * (T + 1) / 2 weights for T tokens."""
    n = patterns[0].shape[0]
    if len(patterns) * n * (n + 1) // 2 * 4 <= EXACT_BYTES:
        triangles = (np.asarray(pattern, np.float32)[_lower_triangle(n)] for pattern in patterns)
        return PackedWeights(pa.table({str(head): triangle for head, triangle in enumerate(triangles)}))
    # Every step sends the same weights; packing them again would take longer than the rest of the step.
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
    """The rounded triangles of all heads, concatenated: first the lower bytes of all numbers, then the upper bytes."""
    lower = _lower_triangle(patterns[0].shape[0])
    weights = np.concatenate([np.asarray(pattern, np.float32)[lower] for pattern in patterns]).clip(0, 1)
    for scale in SCALES:
        steps = np.rint(weights * np.float32(scale)).astype(np.uint16)
        planes = np.concatenate([(steps & 255).astype(np.uint8), (steps >> 8).astype(np.uint8)])
        # Run-length matching with Huffman codes is faster here than a full search and compresses better.
        deflate = zlib.compressobj(1, strategy=zlib.Z_RLE)
        deflated = deflate.compress(planes.tobytes()) + deflate.flush()
        if len(deflated) <= PACKED_BYTES:
            break
    return PackedWeights(pa.table({"deflated": np.frombuffer(deflated, np.uint8)}), scale, name)


@lru_cache(maxsize=4)
def _lower_triangle(n: int) -> np.ndarray:
    return np.tri(n, dtype=bool)
