"""What the page says, from its numbers: the iteration, the cache, the savings, and each choice of the next token."""

from __future__ import annotations

from collections.abc import Sequence

from model.logits.generation import largest_number, multiplications
from model.logits.sampling import Choice, Sampling
from model.network.config import GPT2Config
from viz.figures.next_token import share
from viz.pages.generation.state import Iteration
from viz.text.markdown import as_text
from viz.text.numbers import difference_text

TOLERANCE = 1e-4


def quoted(label: str) -> str:
    """A token's label inside Markdown."""
    return f"“{as_text(label)}”"


def iteration_words(labels: Sequence[str], position: int, n_layers: int) -> str:
    """What is computed in this iteration, and what is not."""
    layers = "The one layer computes its" if n_layers == 1 else f"Each of the {n_layers} layers computes its"
    if position == 0:
        before = "The cache is still empty."
    else:
        whose = "The key and value of the token" if position == 1 else f"The keys and values of the {position:,} tokens"
        before = f"{whose} before it come from the cache; earlier queries are not needed again."
    return (
        f"**Iteration {position + 1} of {len(labels)}** reads {quoted(labels[position])}. "
        f"{layers} query, key and value now. {before}"
    )


def cache_words(config: GPT2Config, n_pos: int, n_numbers: int, n_bytes: int) -> str:
    """The size of the cache after the iteration."""
    return (
        f"**The cache after it**: 2 (k and v) × {_counted(config.n_layers, 'layer')} × {_counted(n_pos, 'token')} "
        f"× {config.d_model} numbers = **{n_numbers:,} numbers, {n_bytes:,} bytes**."
    )


def savings_table(config: GPT2Config, position: int, reading: Iteration) -> str:
    """With the cache and without it, as a Markdown table."""
    n = position + 1
    few, many = multiplications(config, 1, position), multiplications(config, n)
    cached = f"{reading.cached_ms:,.1f}"
    full = "not measured" if reading.full_ms is None else f"{reading.full_ms:,.1f}"
    rows = [
        ("", "with the cache", "without it"),
        ("---", "--:", "--:"),
        ("q, k, v computed in each layer", "1 of each", f"{n:,} of each"),
        ("multiplications", f"{few:,}", f"{many:,}"),
        ("milliseconds, measured now", cached, full),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def saved_words(config: GPT2Config, position: int) -> str:
    """The share of multiplications that the cache saves, and what was counted."""
    saved = 1 - multiplications(config, 1, position) / multiplications(config, position + 1)
    return (
        f"The cache saves {saved:.1%} of the multiplications. Counted: those of the matrix products, attention to the "
        "keys that the mask lets through, and the logits of the last token. Milliseconds vary with what else this "
        "computer does; short texts gain little."
    )


def check_words(reading: Iteration) -> str:
    """The cached iteration against a pass over the whole text."""
    if reading.difference is None:
        return "A pass over the whole text takes a while here: it is made when you ask."
    verdict = "below 0.0001"
    if reading.difference >= TOLERANCE:
        verdict = f"from rounding: the numbers go up to {largest_number(reading.step):,.0f}"
    return (
        f"Read again without the cache: largest difference in q, k, v of all layers and in the logits "
        f"**{difference_text(reading.difference)}**, {verdict}."
    )


def choice_words(choice: Choice, sampling: Sampling, best: int, labels: dict[int, str]) -> list[str]:
    """What each setting does to this choice; `best` is the likeliest token, `labels` name it and the chosen one."""
    if sampling.greedy:
        return [
            f"**Greedy** takes the token with the largest logit, {quoted(labels[best])}. Temperature, top-k, top-p and "
            "seed would not change it."
        ]
    n = len(choice.own)
    n_within, n_kept = int(choice.within_k.sum()), int(choice.kept.sum())
    before, after = share(float(choice.own[best])), share(float(choice.tempered[best]))
    if sampling.temperature == 1:
        temperature = "**Temperature 1** leaves the model's probabilities as they are."
    else:
        temperature = (
            f"**Temperature {sampling.temperature:g}** divides the logits before the softmax: {quoted(labels[best])} "
            f"goes from {before} to {after}."
        )
    if n_within == n:
        top_k = f"**Top-k** cuts nothing: all {n:,} tokens stay."
    else:
        together = share(float(choice.tempered[choice.within_k].sum()))
        top_k = f"**Top-k {sampling.top_k:,}** keeps the {_counted(n_within, 'likeliest token')}: {together} together."
    if sampling.top_p == 1:
        top_p = "**Top-p** cuts nothing."
    else:
        top_p = (
            f"**Top-p {sampling.top_p:g}** keeps the fewest of those that reach {sampling.top_p:.0%} of what is left: "
            f"{_counted(n_kept, 'token')}."
        )
    drawn = (
        f"**Seed {sampling.seed}** throws {choice.dice:.4f} here. With the {_counted(n_kept, 'token')} left laid end "
        f"to end, the likeliest first, that falls on {quoted(labels[choice.id])}, drawn with "
        f"{share(float(choice.final[choice.id]))}."
    )
    return [temperature, top_k, top_p, drawn]


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
