"""The model card: `README.md` made from the figures that lie in the model's folder, never written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from model.errors import CheckpointError
from model.files.family import CONFIG_FILE
from model.files.safetensors_file import WEIGHTS_FILE
from model.training.habits import Guided

GOALS = {"previous_token_max": 0.8, "induction_max": 0.4, "coreference_accuracy": 0.8}
_ASKED = {
    "previous": "look at the token before",
    "induction": "look at the token after an earlier occurrence of the current one, where it tells what comes next",
    "antecedent": "look from the first pronoun of a training template to the word it stands for (held-out names, nouns "
    "and sentence forms, which the figures above are measured on, were never shown to it so)",
}


def write_card(folder: Path) -> None:
    """Write `README.md` from `config.json`, `training.json` and `evaluation.json`.

    Raises:
        CheckpointError: one of them is missing or unreadable.
    """
    try:
        config, training, found = (
            json.loads((folder / name).read_text("utf-8")) for name in (CONFIG_FILE, "training.json", "evaluation.json")
        )
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder} lacks what the model card is made from ({error}); export it again.") from error
    size = (folder / WEIGHTS_FILE).stat().st_size
    head, run = _head(config, size), _training(training)
    sections = (
        head,
        _goals(found),
        run,
        _figures(found),
        _heads(found),
        _guided(found, training),
        _examples(found),
        _repeat(),
    )
    (folder / "README.md").write_text("\n\n".join(sections) + "\n", "utf-8")


def _head(config: dict[str, Any], size: int) -> str:
    return f"""# headlight-mini

A small GPT-2 that was trained for this app, so that it shows real attention without a download. It is a tool for
looking at attention, not a language model to rely on: it knows little and invents freely.

Architecture: GPT-2 (learned positions, LayerNorm before each part, tanh-GELU, tied embeddings).
{config["n_layer"]} layers, {config["n_head"]} heads, vectors of {config["n_embd"]} numbers, context
{config["n_positions"]} tokens. The vocabulary's {config["vocab_size"]} tokens are GPT-2's own, a subset that is closed
under its merges, and `<|endoftext|>`.
The weights are float16 ({size / 1e6:.1f} MB) and are computed with as float32; `transformers` loads the folder with
`GPT2LMHeadModel.from_pretrained`."""


def _goals(found: dict[str, Any]) -> str:
    rows = [
        f"| {name} | {goal} | {found[name]:.3f} | {'yes' if found[name] >= goal else '**no, missed**'} |"
        for name, goal in GOALS.items()
    ]
    return "\n".join(["## Goals", "", "| Measure | Goal | Reached | Met |", "|---|---|---|---|", *rows])


def _training(training: dict[str, Any]) -> str:
    seen = training["tokens_by_source"]
    rows = [
        f"| {name} | {entry['package'] or 'made by this project'} {entry['version'] or ''} | {entry['licence']} "
        f"| {entry['tokens']:,} | {seen.get(name, 0):,} |"
        for name, entry in training["sources"].items()
    ]
    rows.append(f"| repeated random tokens | made on the fly | | | {seen.get('repeats', 0):,} |")
    stages = "; then ".join(
        f"`{stage['name']}` (" + ", ".join(f"{name} {share:g}" for name, share in stage["shares"].items()) + ")"
        for stage in training["stages"]
    )
    decay = (
        f"over the last {training['decay_tokens']:,} tokens the learning rate fell to 0"
        if training["decay_finished"]
        else "**the learning rate has not fallen to 0 yet: these weights are provisional**"
    )
    return "\n".join(
        [
            "## Training", "",
            f"{training['tokens']:,} tokens in {training['steps']:,} steps, {training['hours']:g} hours; {decay}.",
            f"Stages: {stages}.", training["note"], "",
            "| Source | Package | Licence | Tokens there | Tokens seen |", "|---|---|---|---|---|", *rows,
        ]
    )  # fmt: skip


def _figures(found: dict[str, Any]) -> str:
    rows = [
        f"| {name} | {entry['loss']:.3f} | {entry['bits_per_byte']:.3f} |"
        for name, entry in found["validation_by_source"].items()
    ]
    rows.append(f"| all | {found['validation_loss']:.3f} | {found['bits_per_byte']:.3f} |")
    return "\n".join(
        ["## Held-out text", "", "| Source | Nats per token | Bits per byte |", "|---|---|---|", *rows, "",
         "Held-out templates put names and nouns into places, and into sentence forms, where training never had them."]
    )  # fmt: skip


def _heads(found: dict[str, Any]) -> str:
    kinds = ", ".join(f"{kind} {share:.2f}" for kind, share in found["coreference"]["accuracy_by_kind"].items())
    lines = [
        f"- {name.replace('_', '-')}: {head}, {found[f'{name}_max']:.3f}" for name, head in found["best_heads"].items()
    ]
    lines.append(
        f"- coreference: {found['coreference']['head']}, {found['coreference_accuracy']:.3f} of "
        f"{found['coreference']['n_sentences']} sentences ({kinds})"
    )
    measured = [f"- {what}: {how}" for what, how in found["measured_on"].items()]
    return "\n".join(
        ["## Best heads", "", *lines, "", "Measured on:", "", *measured, "", "Every head: `evaluation.json`."]
    )


def _guided(found: dict[str, Any], training: dict[str, Any]) -> str:
    """Which heads did not find their habits by themselves: without this their scores would claim too much."""
    guided = {Guided(**entry) for stage in training["stages"] for entry in stage.get("guided", ())}
    if not guided:
        return "No head was told what to do: all of these habits came from predicting the next token."
    asked = [f"- **{head.name}**: {_ASKED[head.habit]}" for head in sorted(guided, key=lambda head: head.name)]
    names = {head.name for head in guided}
    others = []
    for score in ("previous_token", "induction"):
        by_head = {name: scores[score] for name, scores in found["heads"].items() if name not in names}
        best = max(by_head, key=lambda name: by_head[name])
        others.append(f"{score.replace('_', '-')} {by_head[best]:.3f} ({best})")
    return "\n".join(
        [
            "## Guided heads", "",
            "A small extra loss asked these heads for a habit while the network learned to predict the next token "
            "(`model/training/guidance.py`):", "", *asked, "",
            f"All other heads found what they do by themselves; the best scores among them: {', '.join(others)}.",
        ]
    )  # fmt: skip


def _examples(found: dict[str, Any]) -> str:
    rows = [
        f"| `{text}` | " + ", ".join(f"`{_inline(token)}` {p:.2f}" for token, p in tokens) + " |"
        for text, tokens in found["next_tokens"].items()
    ]
    completions = found["completions"]
    how = f"Unedited, sampled at temperature {completions['temperature']} (seed {completions['seed']})."
    texts = [f"- {_inline(text)}" for text in completions["texts"]]
    head = ["## Next tokens", "", "| After | Likeliest |", "|---|---|"]
    return "\n".join([*head, *rows, "", "## Completions", "", how, "", *texts])


def _inline(text: str) -> str:
    return text.replace("\n", "⏎").replace("|", "\\|").replace("`", "'")


def _repeat() -> str:
    return """## How to repeat

```
python -m model.training.prepare    # fetches the sources, checks their sums, builds the vocabulary
python -m model.training.train      # as long as you like; Ctrl-C and a second start go on where it stopped
python -m model.training.train --decay-minutes 15
python -m model.training.export
python -m model.training.evaluate assets/models/headlight-mini
```

`docs/training.md` says what was tried and why this recipe was kept."""
