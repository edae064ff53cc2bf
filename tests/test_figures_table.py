"""docs/figures.md, walked: every chart has its page, every function is called there and draws the model's numbers.

A function that is new in the table needs a check in `CHECKS`: it calls the function with what a small random model's
trace holds, and finds the same numbers in what was drawn.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from model.logits import sampling
from model.network import parameters
from model.network.gpt2 import GPT2
from model.steps import block as block_steps
from model.steps import masking
from model.steps.three_steps import Scoring, Summing
from model.trace.trace import Trace, run_trace
from tests.models import random_network
from tests.viz.figures.samples import hover_traces, values_of
from viz.components import token_strip as strip_module
from viz.components.token_strip import StripHead, token_strip
from viz.figures.bars import token_bars
from viz.figures.next_token import next_token_bars
from viz.pages.block import figure_strips as block
from viz.pages.block import figure_weight as block_weight
from viz.pages.generation.figures import cache_stack
from viz.pages.mask import figures as mask
from viz.pages.three_steps import figure_steps as three_steps
from viz.pages.three_steps.figure_map import steps_map
from viz.pages.weights import figure_weights as weights
from viz.pages.weights.figure_stack import stack_diagram
from viz.registry import PAGES
from viz.theme import LIGHT

ROOT = Path(__file__).resolve().parents[1]
IDS = (5, 17, 260, 5, 99, 0)
LAYER, HEAD, QUERY = 1, 2, 3
SHARED = ("shell.py", "charts.py")  # parts of every page


class Row(NamedTuple):
    figure: str
    shown: str
    page: str
    file: str
    functions: tuple[str, ...]


def table() -> list[Row]:
    """The rows of docs/figures.md."""
    rows = []
    for line in (ROOT / "docs" / "figures.md").read_text("utf-8").splitlines():
        if re.match(r"\| F\d\d \|", line):
            chart, shown, page, file, functions = (cell.strip() for cell in line.strip("| ").split("|"))
            rows.append(Row(chart, shown, page, file.strip("`"), tuple(re.findall(r"`([^`]+)`", functions))))
    return rows


ROWS = table()
FUNCTIONS = sorted({function for row in ROWS for function in row.functions})


def test_every_figure_has_one_row() -> None:
    assert [row.figure for row in ROWS] == [f"F{number:02}" for number in range(1, 33)]
    assert all(row.shown and row.functions for row in ROWS)


def test_every_page_is_in_the_navigation_under_its_title() -> None:
    titles = {f"viz/pages/{page.id}/page.py": page.title for page in PAGES.values()}
    assert {row.file: row.page for row in ROWS}.items() <= titles.items()


def called_in(file: Path) -> Iterator[str]:
    """The full names of what a file calls of what it imports."""
    tree = ast.parse(file.read_text("utf-8"))
    known = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name, _, rest = ast.unparse(node.func).partition(".")
            if name in known:
                yield f"{known[name]}.{rest}" if rest else known[name]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.figure)
def test_a_figure_is_drawn_by_its_page(row: Row) -> None:
    page = ROOT / row.file
    files = [*page.parent.glob("*.py"), *(ROOT / "viz" / "shell" / name for name in SHARED)]
    called = {name for file in files for name in called_in(file)}
    assert set(row.functions) <= called
    for function in row.functions:
        module, _, name = function.rpartition(".")
        assert callable(getattr(importlib.import_module(module), name))


def test_every_function_has_a_check() -> None:
    assert sorted(CHECKS) == FUNCTIONS


@pytest.fixture(scope="module")
def trace() -> Trace:
    return run_trace(random_network(), IDS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_drawn_is_what_the_model_computed(function: str, trace: Trace) -> None:
    CHECKS[function](trace)


# ---------------------------------------------------------------- one check a function

Check = Callable[[Trace], None]
CHECKS: dict[str, Check] = {}
LABELS = [f"·{token}" for token in IDS]
LATER = np.arange(len(IDS)) > QUERY


def checks(function: Callable[..., Any]) -> Callable[[Check], Check]:
    """Registers a check under the full name of the function that it checks."""

    def register(check: Check) -> Check:
        return CHECKS.setdefault(f"{function.__module__}.{function.__name__}", check)

    return register


def same(drawn: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(drawn, expected, atol=1e-6)


def hidden_as_nan(values: np.ndarray) -> np.ndarray:
    return np.where(np.triu(np.ones(values.shape, bool), 1), np.nan, values)


def steps_of(trace: Trace) -> block_steps.BlockSteps:
    return block_steps.block_steps(trace, LAYER, QUERY)


def own(trace: Trace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The chosen head's queries, keys and values, a token a row."""
    return trace.q[LAYER, HEAD], trace.k[LAYER, HEAD], trace.v[LAYER, HEAD]


