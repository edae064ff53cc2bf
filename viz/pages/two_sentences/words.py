"""What Two sentences says in words: which tokens have a partner, how far the rows moved, what comes next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from model.text.align import Alignment
from viz.figures.labels import shorten
from viz.figures.next_token import share
from viz.text.markdown import as_text
from viz.text.numbers import distance_text

_MOST_GAPS, _MOST_NAMED = 6, 8


def alignment_words(alignment: Alignment, first: Sequence[str], second: Sequence[str]) -> str:
    """Which tokens both texts share, and each place where they do not."""
    n, gaps = len(alignment.first), alignment.gaps
    if not gaps:
        return "Both texts are the same. Change a word in the second one, or choose a pair."
    lines = [
        f"**{n:,} of {len(first):,} and {len(second):,} tokens have a partner**, the same token in the other text."
    ]
    for here, there in gaps[:_MOST_GAPS]:
        if here and there:
            lines.append(f"{_named(here, first)} in the first text, {_named(there, second)} in the second.")
        elif here:
            lines.append(f"{_named(here, first)} in the first text only.")
        else:
            lines.append(f"{_named(there, second)} in the second text only.")
    if len(gaps) > _MOST_GAPS:
        lines.append(f"And {len(gaps) - _MOST_GAPS:,} more places.")
    return "  \n".join(lines)


def rows_words(head: str, distances: Float[np.ndarray, " pair"], alignment: Alignment, labels: Sequence[str]) -> str:
    """How far the head's rows moved."""
    if [*alignment.first, *alignment.second] == [0, 0]:
        return "The one token that both texts share is the first in both, where a head reads only itself."
    farthest = int(distances.argmax())
    if distances[farthest] == 0:
        return f"**{head}** reads the tokens that both texts share alike in both."
    where = f"{alignment.first[farthest] + 1} “{as_text(labels[farthest])}”"
    return (
        f"**{head}** on the tokens that both texts share: **{distance_text(float(distances.mean()))} bits** apart, the "
        f"mean over these rows. Farthest apart is {where} with {distance_text(float(distances[farthest]))}."
    )


def next_words(
    labels: tuple[str, str],
    positions: tuple[int, int],
    best: Sequence[str],
    shares: Sequence[float],
    divergence: float,
    kl: float,
) -> str:
    """The likeliest next token in either text, and how far the two predictions are apart."""
    lines = []
    for where, label, pos, token, p in zip(("first", "second"), labels, positions, best, shares, strict=True):
        after = f"{pos + 1} “{as_text(shorten(label))}”"
        lines.append(f"- In the **{where}** text, after {after}: “**{as_text(token)}**” is likeliest, with {share(p)}.")
    apart = f"**{distance_text(divergence)} bits**" if divergence else "**the same**, 0 bits"
    return "\n".join(
        [
            *lines,
            "",
            f"The two predictions are {apart} apart (Jensen-Shannon: 0 equal, 1 nothing in common). "
            f"KL(first ‖ second) = {kl:.3g} bits.",
        ]
    )


def _named(places: range, labels: Sequence[str]) -> str:
    """`3 “·robot”`, several of them one after the other."""
    named = [f"{pos + 1} “{as_text(shorten(labels[pos]))}”" for pos in places[:_MOST_NAMED]]
    more = f" and {len(places) - _MOST_NAMED:,} more" if len(places) > _MOST_NAMED else ""
    return ", ".join(named) + more
