"""Counted from the tensors, and reduced to cells that tell the truth about every weight in them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from model.errors import SelectionError
from model.network.gpt2 import GPT2
from model.network.parameters import (
    ARTICLE_COUNTS,
    ARTICLE_TOTAL,
    GPT2_SMALL,
    MAX_CELLS,
    MAX_EMBEDDING_COLUMNS,
    MAX_EMBEDDING_ROWS,
    article_gaps,
    block_length,
    block_matrices,
    gpt2_small_table,
    parameter_table,
    reduce,
    reduced_block,
    reduced_embeddings,
)
from tests.models import make_config, random_network

STATISTICS = ("farthest", "mean", "smallest", "largest")


def test_gpt2_small_has_124_439_808_parameters() -> None:
    network = GPT2(GPT2_SMALL)
    assert {parameter.device.type for parameter in network.parameters()} == {"meta"}
    table = parameter_table(network)
    assert table.total == 124_439_808
    assert table.block_total == 7_087_872
    assert table == gpt2_small_table()


def test_the_articles_printed_counts_add_up_to_its_total() -> None:
    embeddings = sum(ARTICLE_COUNTS[name] for name in ("wte.weight", "wpe.weight"))
    block = sum(ARTICLE_COUNTS.values()) - embeddings
    assert block == 7_085_568
    assert 12 * block == 85_026_816
    assert 12 * block + embeddings == ARTICLE_TOTAL == 124_410_624


def test_the_articles_total_is_short_by_two_things_and_nothing_else() -> None:
    table = gpt2_small_table()
    gaps = {gap.row.name: (gap.printed, gap.row.count, gap.missing) for gap in article_gaps(table)}
    assert gaps == {"mlp.c_fc.bias": (768, 3_072, 27_648), "ln_f.weight": (0, 768, 768), "ln_f.bias": (0, 768, 768)}
    assert ARTICLE_TOTAL + sum(missing for _, _, missing in gaps.values()) == table.total


@pytest.mark.parametrize(
    "changes", [{}, {"n_layers": 1, "n_heads": 1}, {"tied": False}, {"d_mlp": 30, "n_layers": 5}, {"d_vocab": 7}]
)
def test_every_tensor_is_counted(changes: dict[str, object]) -> None:
    network = GPT2(make_config(**changes))
    table = parameter_table(network)
    assert table.total == sum(parameter.numel() for parameter in network.parameters())
    names = [f"h.{layer}.{row.name}" for layer in range(table.n_layers) for row in table.block]
    names += [row.name for row in table.others]
    assert sorted(names) == sorted(name for name, _ in network.named_parameters())
    assert ("lm_head.weight" in names) == (not network.config.tied)


def naive(weight: np.ndarray, block: tuple[int, int], statistic: str) -> np.ndarray:
    """Cell by cell, as the words say it."""
    high, wide = block
    of = {
        "mean": lambda part: part.mean(dtype=np.float64),
        "smallest": np.min,
        "largest": np.max,
        "farthest": lambda part: part.flat[np.abs(part).argmax()],
    }[statistic]
    n_rows, n_columns = weight.shape
    return np.array(
        [[of(weight[r : r + high, c : c + wide]) for c in range(0, n_columns, wide)] for r in range(0, n_rows, high)]
    )


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    ("shape", "block"), [((1, 1), (1, 1)), ((6, 8), (2, 4)), ((7, 11), (3, 4)), ((5, 9), (1, 9)), ((5, 3), (8, 8))]
)
def test_a_cell_tells_of_all_its_weights(shape: tuple[int, int], block: tuple[int, int], statistic: str) -> None:
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    reduced = reduce(weight, block, statistic)
    np.testing.assert_allclose(reduced.values, naive(weight.numpy(), block, statistic), rtol=1e-6, atol=1e-7)
    assert (reduced.size, reduced.block) == (shape, block)
    assert reduced.values.dtype == np.float32


@pytest.mark.parametrize("statistic", STATISTICS)
def test_what_fits_is_shown_weight_for_weight(statistic: str) -> None:
    network = random_network()
    shown = reduced_block(network, 1, statistic)
    for matrix, reduced in zip(block_matrices(network, 1), shown, strict=True):
        if reduced.block == (1, 1):
            np.testing.assert_array_equal(reduced.values, matrix.weight)
    assert shown[0].block == (1, 1)


def test_the_mean_of_a_large_matrix_is_exact_to_a_float() -> None:
    weight = torch.full((5_000, 40), 0.1)
    assert float(np.abs(reduce(weight, (5_000, 40), "mean").values - np.float32(0.1)).max()) < 1e-7


def test_one_weight_far_from_zero_is_never_lost() -> None:
    weight = torch.zeros(1_000, 300)
    weight[777, 123] = -5.0
    assert reduce(weight, (100, 30), "farthest").values[7, 4] == -5.0


def test_the_three_parts_of_c_attn_make_the_whole() -> None:
    network = random_network(make_config(n_heads=5))
    parts = {matrix.name: matrix.weight for matrix in block_matrices(network, 0)}
    whole = torch.cat([parts[f"attn.c_attn {part}"] for part in "qkv"], dim=1)
    assert torch.equal(whole, network.h[0].attn.c_attn.weight)


@pytest.mark.parametrize("layer", [-1, 2])
def test_a_layer_that_is_not_there_is_refused(layer: int) -> None:
    with pytest.raises(SelectionError, match="layers 0 to 1"):
        reduced_block(random_network(), layer, "mean")


@pytest.mark.parametrize(
    ("n_layers", "n_heads", "d_model"), [(12, 12, 768), (24, 16, 1024), (36, 20, 1280), (48, 25, 1600)]
)
def test_no_cell_mixes_two_heads_of_a_published_size(n_layers: int, n_heads: int, d_model: int) -> None:
    d_head = d_model // n_heads
    length = block_length(d_model, MAX_CELLS, within=d_head)
    assert d_head % length == 0
    assert 32 <= d_model // length <= MAX_CELLS


def test_cells_are_never_too_many_and_rarely_few() -> None:
    for n, within in itertools.product((1, 2, 30, 63, 64, 65, 97, 372, 1009, 50_257), (1, 7, 31, 64)):
        length = block_length(n, MAX_CELLS, within=min(n, within))
        cells = math.ceil(n / length)
        assert min(n, MAX_CELLS) / 2 <= cells <= MAX_CELLS


@pytest.mark.parametrize("changes", [{"d_model": 130, "n_heads": 13, "d_mlp": 130}, {"d_model": 94, "n_heads": 1}])
def test_any_model_fits_the_screen(changes: dict[str, int]) -> None:
    network = random_network(make_config(tied=False, **changes))
    for reduced in reduced_block(network, 0, "farthest"):
        assert max(reduced.values.shape) <= MAX_CELLS
    embeddings = reduced_embeddings(network, "mean")
    assert list(embeddings) == ["wte", "wpe", "lm_head"]
    for reduced in embeddings.values():
        assert reduced.values.shape[0] <= MAX_EMBEDDING_ROWS
        assert reduced.values.shape[1] <= MAX_EMBEDDING_COLUMNS
