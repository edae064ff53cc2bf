"""A network's parameters, counted, and reduced to a size that can be drawn.

The counts come from the network's own tensors, not from its configuration, and so work on the meta device too. A large
matrix is reduced to blocks, each represented by one statistic of all its weights: none is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.network.config import GPT2Config
from model.network.gpt2 import GPT2
from model.network.network import Network

Statistic = Literal["farthest", "mean", "smallest", "largest"]
"""What represents a block of weights; `farthest` is the weight farthest from 0, with its sign."""

GPT2_SMALL = GPT2Config(n_layers=12, n_heads=12, d_model=768, n_ctx=1024, d_vocab=50257, d_mlp=3072)
ARTICLE_TOTAL = 124_410_624
ARTICLE_COUNTS: Mapping[str, int] = MappingProxyType(
    {
        "ln_1.weight": 768,
        "ln_1.bias": 768,
        "attn.c_attn.weight": 1_769_472,
        "attn.c_attn.bias": 2_304,
        "attn.c_proj.weight": 589_824,
        "attn.c_proj.bias": 768,
        "ln_2.weight": 768,
        "ln_2.bias": 768,
        "mlp.c_fc.weight": 2_359_296,
        "mlp.c_fc.bias": 768,
        "mlp.c_proj.weight": 2_359_296,
        "mlp.c_proj.bias": 768,
        "wte.weight": 38_597_376,
        "wpe.weight": 786_432,
    }
)
"""The counts that the article's table prints for GPT-2 small, by tensor; those of a block count 12 times."""

MAX_CELLS = 64
MAX_EMBEDDING_ROWS, MAX_EMBEDDING_COLUMNS = 64, 96


@dataclass(frozen=True)
class ParameterRow:
    """A tensor: its name (within its block, if it is in one), its shape, and how many copies the network has."""

    name: str
    shape: tuple[int, ...]
    copies: int = 1

    @property
    def count(self) -> int:
        """Parameters in one copy."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class ParameterTable:
    """Every tensor of a network: those of a block, of which there are `n_layers` alike, and all others."""

    n_layers: int
    block: tuple[ParameterRow, ...]
    others: tuple[ParameterRow, ...]

    @property
    def rows(self) -> tuple[ParameterRow, ...]:
        """Blocks first, then the others."""
        return self.block + self.others

    @property
    def block_total(self) -> int:
        """Parameters in one block."""
        return sum(row.count for row in self.block)

    @property
    def total(self) -> int:
        """Parameters in the whole network."""
        return sum(row.count * row.copies for row in self.rows)


@dataclass(frozen=True)
class Gap:
    """A tensor whose count in the article's table, `printed` (0: missing there), differs from that of `row`."""

    row: ParameterRow
    printed: int

    @property
    def missing(self) -> int:
        """How much the article's total falls short because of it."""
        return (self.row.count - self.printed) * self.row.copies


Role = Literal["query", "key", "value", "out", "mlp_in", "mlp_out"]
_ROLES: tuple[Role, ...] = ("query", "key", "value")


@dataclass(frozen=True, eq=False)
class BlockMatrix:
    """A weight matrix of a block, and what it is for: to make queries, keys or values, to mix the heads' outputs, to
    widen a vector in the MLP, or to narrow it again. The side of the heads has a piece for each of `n_heads`.
    """

    name: str
    role: Role
    weight: Float[Tensor, "d_in d_out"]
    n_heads: int = 0


@dataclass(frozen=True)
class Reduced:
    """A matrix of `size`, reduced to blocks of `block` weights (rows, columns); the last ones may be smaller."""

    values: Float[np.ndarray, "rows columns"]
    size: tuple[int, int]
    block: tuple[int, int]


def parameter_table(network: Network) -> ParameterTable:
    """All tensors of `network`, those of a block in the order of computation."""
    n_layers = len(network.h)
    first = network.block(0).named_parameters()
    block = tuple(ParameterRow(name, tuple(tensor.shape), n_layers) for name, tensor in first)
    others = tuple(
        ParameterRow(name, tuple(tensor.shape))
        for name, tensor in network.named_parameters()
        if not name.startswith("h.")
    )
    return ParameterTable(n_layers, block, others)


def gpt2_small_table() -> ParameterTable:
    """The table of GPT-2 small, counted on a network that takes no memory."""
    return parameter_table(GPT2(GPT2_SMALL))


def article_gaps(table: ParameterTable) -> tuple[Gap, ...]:
    """Where the article's counts differ from `table`; for GPT-2 small this explains all that its total lacks."""
    gaps = (Gap(row, ARTICLE_COUNTS.get(row.name, 0)) for row in table.rows)
    return tuple(gap for gap in gaps if gap.missing)


