"""Training batches: windows of the prepared token files and repeated random runs, mixed by shares.

A batch is a function of (seed, step) alone, so a resumed run sees exactly what an uninterrupted one would, and
nothing but the step's number has to be kept.

Where a window begins: half of them at a document's start, half anywhere. Cutting anywhere uses every token of a long
novel equally and puts every kind of token at every position. But what people type into the app is the beginning of a
text, so beginnings must not be as rare as one in a long document; and half of those windows leave the start token out,
because a typed sentence's first word may stand at position 0 itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.training.errors import TrainingDataError
from model.training.settings import REPEATS, Batching, Stage

IGNORED = -100  # a target that no loss is computed for


@dataclass(frozen=True)
class Batch:
    """`inputs` and `targets` (window, pos): a target is the next token or IGNORED. `sources` has each row's source.

    `antecedent` (window, pos): how many tokens before a pronoun the word it refers to stands; 0 where none is known.
    """

    inputs: NDArray[np.int64]
    targets: NDArray[np.int64]
    antecedent: NDArray[np.int64]
    sources: tuple[str, ...]


class Corpus:
    """The token files of a prepared data folder, mapped into memory when first used."""

    def __init__(self, folder: Path, start_id: int, split: str = "train") -> None:
        self.folder, self.start_id, self.split = folder, start_id, split
        self._loaded: dict[str, tuple[NDArray[np.uint16], NDArray[np.int64]]] = {}
        self._links: dict[str, NDArray[np.int16] | None] = {}

    def tokens(self, source: str) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
        """All ids of a source, and where its documents start (the places of the start token).

        Raises:
            TrainingDataError: there is no such file, or it holds ids that the model has not.
        """
        if source not in self._loaded:
            path = self.folder / f"{source}.{self.split}.npy"
            try:
                ids = np.load(path, mmap_mode="r")
            except (OSError, ValueError) as error:
                raise TrainingDataError(f"{path} cannot be read ({error}); prepare the data first.") from error
            if ids.ndim != 1 or not len(ids) or int(ids.max()) > self.start_id:
                raise TrainingDataError(f"{path} must be a list of ids from 0 to {self.start_id}; prepare it again.")
            self._loaded[source] = ids, np.flatnonzero(ids == self.start_id)
        return self._loaded[source]

    def antecedents(self, source: str) -> NDArray[np.int16] | None:
        """For each id of a source how many ids before it its antecedent stands, 0 for none; None: none are known.

        Raises:
            TrainingDataError: there is such a file, and it does not fit the ids.
        """
        if source not in self._links:
            path = self.folder / f"{source}.{self.split}.links.npy"
            links = np.load(path, mmap_mode="r") if path.exists() else None
            if links is not None and len(links) != len(self.tokens(source)[0]):
                raise TrainingDataError(f"{path} has {len(links)} links for another number of ids; prepare it again.")
            self._links[source] = links
        return self._links[source]


def describe_data(folder: Path) -> dict[str, Any]:
    """`data.json`: what the preparation wrote about its sources.

    Raises:
        TrainingDataError: it is missing or no JSON object.
    """
    try:
        raw = json.loads((folder / "data.json").read_text())
    except (OSError, ValueError) as error:
        raise TrainingDataError(f"{folder / 'data.json'} cannot be read ({error}); prepare the data first.") from error
    if not isinstance(raw, dict):
        raise TrainingDataError(f"{folder / 'data.json'} must be an object; prepare the data again.")
    return raw


def make_batch(corpus: Corpus, stage: Stage, batching: Batching, *, seed: int, step: int) -> Batch:
    """The batch of one step: each row's source is drawn by the stage's shares, then a window of it."""
    rng = np.random.default_rng([seed, step])
    rows, width = stage.shapes[step % len(stage.shapes)]
    names = sorted(stage.shares)
    weights = np.array([stage.shares[name] for name in names])
    sources = tuple(names[at] for at in rng.choice(len(names), size=rows, p=weights / weights.sum()))
    inputs, targets, antecedent = (np.zeros((rows, width), np.int64) for _ in range(3))
    for row, source in enumerate(sources):
        if source == REPEATS:
            inputs[row], targets[row] = repeated_run(rng, width, corpus.start_id, batching)
        else:
            ids, starts = corpus.tokens(source)
            window = _window(rng, len(ids), starts, width + 1, batching)
            inputs[row], targets[row] = ids[window[:-1]], ids[window[1:]]
            links = corpus.antecedents(source)
            if links is not None:
                antecedent[row] = links[window[:-1]]
    return Batch(inputs, targets, antecedent, sources)


def repeated_run(
    rng: np.random.Generator, width: int, n_ids: int, batching: Batching
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A run of random tokens, repeated to the end of the window at a random period; what copying is learned from.

    Short periods are as frequent as long ones (on a log scale). In A B A B the token to copy is the previous one: that
    teaches a head to look one back, which a head that finds longer periods then builds on.

    Half of the rows begin with random tokens that do not return, so the period is not tied to position 0. Rows draw
    from vocabularies of all sizes: where tokens recur inside the period, knowing only *roughly* which token came
    before is not enough. The first copy cannot be predicted, so it has no targets: its loss would only
    teach that all tokens are equally likely.
    """
    period = int(np.exp(rng.uniform(np.log(batching.shortest_period), np.log(width // 2 + 1))))
    offset = int(rng.integers(0, width - 2 * period + 1)) if rng.random() < 0.5 else 0
    fewest = min(batching.fewest_ids, n_ids)
    n_used = int(np.exp(rng.uniform(np.log(fewest), np.log(n_ids))))
    used = rng.integers(0, n_ids, size=n_used)
    window = used[rng.integers(0, n_used, size=width + 1)]
    copied = np.arange(offset + period, width + 1)
    window[copied] = window[offset + (copied - offset) % period]
    targets = window[1:].copy()
    targets[: offset + period] = IGNORED  # the first token of the second copy comes as a surprise, too
    return window[:-1], targets


def _window(
    rng: np.random.Generator, n_ids: int, starts: NDArray[np.int64], length: int, batching: Batching
) -> NDArray[np.int64]:
    """The places of a window's ids in their source."""
    if len(starts) and rng.random() < batching.document_start:
        begin = int(starts[rng.integers(len(starts))]) + int(rng.random() < batching.without_start_token)
    else:
        begin = int(rng.integers(max(1, n_ids - length + 1)))
    # A window that runs over the end goes on with the first document.
    return np.arange(begin, begin + length) % n_ids
