"""The matrices' cells, their names and the head's outline; the stack's sizes; the tables' sums."""

from __future__ import annotations

import numpy as np
import pytest

from model.network.gpt2 import GPT2
from model.network.network import Network
from model.network.parameters import GPT2_SMALL, block_matrices
from tests.models import random_llama
from tests.viz.figures.samples import hover_text, hover_traces, range_of, values_of
from viz.figures.chart import Chart
from viz.pages.weights.figure_stack import stack_diagram
from viz.pages.weights.figure_weights import Matrix, article_table, block_weights, counts_table, embedding_weights
from viz.theme import DARK, LIGHT, Theme

D_MODEL, D_MLP, D_HEAD = 24, 96, 6


def matrix(
    role: str, rows: int, columns: int, block: tuple[int, int], seed: int = 0, heads: tuple[int, int] | None = None
) -> Matrix:
    shape = (-(-rows // block[0]), -(-columns // block[1]))
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return Matrix(f"the {role}", role, values, (rows, columns), block, heads)


def block(head: int = 1, edges: tuple[int, int] = (2, 2)) -> list[Matrix]:
    own = (head * D_HEAD, (head + 1) * D_HEAD)
    parts = [matrix(role, D_MODEL, D_MODEL, edges, i, own) for i, role in enumerate(("query", "key", "value"))]
    return [
        *parts,
        matrix("out", D_MODEL, D_MODEL, edges[::-1], 4, own),
        matrix("mlp_in", D_MODEL, D_MLP, (2, 8), 5),
        matrix("mlp_out", D_MLP, D_MODEL, (8, 2), 6),
    ]


def drawn(matrices: list[Matrix]) -> Chart:
    return block_weights(matrices, statistic="mean", theme=LIGHT)


def test_every_cell_is_in_the_figure_and_knows_where_it_lies() -> None:
    matrices = block()
    chart = drawn(matrices)
    for panel, part in enumerate(matrices):
        np.testing.assert_array_equal(values_of(chart, panel), part.values)
        (trace,) = hover_traces(chart, panel)
        rows, columns = np.indices(part.values.shape)
        np.testing.assert_array_equal(trace.customdata[:, 1], rows.ravel() * part.block[0])
        np.testing.assert_array_equal(trace.customdata[:, 2], columns.ravel() * part.block[1])
        largest = float(np.abs(part.values).max())
        assert range_of(chart.grid.tiles[panel]) == [-largest, largest]


def test_a_hover_names_the_weights_behind_a_cell() -> None:
    matrices = block()
    value = matrices[5].values[3, 5]
    assert hover_text(drawn(matrices), 5, 3, 5) == (
        f"8 × 2 weights, from mlp_post 24, mlp_out 10 on<br>the mean: {value:.4g}"
    )


def test_a_matrix_that_was_not_reduced_shows_its_weights_alone() -> None:
    whole = matrix("wte", 5, 7, (1, 1))
    chart = embedding_weights([whole, matrix("wpe", 3, 7, (1, 1))], statistic="mean", theme=DARK)
    assert hover_text(chart, 0, 4, 6) == f"token id 4, dimension of x 6: {whole.values[4, 6]:.4g}"
    assert hover_text(chart, 1, 0, 2).startswith("position 1, dimension of x 2: ")  # positions count from 1


def test_a_block_that_is_cut_short_says_so() -> None:
    chart = embedding_weights([matrix("wte", 11, 4, (3, 2)), matrix("wpe", 4, 4, (2, 2))], statistic="mean", theme=DARK)
    assert "up to 3 × 2 weights, from" in hover_text(chart, 0, 3, 0)
    assert hover_text(chart, 1, 1, 0).startswith("2 × 2 weights, from position 3, ")


@pytest.mark.parametrize("head", [0, 1, 3])
def test_the_outline_holds_the_heads_columns_and_the_rows_that_read_its_z(head: int) -> None:
    chart = drawn(block(head))
    outlines = [shape for shape in chart.figure.layout.shapes if shape.layer == "above"]
    assert len(outlines) == 4  # of the first four matrices
    for tile, outline in zip(chart.grid.tiles[:4], outlines, strict=True):
        rows, columns = (outline.y0, outline.y1), (outline.x0, outline.x1)
        reads_z = tile.panel.title == "the out"
        along, across = (rows, columns) if reads_z else (columns, rows)
        assert along[0] == (tile.y0 if reads_z else tile.x0) - 0.5 + head * D_HEAD / 2
        assert along[1] - along[0] == D_HEAD / 2
        assert across[0] == (tile.x0 if reads_z else tile.y0) - 0.5
        assert across[1] - across[0] == (tile.n_columns if reads_z else tile.n_rows)


def texts(chart: Chart) -> list[str]:
    return [text for trace in chart.figure.data for text in trace.text]


SMALL = GPT2(GPT2_SMALL)  # takes no memory


def stack(
    network: Network = SMALL, *, n_layers: int = 12, layer: int = 0, theme: Theme = LIGHT, **more: tuple[int, ...]
) -> Chart:
    shapes = {name: tuple(tensor.shape) for name, tensor in network.named_parameters()} | more
    return stack_diagram(shapes, block_matrices(network, 0), n_layers=n_layers, layer=layer, theme=theme)


def test_the_stack_has_every_size_and_the_chosen_block_open() -> None:
    words = texts(stack(layer=4))
    for size in ("768 × 2,304", "768 × 768", "768 × 3,072", "3,072 × 768", "50,257 × 768", "1,024 × 768"):
        assert size in words
    assert {word for word in words if "block" in word} == {"block 0", "<b>block 4</b>", "block 11", "<b>12 blocks</b>"}
    assert {"⋮  3 more", "⋮  6 more"} <= set(words)
    assert any("wte</b> again" in word for word in words)


@pytest.mark.parametrize(
    ("n_layers", "layer", "more"), [(1, 0, []), (2, 1, []), (3, 0, ["⋮  1 more"]), (48, 47, ["⋮  46 more"])]
)
def test_the_stack_of_any_height(n_layers: int, layer: int, more: list[str]) -> None:
    chart = stack(n_layers=n_layers, layer=layer, theme=DARK)
    words = texts(chart)
    assert [word for word in words if "more" in word] == more
    assert f"<b>block {layer}</b>" in words
    assert f"<b>{n_layers} block{'' if n_layers == 1 else 's'}</b>" in words
    assert chart.min_width <= 360


def test_matrices_in_the_stack_keep_their_proportions() -> None:
    chart = stack(n_layers=1)
    boxes = [shape for shape in chart.figure.layout.shapes if shape.type == "rect"][-6:]
    sides = [(round(box.x1 - box.x0, 6), round(box.y1 - box.y0, 6)) for box in boxes]
    unit = sides[3][0]
    assert sides == [(unit, unit)] * 4 + [(4 * unit, unit), (unit, 4 * unit)]


def test_the_stack_of_another_family_has_its_matrices_in_four_groups_and_no_positions() -> None:
    words = texts(stack(random_llama(), n_layers=2))
    assert {"<b>q, k, v_proj</b>", "<b>attn.o_proj</b>", "<b>gate, up_proj</b>", "<b>mlp.down_proj</b>"} <= set(words)
    assert {"48 × 80", "48 × 48", "48 × 140", "70 × 48"} <= set(words)
    assert not any("wpe" in word for word in words)


def test_an_output_matrix_of_its_own_is_named() -> None:
    words = texts(stack(n_layers=2, **{"lm_head.weight": (300, 768)}))
    assert any("lm_head</b>, turned over" in word for word in words)
    assert "768 × 300: a score for each token" in words


def test_a_stack_without_the_chosen_block_is_refused() -> None:
    with pytest.raises(ValueError, match="layer 2 of 2"):
        stack(n_layers=2, layer=2)


def test_the_table_of_parameters() -> None:
    text = counts_table(
        [("attn.c_attn.weight", (768, 2304), 1_769_472, 12)],
        [("ln_f.bias", (768,), 768, 1)],
        block_total=1_769_472,
        n_layers=12,
        total=21_234_432,
    )
    assert text.splitlines()[2:] == [
        "| `attn.c_attn.weight` | 768 × 2,304 | 1,769,472 | 12 | 21,233,664 |",
        "| **One block** | | **1,769,472** | **12** | **21,233,664** |",
        "| `ln_f.bias` | 768 | 768 | 1 | 768 |",
        "| **Sum** | | | | **21,234,432** |",
    ]


def test_the_articles_table() -> None:
    gaps = [("mlp.c_fc.bias", 768, 3_072, 12), ("ln_f.weight", 0, 768, 1)]
    assert article_table(gaps, printed=124_410_624, counted=124_439_808).splitlines()[2:] == [
        "| `mlp.c_fc.bias`, 12 times | 768 | 3,072 | 27,648 |",
        "| `ln_f.weight` | left out | 768 | 768 |",
        "| **Sum of all** | **124,410,624** | **124,439,808** | **29,184** |",
    ]


def test_the_outline_counts_in_blocks_of_its_own_side() -> None:
    outlines = {tile.panel.title: tile.panel.outlines for tile in drawn(block(edges=(4, 2))).grid.tiles}
    assert outlines["the query"] == [((3, 6), (0, 6))]
    assert outlines["the out"] == [((0, 6), (3, 6))]