@checks(token_strip)
def _(trace: Trace) -> None:
    sent: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strip_module.st, "session_state", {})
        patch.setattr(strip_module, "_render", lambda **options: sent.update(options["data"]))
        heads = [StripHead("L1H2", trace.pattern(LAYER, HEAD))]
        token_strip(LABELS, heads, query=QUERY, revision="1", key="strip", on_change=lambda: None)
    same(sent["weights"].column("0").to_numpy(), trace.pattern(LAYER, HEAD)[np.tri(len(IDS), dtype=bool)])
    assert sent["labels"] == LABELS


@checks(token_bars)
def _(trace: Trace) -> None:
    scores, pattern = trace.attn_scores(LAYER, HEAD)[QUERY], trace.pattern(LAYER, HEAD)[QUERY]
    chart = token_bars(scores, pattern, labels=LABELS, query=QUERY, theme=LIGHT)
    drawn = {(bar.meta["kind"], bar.meta["masked"]): bar.y for bar in chart.figure.data}
    same(drawn["score", False], scores[~LATER])
    same(drawn["score", True], scores[LATER])
    same(drawn["weight", False], pattern[~LATER])


@checks(steps_map)
def _(trace: Trace) -> None:
    q, k, v = own(trace)
    vectors = {"x": trace.ln_1(LAYER), "query": q, "key": k, "value": v, "z": trace.z[LAYER, HEAD]}
    pattern = trace.pattern(LAYER, HEAD)[QUERY]
    chart = steps_map(vectors, pattern, labels=LABELS, query=QUERY, head="L1H2", theme=LIGHT, masked=LATER)
    drawn = {trace.meta["kind"]: trace for trace in chart.figure.data if "kind" in (trace.meta or {})}
    same(np.asarray(drawn["weight"].customdata, float), pattern)
    for kind, rows in [*vectors.items(), ("weighted", pattern[:, None] * v)]:
        value, dimension, position = np.asarray(drawn[kind].customdata, float).T
        same(value, rows[position.astype(int) - 1, dimension.astype(int)])


@checks(three_steps.created_vectors)
def _(trace: Trace) -> None:
    vectors = [trace.ln_1(LAYER)[QUERY], *(rows[QUERY] for rows in own(trace))]
    chart = three_steps.created_vectors(*vectors, token="4 ·5", theme=LIGHT)
    for panel, expected in enumerate(vectors):
        same(values_of(chart, panel).reshape(-1)[: len(expected)], expected)


@checks(three_steps.path_vectors)
def _(trace: Trace) -> None:
    vectors = [trace.ln_1(LAYER), *own(trace)]
    chart = three_steps.path_vectors(*vectors, labels=LABELS, theme=LIGHT)
    for panel, expected in enumerate(vectors):
        same(values_of(chart, panel), expected)


@checks(three_steps.score_table)
def _(trace: Trace) -> None:
    q, k, _ = own(trace)
    products, scale = q[QUERY] * k, trace.network.config.attn_scale(LAYER)
    scaled, pattern = trace.attn_scores(LAYER, HEAD)[QUERY], trace.pattern(LAYER, HEAD)[QUERY]
    same(products.sum(1) * scale, scaled)
    chart = three_steps.score_table(
        *(q[QUERY], k, Scoring(products, products.sum(1), scaled, LATER, pattern)),
        labels=LABELS,
        query=QUERY,
        divisor="√10",
        theme=LIGHT,
    )
    best = int(pattern.argmax())
    for panel, expected in enumerate((k, products, q[QUERY][None], products[best][None])):
        same(values_of(chart, panel), expected)


@checks(three_steps.value_table)
def _(trace: Trace) -> None:
    (_, _, v), pattern, z = own(trace), trace.pattern(LAYER, HEAD)[QUERY], trace.z[LAYER, HEAD, QUERY]
    weighted = pattern[:, None] * v
    chart = three_steps.value_table(
        *(v, Scoring(weighted, pattern, pattern, LATER, pattern), Summing(weighted, weighted.sum(0)), z),
        labels=LABELS,
        token="4 ·5",
        theme=LIGHT,
    )
    same(values_of(chart, 0), v)
    same(values_of(chart, 1)[~LATER], trace.weighted_values(LAYER, HEAD, QUERY))
    same(values_of(chart, 2), z[None])
    same(values_of(chart, 3), z[None])


