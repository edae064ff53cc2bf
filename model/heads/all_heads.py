"""The measures of heads: what each means in plain words, and its values for all heads of a trace.

They are computed in blocks of rows (`model.heads.sums`) and equal what `model.heads.measures` finds in a whole pattern.
A measure is NaN where no query qualifies (a text of one token, or one that repeats nothing).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from gettext import gettext as _
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from model.heads.sums import OF_CHOOSING, head_sums
from model.network.network import Network
from model.trace.trace import Trace, run_trace

Needs = Literal["text", "repeated random tokens"]
TEXT: Needs = "text"
REPEATED: Needs = "repeated random tokens"


def N_(message: str) -> str:
    """`message` itself, marked for the catalogue; it is looked up where it is shown."""
    return message


MOST = 0.5
"""Above this share of the weight, a habit on the text makes a role: it gets more than everything else together."""
CLEAR = 0.4
"""Above this share on repeated random tokens, a habit makes a role: a head that spreads its weight evenly gives one
token about 1 %, so 0.4 is far beyond chance, and still allows for a second habit."""

_MOST_PERIOD = 64

_DETECTOR = "TransformerLens, head_detector.detect_head, error_measure 'mul'"
_OLSSON = "Olsson et al. 2022, In-context Learning and Induction Heads"
_WANG = "Wang et al. 2022, Interpretability in the Wild"
_VIG = "Vig & Belinkov 2019, Analyzing the Structure of Attention in a Transformer Language Model"
_SHANNON = "Shannon 1948, A Mathematical Theory of Communication"


@dataclass(frozen=True)
class Measure:
    """One number about a head: its key, and what the app says about it.

    `low` to `high` is its range; a `high` of None grows with the text's length. `needs` says what it is measured on.
    """

    name: str
    title_message: str
    definition_message: str
    source: str
    needs: Needs = TEXT
    unit: Literal["share of weight", "bits", "tokens"] = "share of weight"
    low: float = 0.0
    high: float | None = 1.0

    @property
    def title(self) -> str:
        """Its name on screen."""
        return _(self.title_message)

    @property
    def definition(self) -> str:
        """What it measures, in a sentence or two."""
        return _(self.definition_message)


MEASURES: tuple[Measure, ...] = (
    Measure(
        "previous_token",
        N_("Previous token"),
        N_("The weight that a token gives to the token right before it; mean over all tokens but the first."),
        _VIG,
    ),
    Measure(
        "current_token",
        N_("Current token"),
        N_("The weight that a token gives to itself; mean over all tokens but the first."),
        "Clark et al. 2019, What Does BERT Look At?",
    ),
    Measure(
        "first_token",
        N_("First token"),
        N_(
            "The weight that a token gives to the first token, where heads rest when they have nothing to do; mean "
            "over all tokens but the first."
        ),
        "Xiao et al. 2023, Efficient Streaming Language Models with Attention Sinks",
    ),
    Measure(
        "entropy",
        N_("Entropy"),
        N_(
            "How spread out a token's weights are: 0 if it looks at one token only, and one more each time the number "
            "of equal weights doubles; mean over all tokens but the first."
        ),
        _SHANNON,
        unit="bits",
        high=None,
    ),
    Measure(
        "effective_tokens",
        N_("Effective tokens"),
        N_("The number of equally weighted tokens that would have the same entropy: 2 to the power of the entropy."),
        _SHANNON,
        unit="tokens",
        low=1.0,
        high=None,
    ),
    Measure(
        "mean_distance",
        N_("Mean distance"),
        N_("How many tokens back a token looks, on average by weight; mean over all tokens but the first."),
        _VIG,
        unit="tokens",
        high=None,
    ),
    Measure(
        "duplicate_token",
        N_("Duplicate token"),
        N_("The weight that a token gives to earlier copies of itself; mean over the tokens that have any."),
        _WANG,
    ),
    Measure(
        "induction",
        N_("Induction"),
        N_(
            "The weight that a token gives to what followed earlier copies of itself; mean over the tokens that "
            "have any."
        ),
        _OLSSON,
    ),
    Measure(
        "prefix_matching",
        N_("Prefix matching"),
        N_(
            "The share of all weight in the text that lies on what followed earlier copies of a token; tokens without "
            "earlier copies count too."
        ),
        f"{_DETECTOR}, induction_head",
    ),
    Measure(
        "previous_token_repeated",
        N_("Previous token, random"),
        N_("The previous-token measure on random tokens that are read twice."),
        _OLSSON,
        REPEATED,
    ),
    Measure(
        "duplicate_token_repeated",
        N_("Duplicate token, random"),
        N_("Random tokens are read twice: the weight that a token of the second run gives to its copy in the first."),
        _WANG,
        REPEATED,
    ),
    Measure(
        "induction_repeated",
        N_("Induction, random"),
        N_(
            "Random tokens are read twice: the weight that a token of the second run gives to the token that followed "
            "its copy in the first."
        ),
        _OLSSON,
        REPEATED,
    ),
    Measure(
        "prefix_matching_repeated",
        N_("Prefix matching, random"),
        N_(
            "Random tokens are read twice: the share of all weight that lies on what followed earlier copies of a "
            "token. A perfect induction head reaches about one half, since the first run has nothing to match."
        ),
        f"{_DETECTOR}, induction_head",
        REPEATED,
    ),
)


@dataclass(frozen=True)
class Role:
    """A head has the role if `measure` exceeds `threshold`; `meaning` says in a few words what such a head does."""

    name: str
    measure: str
    threshold: float
    meaning_message: str

    @property
    def meaning(self) -> str:
        """What such a head does, as the end of a sentence."""
        return _(self.meaning_message)


ROLES: tuple[Role, ...] = (
    Role(N_("induction head"), "induction_repeated", CLEAR, N_("looks at what followed the same token before")),
    Role(N_("duplicate-token head"), "duplicate_token_repeated", CLEAR, N_("looks at the same token, earlier")),
    Role(N_("previous-token head"), "previous_token_repeated", CLEAR, N_("looks at the token right before")),
    Role(N_("current-token head"), "current_token", MOST, N_("looks mostly at the token itself")),
    Role(N_("first-token head"), "first_token", MOST, N_("rests mostly on the first token")),
)


def measure(name: str) -> Measure:
    """The measure called `name`.

    Raises:
        KeyError: there is none.
    """
    return _BY_NAME[name]


_BY_NAME = {entry.name: entry for entry in MEASURES}


def measure_heads(trace: Trace) -> dict[str, Float[Array, "layer head"]]:
    """Every measure of the text itself, for every head of the trace, by its name in `MEASURES`."""
    config = trace.network.config
    return _measured(trace, range(config.n_layers), range(config.n_heads))


def measure_head(trace: Trace, layer: int, head: int) -> dict[str, float]:
    """The same for one head alone."""
    return scores_of(_measured(trace, range(layer, layer + 1), range(head, head + 1)), 0, 0)


def _measured(trace: Trace, layers: range, heads: range) -> dict[str, Float[Array, "layer head"]]:
    sums, n_repeated = head_sums(trace, layers, heads)
    found = {name: _over(sums[name], trace.n_pos - 1) for name in OF_CHOOSING}
    found["effective_tokens"] = np.exp2(found["entropy"])
    found["duplicate_token"] = _over(sums["duplicate_token"], n_repeated)
    found["induction"] = _over(sums["induction"], n_repeated)
    found["prefix_matching"] = sums["induction"] / sums["all_weight"]
    return {entry.name: found[entry.name] for entry in MEASURES if entry.needs == TEXT}


def _over(total: Array, n: int) -> Array:
    return total / n if n else np.full(total.shape, np.nan)


def repeated_ids(network: Network, start_id: int | None = None, seed: int = 0) -> tuple[int, ...]:
    """The tokens of the standard test: `start_id` (if given), a run of different random ids, and the same run again.

    The run has 64 ids, or as many as the network's context and vocabulary allow; empty if not even two fit.
    """
    config = network.config
    front = () if start_id is None else (start_id,)
    others = np.setdiff1d(np.arange(config.d_vocab), front)
    period = min(_MOST_PERIOD, len(others), (config.n_ctx - len(front)) // 2)
    if period < 2:
        return ()
    run = np.random.default_rng([seed, period]).choice(others, size=period, replace=False).tolist()
    return (*front, *run, *run)


def measure_repeated(
    network: Network, start_id: int | None = None, seed: int = 0
) -> dict[str, Float[Array, "layer head"]]:
    """Every measure on repeated random tokens, for every head: one pass over at most 129 tokens.

    Deterministic. NaN everywhere if the network's context is too short for the test.
    """
    config = network.config
    ids = repeated_ids(network, start_id, seed)
    names = [entry.name for entry in MEASURES if entry.needs == REPEATED]
    if not ids:
        return {name: np.full((config.n_layers, config.n_heads), np.nan) for name in names}
    found = measure_heads(run_trace(network, ids))
    return {name: found[name.removesuffix("_repeated")] for name in names}


def scores_of(measured: Mapping[str, Float[Array, "layer head"]], layer: int, head: int) -> dict[str, float]:
    """One head's scores by name."""
    return {name: float(values[layer, head]) for name, values in measured.items()}


def roles(scores: Mapping[str, float]) -> tuple[str, ...]:
    """The names of the roles that a head with these scores has, most significant first; often none.

    A score that is missing or NaN gives no role.
    """
    return tuple(role.name for role in ROLES if scores.get(role.measure, np.nan) > role.threshold)
