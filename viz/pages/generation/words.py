"""What the page says, from its numbers: the iteration, the cache, the savings, and each choice of the next token."""

from __future__ import annotations

from collections.abc import Sequence

from model.logits.generation import largest_number, multiplications
from model.logits.probability import n_tied
from model.logits.sampling import Choice, Sampling
from model.network.sizes import Config
from viz.pages.generation.state import Iteration
from viz.text.catalogue import _, ngettext
from viz.text.markdown import as_text, table
from viz.text.numbers import difference_text, probability_text

TOLERANCE = 1e-4


def quoted(label: str) -> str:
    """A token's label inside Markdown."""
    return f"“{as_text(label)}”"


def iteration_words(labels: Sequence[str], position: int, n_layers: int) -> str:
    """What is computed in this iteration, and what is not."""
    reads = _(
        "**Iteration {at} of {n}** reads {token}.", at=position + 1, n=len(labels), token=quoted(labels[position])
    )
    layers = ngettext(
        "The one layer computes its query, key and value now.",
        "Each of the {n} layers computes its query, key and value now.",
        n_layers,
    )
    before = ngettext(
        "The key and value of the token before it come from the cache; earlier queries are not needed again.",
        "The keys and values of the {n} tokens before it come from the cache; earlier queries are not needed again.",
        position,
    )
    return f"{reads} {layers} {before if position else _('The cache is still empty.')}"


def cache_words(config: Config, n_pos: int, n_numbers: int, n_bytes: int) -> str:
    """The size of the cache after the iteration."""
    return _(
        "**The cache after it**: 2 (k and v) × {layers} × {tokens} × {d_model} numbers = **{numbers:,} numbers, "
        "{bytes:,} bytes**.",
        layers=ngettext("{n} layer", "{n} layers", config.n_layers),
        tokens=_n_tokens(n_pos),
        d_model=config.d_model,
        numbers=n_numbers,
        bytes=n_bytes,
    )


def savings_table(config: Config, position: int, reading: Iteration) -> str:
    """With the cache and without it, as a Markdown table."""
    n = position + 1
    few, many = multiplications(config, 1, position), multiplications(config, n)
    cached = f"{reading.cached_ms:,.1f}"
    full = _("not measured") if reading.full_ms is None else f"{reading.full_ms:,.1f}"
    rows = [
        ("", _("with the cache"), _("without it")),
        ("---", "--:", "--:"),
        (_("q, k, v computed in each layer"), _("1 of each"), _("{n:,} of each", n=n)),
        (_("multiplications"), f"{few:,}", f"{many:,}"),
        (_("milliseconds, measured now"), cached, full),
    ]
    return table(rows)


def saved_words(config: Config, position: int) -> str:
    """The share of multiplications that the cache saves, and what was counted."""
    saved = 1 - multiplications(config, 1, position) / multiplications(config, position + 1)
    return _(
        "The cache saves {saved:.1%} of the multiplications. Counted: those of the matrix products, "
        "attention to the keys that the mask lets through, and the logits of the last token. Milliseconds "
        "vary with what else this computer does; short texts gain little.",
        saved=saved,
    )


def check_words(reading: Iteration) -> str:
    """The cached iteration against a pass over the whole text."""
    if reading.difference is None:
        return _("A pass over the whole text takes a while here: it is made when you ask.")
    difference = difference_text(reading.difference)
    if reading.difference < TOLERANCE:
        return _(
            "Read again without the cache: largest difference in q, k, v of all layers and in the logits "
            "**{difference}**, below 0.0001.",
            difference=difference,
        )
    return _(
        "Read again without the cache: largest difference in q, k, v of all layers and in the logits **{difference}**, "
        "from rounding: the numbers go up to {largest:,.0f}.",
        difference=difference,
        largest=largest_number(reading.step),
    )


def choice_words(choice: Choice, sampling: Sampling, best: int, labels: dict[int, str]) -> list[str]:
    """What each setting does to this choice; `best` is the likeliest token, `labels` name it and the chosen one."""
    if sampling.greedy:
        if (n := n_tied(choice.logits)) > 1:
            taken = ngettext(
                "**Greedy**: {n} token has the largest logit; of these the one with the lowest id is taken, {token}.",
                "**Greedy**: {n} tokens have the largest logit; of these the one with the lowest id is taken, {token}.",
                n,
                token=quoted(labels[best]),
            )
        else:
            taken = _("**Greedy** takes the token with the largest logit, {token}.", token=quoted(labels[best]))
        return [f"{taken} {_('Temperature, top-k, top-p and seed would not change it.')}"]
    n = len(choice.own)
    n_within, n_kept = int(choice.within_k.sum()), int(choice.kept.sum())
    before, after = probability_text(float(choice.own[best])), probability_text(float(choice.tempered[best]))
    if sampling.temperature == 1:
        temperature = _("**Temperature 1** leaves the model's probabilities as they are.")
    else:
        temperature = _(
            "**Temperature {temperature:g}** divides the logits before the softmax: {token} goes from {before} "
            "to {after}.",
            temperature=sampling.temperature,
            token=quoted(labels[best]),
            before=before,
            after=after,
        )
    if n_within == n:
        top_k = _("**Top-k** cuts nothing: all {n:,} tokens stay.", n=n)
    else:
        top_k = ngettext(
            "**Top-k {k:,}** keeps the {n} likeliest token: {together} together.",
            "**Top-k {k:,}** keeps the {n} likeliest tokens: {together} together.",
            n_within,
            k=sampling.top_k,
            together=probability_text(float(choice.tempered[choice.within_k].sum())),
        )
    if sampling.top_p == 1:
        top_p = _("**Top-p** cuts nothing.")
    else:
        top_p = _(
            "**Top-p {top_p:g}** keeps the fewest of those that reach {top_p:.0%} of what is left: {tokens}.",
            top_p=sampling.top_p,
            tokens=_n_tokens(n_kept),
        )
    drawn = _(
        "**Seed {seed}** gives the random number {dice:.4f} here. With the {tokens} left laid end to end, the "
        "likeliest first, it lands on {token}, drawn with {share}.",
        seed=sampling.seed,
        dice=choice.dice,
        tokens=_n_tokens(n_kept),
        token=quoted(labels[choice.id]),
        share=probability_text(float(choice.final[choice.id])),
    )
    return [temperature, top_k, top_p, drawn]


def _n_tokens(n: int) -> str:
    return ngettext("{n} token", "{n} tokens", n)
