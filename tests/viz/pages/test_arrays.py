"""Which array stands under which label: each page is drawn once, and what it sent is compared with a trace of its own.

The heads of the small random model differ clearly, so that a neighbour's numbers, a swap or a sign shows.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from model import LoadedModel, Trace, load_model, run_trace
from model.heads.comparison import js_divergence
from model.logits.direct import direct_logits
from model.logits.probability import kl_bits, probabilities, ranking
from tests.viz.decode import array, as_read, charts, component, panel_values, strip_data
from viz.figures.chart import Cell
from viz.shell.matrices import weight_and_score
from viz.state.view import View

OpenApp = Callable[..., AppTest]
TEXT, OTHER = "a robot must obey a robot", "a robot must obey the robot"
LAYER, HEAD, QUERY = 1, 2, 5
HERE = {"model": "tiny", "text": TEXT, "layer": str(LAYER), "head": str(HEAD), "query": str(QUERY + 1)}


def tiny() -> LoadedModel:
    return load_model(str(Path(os.environ["HEADLIGHT_MODELS"]) / "tiny"))


def traced(text: str = TEXT) -> Trace:
    model = tiny()
    return run_trace(model.network, model.tokenizer.encode(text))


def panels(spec: dict[str, Any]) -> dict[str, np.ndarray]:
    """Each panel's values by its title, without the markup."""
    words = next(trace for trace in spec["data"] if (trace.get("meta") or {}).get("texts"))
    titles = [text[3:-4] for text in words["text"] if text.startswith("<b>")]
    return {title: panel_values(spec, place) for place, title in enumerate(titles)}


def equal(drawn: np.ndarray, expected: np.ndarray) -> None:
    """The same, but for what is masked in the drawing."""
    drawn = drawn.reshape(np.shape(expected))
    seen = np.isfinite(drawn)
    assert seen.any()
    np.testing.assert_allclose(drawn[seen], np.asarray(expected)[seen], rtol=1e-4, atol=1e-5)


def strips(app: AppTest) -> dict[str, np.ndarray]:
    """The rows of weights that the strip was given for each head, one after the other, by the head's name."""
    (table,) = (
        pa.ipc.open_stream(blob.data).read_all()
        for blob in component(app, "headlight_token_strip").mixed.arrow_blobs.values()
    )
    return dict(zip(strip_data(app)["heads"], (column.to_numpy() for column in table.columns), strict=True))


def lower(pattern: np.ndarray) -> np.ndarray:
    return pattern[np.tri(len(pattern), dtype=bool)]


def tables(app: AppTest) -> list[list[list[str]]]:
    """The tables in Markdown, row by row, without their second line."""
    found = [text.value.replace("**", "").splitlines() for text in app.markdown if text.value.startswith("|")]
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])] for lines in found
    ]


def test_attention(open_app: OpenApp) -> None:
    app, trace = open_app(**HERE), traced()
    drawn = charts(app)
    name = f"{QUERY + 1} {strip_data(app)['labels'][QUERY]}"
    vectors = panels(drawn["vectors"])
    for kind, own in (("query", trace.q), ("key", trace.k), ("value", trace.v), ("output z", trace.z)):
        equal(vectors[f"{kind} of {name}"], own[LAYER, HEAD, QUERY])
    matrices = panels(drawn["matrices"])
    equal(matrices["Scores"], trace.attn_scores(LAYER, HEAD))
    equal(matrices["Masked scores"], trace.attn_scores(LAYER, HEAD))
    equal(matrices["Weights"], trace.pattern(LAYER, HEAD))
    told = [text for t in drawn["matrices"]["data"] if (t.get("meta") or {}).get("texts") for text in t["text"]]
    assert [text for text in told if re.search(r"L\dH\d", text)] == [f"L{LAYER}H{HEAD}, before the mask"]
    (head,) = strips(app)
    assert head == f"L{LAYER}H{HEAD}"
    equal(strips(app)[head], lower(trace.pattern(LAYER, HEAD)))