@checks(mask.training_examples)
def _(trace: Trace) -> None:
    chart = mask.training_examples(LABELS, theme=LIGHT)
    (points,) = (points for points in chart.figure.data if (points.meta or {}).get("examples"))
    for row in range(trace.n_pos - 1):
        assert points.customdata[row] == f'{row + 2} "{LABELS[row + 1]}"'


@checks(mask.mask_matrices)
def _(trace: Trace) -> None:
    steps = masking.mask_steps(trace.attn_scores(LAYER, HEAD, scaled=False), trace.network.config.attn_scale(LAYER))
    chart = mask.mask_matrices(steps, labels=LABELS, notes=("", ""), masked_text="−∞", theme=LIGHT)
    same(values_of(chart, 0), trace.attn_scores(LAYER, HEAD, scaled=False))
    same(values_of(chart, 1), trace.attn_scores(LAYER, HEAD))
    same(values_of(chart, 2), hidden_as_nan(trace.attn_scores(LAYER, HEAD)))
    same(values_of(chart, 3), hidden_as_nan(trace.pattern(LAYER, HEAD)))


@checks(cache_stack)
def _(trace: Trace) -> None:
    q, k, v = trace.q[:, HEAD, QUERY], trace.k[:, HEAD, : QUERY + 1], trace.v[:, HEAD, : QUERY + 1]
    chart = cache_stack(q, k, v, labels=LABELS, position=QUERY, head=HEAD, predicted="·a", theme=LIGHT)
    drawn = np.asarray(chart.figure.data[0].customdata, float)
    largest = np.nanmax(np.abs(drawn))  # a cell is the strongest of several dimensions
    same(largest, max(np.abs(vectors).max() for vectors in (q, k, v)))
    known = np.concatenate([vectors.reshape(-1) for vectors in (q, k, v)])
    cells = drawn[np.isfinite(drawn)]
    assert cells.size
    same(np.abs(cells[:, None] - known).min(axis=1), np.zeros(cells.size))


@checks(next_token_bars)
def _(trace: Trace) -> None:
    choice = sampling.choose(trace.logits(QUERY), sampling.Sampling(), QUERY)
    short = sampling.shortlist(choice, 8)
    chart = next_token_bars(
        short,
        labels=[str(i) for i in short.ids],
        logits=choice.logits[short.ids],
        chosen=None,
        actual=None,
        after="4 d",
        theme=LIGHT,
    )
    logits = trace.logits(QUERY).astype(np.float64)
    shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    drawn = np.concatenate([bar.x for bar in chart.figure.data if (bar.meta or {}).get("rest") is False])
    expected = np.where(short.kept, short.final, short.tempered)
    same(np.sort(drawn), np.sort(expected))
    same(short.own, np.sort(shares)[::-1][:8])


@checks(block.block_strips)
def _(trace: Trace) -> None:
    vectors = [trace.embed[QUERY], trace.pos_embed[QUERY], trace.resid_pre[0, QUERY]]
    chart = block.block_strips([block.Strip("x", "input", vector) for vector in vectors], theme=LIGHT)
    for panel, expected in enumerate(vectors):
        same(values_of(chart, panel).reshape(-1), expected)


@checks(block.head_rows)
def _(trace: Trace) -> None:
    parts = [(name, name, getattr(trace, name[0])[LAYER, :, QUERY]) for name in ("query", "key", "value")]
    chart = block.head_rows(parts, head=HEAD, theme=LIGHT)
    for panel, (_, _, expected) in enumerate(parts):
        same(values_of(chart, panel), expected)


@checks(block.keys_of_query)
def _(trace: Trace) -> None:
    q, k, _ = own(trace)
    keys = np.arange(QUERY + 1)
    chart = block.keys_of_query(q[QUERY], k[keys], keys=keys, query=QUERY, labels=LABELS, theme=LIGHT)
    same(values_of(chart, 0), q[QUERY][None])
    same(values_of(chart, 1), k[keys])


@checks(block.sum_of_values)
def _(trace: Trace) -> None:
    shown, z = block_steps.sum_table(steps_of(trace), HEAD, most=24), trace.z[LAYER, HEAD, QUERY]
    chart = block.sum_of_values(shown, z=z, labels=LABELS, theme=LIGHT)
    same(values_of(chart, 0), own(trace)[2][: QUERY + 1])
    same(values_of(chart, 1), trace.weighted_values(LAYER, HEAD, QUERY))
    same(values_of(chart, 2), z[None])
    same(values_of(chart, 3), z[None])


