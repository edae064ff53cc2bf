"""From a position's logits to the next token: temperature, top-k, top-p, and a reproducible draw.

Pure functions of arrays; probabilities are float64. The order is the usual one: temperature, then top-k, then top-p
over what top-k left, then a draw among what is left. Sources: Fan et al. 2018 (top-k), Holtzman et al. 2020 (top-p).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from gettext import gettext as _

import numpy as np
from jaxtyping import Bool, Float, Int

from model.errors import SelectionError
from model.logits.probability import probabilities, ranking


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen. `greedy` takes the most likely one and ignores the rest.

    `top_k=0` and `top_p=1.0` cut nothing. Raises SelectionError for a setting out of range.
    """

    greedy: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        wrong = None
        if not 0 < self.temperature < float("inf"):
            wrong = _("The temperature is {temperature!r}; it must be a number above 0.")
        elif self.top_k < 0:
            wrong = _("Top-k is {top_k!r}; it must be 0 (no cut) or a number of tokens.")
        elif not 0 < self.top_p <= 1:
            wrong = _("Top-p is {top_p!r}; it must be above 0 and at most 1 (no cut).")
        elif self.seed < 0:
            wrong = _("The seed is {seed!r}; it must be 0 or larger.")
        if wrong:
            raise SelectionError(wrong.format(**asdict(self)))


@dataclass(frozen=True, eq=False)
class Choice:
    """One choice of a token and how it came about; it was drawn from `final`, which is zero for what was cut."""

    id: int
    logits: Float[np.ndarray, " d_vocab"]
    own: Float[np.ndarray, " d_vocab"]  # the model's own probabilities
    tempered: Float[np.ndarray, " d_vocab"]  # after the temperature
    within_k: Bool[np.ndarray, " d_vocab"]  # what top-k leaves
    kept: Bool[np.ndarray, " d_vocab"]  # what top-p leaves of that
    final: Float[np.ndarray, " d_vocab"]
    dice: float | None  # the random number from 0 to 1; None if nothing was drawn


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The `n` most likely tokens of a choice, and sums over all others."""

    ids: Int[np.ndarray, " n"]
    own: Float[np.ndarray, " n"]
    tempered: Float[np.ndarray, " n"]
    final: Float[np.ndarray, " n"]
    kept: Bool[np.ndarray, " n"]
    n_rest: int
    rest_own: float
    rest_final: float
    rest_cut: float  # the tempered probability of the others that were cut


def within_top_k(shares: Float[np.ndarray, " d_vocab"], k: int) -> Bool[np.ndarray, " d_vocab"]:
    """The `k` most likely tokens; all of them for `k=0` or a `k` beyond the vocabulary."""
    if k == 0 or k >= len(shares):
        return np.ones(len(shares), bool)
    kept = np.zeros(len(shares), bool)
    kept[ranking(shares)[:k]] = True
    return kept


def within_top_p(shares: Float[np.ndarray, " d_vocab"], p: float) -> Bool[np.ndarray, " d_vocab"]:
    """The fewest most likely tokens whose probabilities reach `p` together: at least one; all of them for `p=1`."""
    if p >= 1:
        return np.ones(len(shares), bool)
    order = ranking(shares)
    before = np.cumsum(shares[order]) - shares[order]  # what the more likely ones have together
    kept = np.zeros(len(shares), bool)
    kept[order[before < p]] = True
    kept[order[0]] = True
    return kept


def dice(seed: int, position: int) -> float:
    """The random number from 0 to 1 that decides at `position`; for one seed always the same."""
    return float(np.random.default_rng([seed, position]).random())


def draw(shares: Float[np.ndarray, " d_vocab"], number: float) -> int:
    """The token on which `number` (0 to 1) falls when all are laid end to end, the most likely first.

    A token of probability 0 is never drawn.
    """
    order = ranking(shares)
    ends = np.cumsum(shares[order])
    last = int(np.count_nonzero(shares)) - 1
    return int(order[min(int(np.searchsorted(ends, number * ends[-1], side="right")), last)])


def choose(logits: Float[np.ndarray, " d_vocab"], sampling: Sampling, position: int) -> Choice:
    """The token written after `position`, for these logits and settings."""
    own = probabilities(logits)
    if sampling.greedy:
        everything = np.ones(len(own), bool)
        return Choice(int(ranking(logits)[0]), logits, own, own, everything, everything, own, None)
    tempered = probabilities(logits, sampling.temperature)
    within_k = within_top_k(tempered, sampling.top_k)
    left = np.where(within_k, tempered, 0.0)
    kept = within_k & within_top_p(left / left.sum(), sampling.top_p)
    final = np.where(kept, tempered, 0.0)
    final /= final.sum()
    number = dice(sampling.seed, position)
    return Choice(draw(final, number), logits, own, tempered, within_k, kept, final, number)


def shortlist(choice: Choice, n: int) -> Shortlist:
    """The `n` most likely tokens of `choice` (fewer in a smaller vocabulary), and the sums over the rest."""
    order = ranking(choice.logits)
    ids, rest = order[:n], order[n:]
    c, cut = choice, rest[~choice.kept[rest]]
    sums = float(c.own[rest].sum()), float(c.final[rest].sum()), float(c.tempered[cut].sum())
    return Shortlist(ids, c.own[ids], c.tempered[ids], c.final[ids], c.kept[ids], len(rest), *sums)
