"""Does a head look from a pronoun to the word it stands for? Scored on sentences the head was not chosen on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.network.network import Network
from model.text.tokenizer import Tokenizer
from model.training.coreference import CoreferenceExample, Span, tokens_of
from model.training.measures import best_head, patterns


@dataclass(frozen=True)
class CoreferenceScore:
    """The chosen head and the share of the scored sentences in which it succeeds, overall and by pronoun."""

    head: str
    accuracy: float
    accuracy_by_kind: dict[str, float]
    n_sentences: int
    margin: float  # mean weight on the antecedent minus the heaviest wrong candidate


def margins(model: Network, tokenizer: Tokenizer, example: CoreferenceExample) -> NDArray[np.floating]:
    """(layer, head): weight on the antecedent minus weight on the heaviest wrong candidate, the pronoun as query.

    A word of several tokens counts with the sum of their weights, on either side.
    """
    ids = tokenizer.encode(example.text)
    pieces = [tokenizer.token_bytes(id) for id in ids]
    query = tokens_of(example.text, example.pronoun, pieces)[-1]
    row = patterns(model, np.array(ids[: query + 1]))[:, :, -1]  # later tokens cannot change it

    def weight(span: Span) -> NDArray[np.floating]:
        return np.asarray(row[..., tokens_of(example.text, span, pieces)].sum(axis=-1), dtype=np.float64)

    return weight(example.antecedent) - np.max([weight(span) for span in example.wrong], axis=0)


def coreference(
    model: Network, tokenizer: Tokenizer, choosing: Sequence[CoreferenceExample], scoring: Sequence[CoreferenceExample]
) -> CoreferenceScore:
    """Choose the head with the most successes on `choosing`, then count its successes on `scoring`."""
    chosen_on = {example.text for example in choosing}
    scored = [example for example in scoring if example.text not in chosen_on]
    successes = np.mean([margins(model, tokenizer, example) > 0 for example in choosing], axis=0)
    head, _ = best_head(successes)
    layer, number = (int(part) for part in head[1:].split("H"))
    found = np.array([margins(model, tokenizer, example)[layer, number] for example in scored])
    kinds = np.array([example.kind for example in scored])
    return CoreferenceScore(
        head=head,
        accuracy=float((found > 0).mean()),
        accuracy_by_kind={str(kind): float((found[kinds == kind] > 0).mean()) for kind in np.unique(kinds)},
        n_sentences=len(scored),
        margin=float(found.mean()),
    )
