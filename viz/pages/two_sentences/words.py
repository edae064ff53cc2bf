"""What Two sentences says in words: which tokens have a partner, how far the rows moved, what comes next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from model.text.align import Alignment
from viz.figures.labels import shorten
from viz.text.catalogue import _, ngettext
from viz.text.markdown import as_text
from viz.text.numbers import distance_text, probability_text

_MOST_GAPS, _MOST_NAMED = 6, 8


def alignment_words(alignment: Alignment, first: Sequence[str], second: Sequence[str]) -> str:
    """Which tokens both texts share, and each place where they do not."""
    n, gaps = len(alignment.first), alignment.gaps
    if not gaps:
        return _("Both texts are the same. Change a word in the second one, or choose a pair.")
    lines = [
        _(
            "**{n:,} of {first:,} and {second:,} tokens have a partner**, the same token in the other text.",
            n=n,
            first=len(first),
            second=len(second),
        )
    ]
    for here, there in gaps[:_MOST_GAPS]:
        one, other = _named(here, first), _named(there, second)
        if here and there:
            lines.append(_("{one} in the first text, {other} in the second.", one=one, other=other))
        elif here:
            lines.append(_("{tokens} in the first text only.", tokens=one))
        else:
            lines.append(_("{tokens} in the second text only.", tokens=other))
    if (more := len(gaps) - _MOST_GAPS) > 0:
        lines.append(ngettext("And {n} more place.", "And {n} more places.", more))
    return "  \n".join(lines)


def rows_words(head: str, distances: Float[np.ndarray, " pair"], alignment: Alignment, labels: Sequence[str]) -> str:
    """How far the head's rows moved."""
    if [*alignment.first, *alignment.second] == [0, 0]:
        return _("The one token that both texts share is the first in both, where a head reads only itself.")
    farthest = int(distances.argmax())
    if distances[farthest] == 0:
        return _("**{head}** treats the shared tokens identically.", head=head)
    where = f"{alignment.first[farthest] + 1} “{as_text(labels[farthest])}”"
    return _(
        "**{head}** on the tokens that both texts share: **{mean} bits** apart, the mean over "
        "these rows. Farthest apart is {where} with {most}.",
        head=head,
        mean=distance_text(float(distances.mean())),
        where=where,
        most=distance_text(float(distances[farthest])),
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
    told = []
    for where, label, pos, token, p in zip((0, 1), labels, positions, best, shares, strict=True):
        words = (
            _("- In the **second** text, after {query}: “**{token}**” is likeliest, with {share}.")
            if where
            else _("- In the **first** text, after {query}: “**{token}**” is likeliest, with {share}.")
        )
        query = f"{pos + 1} “{as_text(shorten(label))}”"
        told.append(words.format(query=query, token=as_text(token), share=probability_text(p)))
    if divergence:
        apart = _(
            "The two predictions are **{distance} bits** apart (Jensen-Shannon: 0 equal, 1 nothing in common). "
            "KL(first ‖ second) = {kl:.3g} bits.",
            distance=distance_text(divergence),
            kl=kl,
        )
    else:
        apart = _("The two predictions are **the same**: 0 bits apart. KL(first ‖ second) = {kl:.3g} bits.", kl=kl)
    return "\n".join([*told, "", apart])


def _named(places: range, labels: Sequence[str]) -> str:
    """`3 “·robot”`, several of them one after the other."""
    named = [f"{pos + 1} “{as_text(shorten(labels[pos]))}”" for pos in places[:_MOST_NAMED]]
    tokens = ", ".join(named)
    if (more := len(places) - _MOST_NAMED) > 0:
        return _("{tokens} and {n:,} more", tokens=tokens, n=more)
    return tokens