@pytest.mark.usefixtures("open_app")
def test_a_clicked_cells_words_have_its_weight_and_its_scaled_score() -> None:
    class Traced(View):
        trace = traced()

    view = object.__new__(Traced)
    trace = view.trace
    cell = Cell(2, "Weights", QUERY, 3, False, 0.0)
    weight, score = trace.pattern(LAYER, HEAD)[QUERY, 3], trace.attn_scores(LAYER, HEAD)[QUERY, 3]
    assert abs(score - trace.attn_scores(LAYER, HEAD, scaled=False)[QUERY, 3]) > 0.05
    told = weight_and_score(view, (LAYER, HEAD))(cell)
    assert [float(number) for number in re.findall(r"[\d.]+", told.replace("−", "-"))] == pytest.approx(
        [weight, abs(score)], rel=5e-3
    )


def test_compare(open_app: OpenApp) -> None:
    app, trace = open_app("compare", **HERE, compare="L0H1,L1H0"), traced()
    heads = [(LAYER, HEAD), (0, 1), (1, 0)]
    names = [f"L{layer}H{head}" for layer, head in heads]
    patterns = [trace.pattern(*head) for head in heads]
    results = [trace.result(*head)[QUERY] for head in heads]
    given = strips(app)
    assert list(given) == names
    for name, pattern in zip(names, patterns, strict=True):
        equal(given[name], lower(pattern))
        equal(panels(charts(app)["pair"])[name], pattern)
    bars = [bar for bar in charts(app)["pair_bars"]["data"] if bar["meta"].get("kind") == "weight"]
    for bar, pattern in zip(bars, patterns, strict=True):
        equal(array(bar["y"]), pattern[QUERY, : QUERY + 1])
    outputs = panels(charts(app)["outputs"])
    for name, head, result in zip(names, heads, results, strict=True):
        equal(
            next(values for title, values in outputs.items() if title.startswith("z") and name in title),
            trace.z[(*head, QUERY)],
        )
        equal(next(values for title, values in outputs.items() if title.startswith("result") and name in title), result)
    told = {rows[0][0]: rows[1:] for rows in tables(app)}

    def cosine(a: np.ndarray, b: np.ndarray) -> str:
        return f"{a @ b / np.linalg.norm(a) / np.linalg.norm(b):+.2f}".replace("-", "−")

    for row, (i, j) in zip(told["pair"], itertools.combinations(range(3), 2), strict=True):
        distances = js_divergence(patterns[i], patterns[j])
        assert row == [
            f"{names[i]}, {names[j]}",
            f"{distances[QUERY]:.3f}",
            f"{distances[1:].mean():.3f}",
            cosine(results[i], results[j]),
        ]
    for row, name, head, result in zip(told["head"], names, heads, results, strict=True):
        whole = trace.attn_out(head[0])[QUERY]
        assert (row[0], row[3]) == (name, f"{cosine(result, whole)} (L{head[0]})")
        assert float(row[1]) == pytest.approx(np.linalg.norm(trace.z[(*head, QUERY)]), rel=5e-3)
        assert float(row[2]) == pytest.approx(np.linalg.norm(result), rel=5e-3)


def test_two_sentences(open_app: OpenApp) -> None:
    first, second = traced(), traced(OTHER)
    last = len(first.ids) - 1  # behind the word that differs
    changed = [i for i, (a, b) in enumerate(zip(first.ids, second.ids, strict=True)) if a != b]
    assert changed == [last - 1]
    app = open_app("two_sentences", **HERE | {"query": str(last + 1)}, second=OTHER)
    logits = first.logits(last), second.logits(last)
    kl, back = kl_bits(*logits), kl_bits(*reversed(logits))
    assert f"{kl:.3g}" != f"{back:.3g}"
    told = as_read("\n".join(text.value for text in app.markdown))
    assert f"KL(first ‖ second) = {kl:.3g} bits" in told
    assert f"**{js_divergence(*map(probabilities, logits)):.3f} bits** apart" in told
    tokenizer = tiny().tokenizer
    for words, row in zip(("first", "second"), logits, strict=True):
        best = tokenizer.token(int(ranking(row)[0])).label
        assert re.search(rf"In the \*\*{words}\*\* text, .*“\*\*{re.escape(best)}\*\*” is likeliest", told)
    matrices = panels(charts(app)["aligned"])
    part = np.setdiff1d(np.arange(len(first.ids)), changed)
    for title, own in (("First text", first), ("Second text", second)):
        equal(matrices[title], own.pattern(LAYER, HEAD)[np.ix_(part, part)])


