"""Evaluate a model folder: `python -m model.training.evaluate FOLDER` writes its `evaluation.json` and model card.

Everything is measured on held-out text, templates and names, in float32, with fixed seeds, on the exported weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from model.errors import HeadlightError
from model.files.checkpoint import LoadedModel, load_folder
from model.training import measures
from model.training.antecedents import coreference
from model.training.batches import Corpus, describe_data
from model.training.card import GOALS, write_card
from model.training.settings import DEFAULT, load_settings
from model.training.templates import coreference_examples
from model.training.validation import validate

TEXT_TOKENS = 64  # previous-token and first-token scores: the beginnings of held-out documents, this many tokens each
REPEATED_PERIOD, REPEATED_ROWS = 50, 16  # induction and duplicate-token scores: random ids, twice
TEMPERATURE, COMPLETION_TOKENS = 0.8, 24
EXAMPLES = (
    "A robot must obey the",
    "A robot must obey the orders given it by human",
    "A robot may not harm a human",
    "Once upon a time there was a",
    "The president of the United",
    "In the beginning God created the heavens and the",
    "When Mary and John went to the shop, John gave a drink to",
    "Anna has a dog. The dog barks at Tom. Tom says to the",
)
PROMPTS = (
    "A robot must obey", "Once upon a time", "The old man", "She looked at the", "The Congress of the United States",
    "In those days", "My dear sister", "The whale", "Tom and Mary went to the", '"Who are you?" asked',
)  # fmt: skip


def text_rows(corpus: Corpus, sources: list[str], per_source: int, width: int) -> NDArray[np.int64]:
    """Beginnings of held-out documents as they would be typed: without start token, spread evenly over each source."""
    rows: list[NDArray[np.int64]] = []
    for source in sources:
        ids, starts = corpus.tokens(source)
        starts = starts[starts + 1 + width <= len(ids)]
        spread = np.linspace(0, len(starts) - 1, num=min(per_source, len(starts))).astype(int)
        rows.extend(ids[start + 1 : start + 1 + width].astype(np.int64) for start in starts[spread])
    return np.stack(rows)


@torch.no_grad()
def next_tokens(model: LoadedModel, text: str, n: int = 5) -> list[tuple[str, float]]:
    """The `n` likeliest tokens after `text` with their probabilities."""
    ids = torch.tensor(model.tokenizer.encode(text))
    probabilities = model.network.logits(model.network(ids)[-1]).softmax(-1)
    top = probabilities.topk(n)
    return [
        (model.tokenizer.decode([i]), round(p, 4))
        for i, p in zip(top.indices.tolist(), top.values.tolist(), strict=True)
    ]


@torch.no_grad()
def completion(model: LoadedModel, prompt: str, generator: torch.Generator) -> str:
    """`prompt` and what the network goes on with, sampled; up to a document's end."""
    ids = list(model.tokenizer.encode(prompt))
    for _ in range(COMPLETION_TOKENS):
        logits = model.network.logits(model.network(torch.tensor(ids))[-1])
        drawn = int(torch.multinomial((logits / TEMPERATURE).softmax(-1), 1, generator=generator))
        if drawn in model.tokenizer.end_ids:
            break
        ids.append(drawn)
    return model.tokenizer.decode(ids)


def evaluate(model: LoadedModel, data: Path, *, limit: int | None = None, n_sentences: int = 400) -> dict[str, Any]:
    """All figures of `evaluation.json`."""
    network, start_id = model.network, model.config.d_vocab - 1
    sources = describe_data(data)["sources"]
    corpus = Corpus(data, start_id, split="val")
    overall, by_source = validate(network, corpus, sources, limit)
    texts = text_rows(
        corpus, [name for name in sources if name != "templates"], 8, min(TEXT_TOKENS, model.config.n_ctx)
    )
    period = min(REPEATED_PERIOD, model.config.n_ctx // 2)
    on_text = measures.head_scores(network, texts)
    on_repeats = measures.head_scores(network, measures.repeated_random(1, REPEATED_ROWS, period, start_id))
    scores = {**on_repeats, **{name: on_text[name] for name in ("previous_token", "first_token")}}
    antecedents = coreference(
        network,
        model.tokenizer,
        coreference_examples(1, n_sentences // 2, "test"),
        coreference_examples(2, n_sentences, "test"),
    )
    best = {name: measures.best_head(values) for name, values in scores.items()}
    figures = {f"{name}_max": round(value, 4) for name, (_, value) in best.items()}
    reached = {**figures, "coreference_accuracy": round(antecedents.accuracy, 4)}
    generator = torch.Generator().manual_seed(1)
    return {
        "validation_loss": round(overall.loss, 4),
        "bits_per_byte": round(overall.bits_per_byte, 4),
        "validation_tokens": overall.n_tokens,
        "validation_by_source": {name: asdict(value) for name, value in by_source.items()},
        **reached,
        "best_heads": {name: head for name, (head, _) in best.items()},
        "coreference": asdict(antecedents),
        "goals": {name: {"goal": goal, "met": reached[name] >= goal} for name, goal in GOALS.items()},
        "heads": {
            f"L{layer}H{head}": {name: round(float(values[layer, head]), 4) for name, values in scores.items()}
            for layer in range(model.config.n_layers)
            for head in range(model.config.n_heads)
        },
        "measured_on": {
            "previous_token, first_token": f"{len(texts)} beginnings of held-out texts, {texts.shape[1]} tokens each",
            "induction, duplicate_token": f"{REPEATED_ROWS} runs of {period} random tokens, each twice",
            "coreference": f"head chosen on {n_sentences // 2} held-out template sentences, scored on others",
        },
        "next_tokens": {text: next_tokens(model, text) for text in EXAMPLES},
        "completions": {
            "temperature": TEMPERATURE,
            "seed": 1,
            "texts": [completion(model, prompt, generator) for prompt in PROMPTS],
        },
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, measure, write."""
    parser = argparse.ArgumentParser(
        prog="python -m model.training.evaluate", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("folder", type=Path, help="a model folder as `model.training.export` writes it")
    parser.add_argument(
        "--config", type=Path, default=DEFAULT, help="settings, for the data's folder; default: %(default)s"
    )
    parser.add_argument("--limit", type=int, help="tokens of each source's held-out part to use; default: all")
    given = parser.parse_args(arguments)
    try:
        found = evaluate(load_folder(given.folder), load_settings(given.config).data, limit=given.limit)
        (given.folder / "evaluation.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
        write_card(given.folder)
    except HeadlightError as error:
        print(f"Evaluation stopped: {error}", file=sys.stderr)
        return 1
    for name in ("validation_loss", "bits_per_byte", *GOALS):
        print(f"{name} {found[name]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