@checks(block_weight.weight_matrix)
def _(trace: Trace) -> None:
    parts = [part.weight for part in steps_of(trace).qkv]
    chart = block_weight.weight_matrix([("c_attn", "query", weight) for weight in parts], theme=LIGHT)
    same(np.concatenate(parts, axis=1), trace.network.h[LAYER].attn.c_attn.weight.numpy())
    for panel, weight in enumerate(parts):
        same(values_of(chart, panel), weight)


@checks(block_weight.activation_points)
def _(trace: Trace) -> None:
    before, after = trace.mlp_pre(LAYER)[QUERY], trace.mlp_post(LAYER)[QUERY]
    (curve,) = block_weight.activation_points(before, after, theme=LIGHT).figure.data
    same(curve.x, before)
    same(curve.y, after)


def matrix(name: str, role: str, part: parameters.Reduced) -> weights.Matrix:
    return weights.Matrix(name, role, part.values, part.size, part.block)


@checks(weights.block_weights)
def _(trace: Trace) -> None:
    parts = parameters.reduced_block(trace.network, LAYER, "farthest")
    whole = parameters.block_matrices(trace.network, LAYER)
    drawn = [matrix(of.name, of.role, part) for of, part in zip(whole, parts, strict=True)]
    chart = weights.block_weights(drawn, statistic="farthest", theme=LIGHT)
    c_attn = trace.network.h[LAYER].attn.c_attn.weight.numpy()
    for panel, part in enumerate(np.split(c_attn, 3, axis=1)):
        same(values_of(chart, panel), part)
    same(values_of(chart, 3), trace.network.h[LAYER].attn.c_proj.weight.numpy())
    for panel, name in ((4, "c_fc"), (5, "c_proj")):
        same(strongest_of(chart, panel), np.abs(getattr(trace.network.h[LAYER].mlp, name).weight.numpy()).max())


@checks(weights.embedding_weights)
def _(trace: Trace) -> None:
    drawn = [
        matrix(name, name, part) for name, part in parameters.reduced_embeddings(trace.network, "farthest").items()
    ]
    chart = weights.embedding_weights(drawn, statistic="farthest", theme=LIGHT)
    same(strongest_of(chart, 0), np.abs(trace.network.wte.weight.numpy()).max())
    same(values_of(chart, 1), trace.network.wpe.weight.numpy())


def strongest_of(chart: Any, panel: int) -> float:
    (hovers,) = hover_traces(chart, panel)
    return float(np.abs(np.asarray(hovers.customdata)[:, 0]).max())


@checks(stack_diagram)
def _(trace: Trace) -> None:
    shapes = {row.name: row.shape for row in parameters.parameter_table(trace.network).rows}
    matrices = parameters.block_matrices(trace.network, LAYER)
    chart = stack_diagram(shapes, matrices, n_layers=len(trace.network.h), layer=LAYER, theme=LIGHT)
    words = {text for texts in chart.figure.data for text in texts.text}
    block_1 = trace.network.h[LAYER]
    for linear in (block_1.attn.c_attn, block_1.attn.c_proj, block_1.mlp.c_fc, block_1.mlp.c_proj):
        rows, columns = linear.weight.shape
        assert f"{rows:,} × {columns:,}" in words


def rows_of(rows: tuple[parameters.ParameterRow, ...]) -> list[weights.Row]:
    return [(row.name, row.shape, row.count, row.copies) for row in rows]


@checks(weights.counts_table)
def _(trace: Trace) -> None:
    counted = parameters.parameter_table(trace.network)
    text = weights.counts_table(
        rows_of(counted.block),
        rows_of(counted.others),
        block_total=counted.block_total,
        n_layers=counted.n_layers,
        total=counted.total,
    )
    assert f"**{sum(parameter.numel() for parameter in trace.network.parameters()):,}**" in text


@checks(weights.article_table)
def _(trace: Trace) -> None:
    network = GPT2(parameters.GPT2_SMALL)
    counted = parameters.parameter_table(network)
    gaps = [(gap.row.name, gap.printed, gap.row.count, gap.row.copies) for gap in parameters.article_gaps(counted)]
    text = weights.article_table(gaps, printed=parameters.ARTICLE_TOTAL, counted=counted.total)
    assert f"**{sum(parameter.numel() for parameter in network.parameters()):,}**" in text
    assert "**124,410,624**" in text