def test_one_token_at_a_time(open_app: OpenApp) -> None:
    app, trace = open_app("generation", **HERE), traced()
    (cells,) = (data for data in charts(app)["cache"]["data"] if (data.get("meta") or {}).get("cells"))
    drawn = array(cells["customdata"])
    drawn = np.sort(np.abs(drawn[np.isfinite(drawn)]).ravel())
    held = {name: own[:, HEAD, : QUERY + 1] for name, own in (("k", trace.k), ("v", trace.v))}
    d_head, n = trace.k.shape[-1], len(drawn)
    per_layer = len(trace.k) * (2 * (QUERY + 1) + 1)  # keys, values, and one query, in each layer
    size = n // per_layer  # cells that a vector has: each is the number farthest from 0 of some dimensions
    starts = np.linspace(0, d_head, size + 1).round().astype(int)
    assert n == per_layer * size

    def farthest(vectors: np.ndarray) -> np.ndarray:
        parts = [np.abs(vectors[..., a:b]).max(axis=-1) for a, b in itertools.pairwise(starts)]
        return np.stack(parts, axis=-1).ravel()

    own = np.concatenate([farthest(trace.q[:, HEAD, QUERY]), farthest(held["k"]), farthest(held["v"])])
    np.testing.assert_allclose(drawn, np.sort(own), atol=1e-4)


def test_the_token_that_follows_in_the_text_is_marked_at_its_own_bar(open_app: OpenApp) -> None:
    text, model = "A robot must obey the orders given it by human beings", load_model()  # it guesses some of them
    ids = model.tokenizer.encode(text)
    trace = run_trace(model.network, ids)
    likely = [ranking(trace.logits(position))[:20].tolist() for position in range(len(ids) - 1)]
    position = next(at for at, others in enumerate(likely) if ids[at + 1] in others)
    bars = charts(open_app("generation", text=text, query=str(position + 1)))["next"]
    (marked,) = (
        tick
        for data in bars["data"]
        if data["type"] == "bar" and not data["meta"]["rest"]
        for tick, text in zip(ticks(bars, data), data["text"], strict=True)
        if "in the text" in text
    )
    assert model.tokenizer.token(ids[position + 1]).label in marked


def ticks(spec: dict[str, Any], data: dict[str, Any]) -> list[str]:
    """What stands beside each bar."""
    axis = spec["layout"]["yaxis"]
    names = dict(zip(np.asarray(axis["tickvals"], float).tolist(), axis["ticktext"], strict=True))
    return [names.get(float(at), "") for at in array(data["y"])]


def test_logit_lens(open_app: OpenApp) -> None:
    app, trace = open_app("lens", **HERE), traced()
    best = int(ranking(trace.logits(QUERY))[0])
    parts = direct_logits(trace, QUERY, [best])
    ((titles, numbers),) = tables(app)
    told = {title: float(number.replace("−", "-")) for title, number in zip(titles, numbers, strict=True)}
    own = {
        "Heads": parts.heads.sum(),
        "MLPs": parts.mlps.sum(),
        "Attention biases": parts.attn_bias.sum(),
        "Token": parts.embed[0],
        "Position": parts.pos_embed[0],
        "Last bias": parts.unembed_bias[0],
        "Sum": parts.total[0],
        "The model’s own": trace.logits(QUERY)[best],
    }
    assert told == pytest.approx({name: float(value) for name, value in own.items()}, abs=6e-5)
    assert told["Sum"] == pytest.approx(sum(told[name] for name in list(own)[:6]), abs=5e-4)
    rows = charts(app)["lens"]["layout"]["yaxis"]
    order = [rows["ticktext"][i] for i in np.argsort(array(rows["tickvals"]))]
    assert order == ["embeddings", "layer 0", "layer 1 = output"]
    guesses = next(t for t in charts(app)["lens"]["data"] if (t.get("meta") or {}).get("guesses"))
    tokenizer = tiny().tokenizer
    for row, logits in enumerate(trace.lens(QUERY)):
        top = tokenizer.token(int(ranking(logits)[0])).label
        first = next(text for text, y in zip(guesses["text"], array(guesses["y"]), strict=True) if y == row)
        assert top in as_read(first)
