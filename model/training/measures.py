"""Measures of a network in training: its heads' patterns on given tokens and their scores."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.heads import measures as heads
from model.network.network import Network

SCORES = ("previous_token", "induction", "duplicate_token", "first_token")


@torch.no_grad()
def patterns(model: Network, ids: NDArray[np.int64]) -> NDArray[np.floating]:
    """(layer, head, query, key) of one sequence, computed in float32 step by step."""
    found: list[Tensor] = []

    def keep(name: str, tensor: Tensor) -> Tensor:
        if name.endswith("pattern"):
            found.append(tensor)
        return tensor

    device = model.wte.weight.device
    model(torch.as_tensor(ids, device=device), tap=keep, eager=True)
    return torch.stack(found).float().cpu().numpy()


def head_scores(model: Network, rows: NDArray[np.int64]) -> dict[str, NDArray[np.floating]]:
    """Every score of every head (layer, head), averaged over the rows (sequences) in which it is defined."""
    found: dict[str, list[NDArray[np.floating]]] = {name: [] for name in SCORES}
    for ids in rows:
        pattern = patterns(model, ids)
        found["previous_token"].append(heads.previous_token_score(pattern))
        found["first_token"].append(heads.first_token_score(pattern))
        found["duplicate_token"].append(heads.duplicate_token_score(pattern, ids.tolist()))
        found["induction"].append(heads.induction_score(pattern, ids.tolist()))
    return {name: np.nanmean(np.stack(scores), axis=0) for name, scores in found.items()}


def repeated_random(seed: int, n_rows: int, period: int, n_ids: int) -> NDArray[np.int64]:
    """Rows of `period` random ids, twice."""
    once = np.random.default_rng([seed, period]).integers(0, n_ids, size=(n_rows, period))
    return np.concatenate([once, once], axis=1)


def best_head(scores: NDArray[np.floating]) -> tuple[str, float]:
    """The highest-scoring head as `L3H2` and its score."""
    layer, head = np.unravel_index(int(np.nanargmax(scores)), scores.shape)
    return f"L{layer}H{head}", float(scores[layer, head])