def block_matrices(network: Network, layer: int) -> tuple[BlockMatrix, ...]:
    """The weight matrices of one block in the order in which a vector meets them, each (in, out).

    Raises:
        SelectionError: no such layer.
    """
    block, config = network.block(layer), network.config
    names = {module: name for name, module in block.named_modules()}
    found = []
    projections = network.qkv_projections(layer)
    shared = len({linear for linear, _first in projections}) == 1
    for (linear, first), role, n_heads in zip(
        projections, _ROLES, (config.n_heads, config.n_kv_heads, config.n_kv_heads), strict=True
    ):
        name = f"{names[linear]} {role[0]}" if shared else names[linear]
        weight = linear.w[:, first : first + n_heads * config.d_head]
        found.append(BlockMatrix(name, role, weight, n_heads))
    found.append(BlockMatrix(names[block.attn.out], "out", block.attn.out.w, config.n_heads))
    found += (BlockMatrix(names[linear], "mlp_in", linear.w) for linear in block.mlp.inputs)
    found.append(BlockMatrix(names[block.mlp.out], "mlp_out", block.mlp.out.w))
    return tuple(found)


def reduced_block(network: Network, layer: int, statistic: Statistic) -> tuple[Reduced, ...]:
    """`block_matrices`, each in at most 64 x 64 cells; where possible, no cell covers two heads.

    Raises:
        SelectionError: no such layer.
    """
    config = network.config
    of_model = block_length(config.d_model, MAX_CELLS, within=config.d_head)
    # All sides but the model's own are drawn as long as that one, so that all matrices have the same size.
    cells = math.ceil(config.d_model / of_model)
    sides = {
        config.d_mlp: block_length(config.d_mlp, cells, within=config.d_mlp),
        **{
            n * config.d_head: block_length(n * config.d_head, cells, within=config.d_head)
            for n in (config.n_kv_heads, config.n_heads)
        },
        config.d_model: of_model,
    }
    return tuple(
        reduce(matrix.weight, (sides[matrix.weight.shape[0]], sides[matrix.weight.shape[1]]), statistic)
        for matrix in block_matrices(network, layer)
    )


def reduced_embeddings(network: Network, statistic: Statistic) -> dict[str, Reduced]:
    """The token embeddings, and those of positions and of the output where the network has these of its own."""
    tables = {"wte": network.wte, "wpe": network.wpe, "lm_head": network.lm_head}
    most = (MAX_EMBEDDING_ROWS, MAX_EMBEDDING_COLUMNS)
    found = {}
    for name, table in tables.items():
        if table is not None:
            rows, columns = (
                block_length(n, cells, within=n) for n, cells in zip(table.weight.shape, most, strict=True)
            )
            found[name] = reduce(table.weight, (rows, columns), statistic)
    return found


def block_length(n: int, most: int, *, within: int) -> int:
    """How many of `n` rows or columns share a cell, for at most `most` cells.

    The smallest divisor of `within` that suffices, unless it would leave fewer than half of the cells.
    """
    least = math.ceil(n / most)
    found = next((length for length in range(least, within + 1) if within % length == 0), n)
    return found if math.ceil(n / found) * 2 >= min(n, most) else least


def reduce(weight: Float[Tensor, "d_in d_out"], block: tuple[int, int], statistic: Statistic) -> Reduced:
    """`weight` in blocks of `block` = (rows, columns), each represented by `statistic` of its weights (fp32)."""
    if statistic == "farthest":
        low, high = (reduce(weight, block, end).values for end in ("smallest", "largest"))
        return Reduced(np.where(-low > high, low, high), _size(weight), block)
    over_rows, over_columns = _FOLDS[statistic]
    folded = np.stack([over_rows(rows).numpy() for rows in weight.detach().split(block[0])])  # (row blocks, d_out)
    values = over_columns.reduceat(folded, np.arange(0, weight.shape[1], block[1]), axis=1)
    if statistic == "mean":
        rows, columns = (_lengths(n, length) for n, length in zip(weight.shape, block, strict=True))
        values = (values / np.outer(rows, columns)).astype(np.float32)
    return Reduced(values, _size(weight), block)


_FOLDS: Mapping[str, tuple[Callable[[Tensor], Tensor], np.ufunc]] = {
    "mean": (lambda rows: rows.sum(0).to(torch.float64), np.add),
    "smallest": (lambda rows: rows.amin(0), np.minimum),
    "largest": (lambda rows: rows.amax(0), np.maximum),
}


def _lengths(n: int, length: int) -> Int[np.ndarray, " blocks"]:
    """How many of `n` rows or columns each block has; the last may have fewer than `length`."""
    return np.diff(np.append(np.arange(0, n, length), n))


def _size(weight: Tensor) -> tuple[int, int]:
    return weight.shape[0], weight.shape[1]
