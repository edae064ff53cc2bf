"""The formats that tensors have in `.gguf` files, and how each becomes fp32: blocks of numbers that share a scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from gettext import gettext as _

import numpy as np
import torch
from torch import Tensor

from model.errors import CheckpointError

PLAIN = frozenset({"F32", "F16", "BF16"})
"""The names of those that are no quantisations."""

_ROWS = 1024


@dataclass(frozen=True)
class Format:
    """A format: ggml's number and name of it; a block holds `n_block` numbers in `block_bytes` bytes."""

    kind: int
    name: str
    n_block: int
    block_bytes: int

    def n_bytes(self, shape: tuple[int, ...], tensor: str) -> int:
        """The bytes of a tensor of this shape; `tensor` is its name in messages.

        Raises:
            CheckpointError: its rows are no whole number of blocks.
        """
        if not shape or shape[-1] % self.n_block:
            raise CheckpointError(
                _("{tensor} has the shape {shape}; {format} needs rows of whole blocks of {n_block}.").format(
                    tensor=tensor, shape=shape, format=self.name, n_block=self.n_block
                )
            )
        return math.prod(shape) // self.n_block * self.block_bytes

    def undo(self, data: bytearray, shape: tuple[int, ...]) -> Tensor:
        """The numbers in fp32, in memory of their own (for F32, that of `data`). Damaged scales may give inf or NaN."""
        from gguf import GGMLQuantizationType
        from gguf.quants import dequantize

        # Blocks know nothing of rows; in few long rows they are undone up to twice as fast.
        rows = np.frombuffer(data, np.uint8).reshape(math.gcd(len(data) // self.block_bytes, _ROWS), -1)
        with np.errstate(all="ignore"):
            numbers = dequantize(rows, GGMLQuantizationType(self.kind))
        return torch.from_numpy(numbers).reshape(shape)


def format_of(kind: int, tensor: str) -> Format:
    """The format with ggml's number `kind`; `tensor` is the name in messages of the one that has it.

    Raises:
        CheckpointError: `gguf.quants` cannot undo it, or knows no such format.
    """
    known = formats()
    if kind not in known:
        raise CheckpointError(
            _("{tensor} has the format {format}, which cannot be read; known are {formats}.").format(
                tensor=tensor, format=_name(kind), formats=", ".join(format.name for format in known.values())
            )
        )
    return known[kind]


@cache
def formats() -> dict[int, Format]:
    """All formats that `gguf.quants` can undo, by ggml's number, found by trying each on a block of zeros."""
    from gguf import GGML_QUANT_SIZES
    from gguf.quants import dequantize

    found = {}
    for kind, (n_block, block_bytes) in GGML_QUANT_SIZES.items():
        try:
            dequantize(np.zeros((1, block_bytes), np.uint8), kind)
        except NotImplementedError:
            continue
        found[int(kind)] = Format(int(kind), kind.name, n_block, block_bytes)
    return found


def _name(kind: int) -> str:
    from gguf import GGMLQuantizationType

    return GGMLQuantizationType(kind).name if kind in list(GGMLQuantizationType) else str(kind)
