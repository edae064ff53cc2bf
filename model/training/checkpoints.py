"""The state of a run on disk: one file, replaced atomically, so that a run killed at any moment can go on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model.errors import CheckpointError

NAME = "checkpoint.pt"
STABLE = "stable.pt"  # the last checkpoint before the learning rate began to fall: where a longer run would go on


@dataclass
class Progress:
    """How far a run is. Batches follow from `step` alone, so no generator's state is needed."""

    step: int = 0
    tokens: int = 0
    stage: int = 0
    stage_tokens: int = 0
    seconds: float = 0.0
    decay_from: int | None = None  # the count of tokens at which the learning rate began to fall
    decay_tokens: int = 0
    tokens_by_source: dict[str, int] = field(default_factory=dict)

    @property
    def decay_done(self) -> float | None:
        """Share of the decay that is behind, or None before it begins."""
        return None if self.decay_from is None else (self.tokens - self.decay_from) / max(1, self.decay_tokens)

    @property
    def finished(self) -> bool:
        """Whether the decay has ended: there is nothing left to train."""
        return self.decay_done is not None and self.decay_done >= 1


@dataclass(frozen=True)
class Checkpoint:
    """What a run leaves: weights by name, the optimizer's state, progress, and the model's sizes to check against."""

    weights: Mapping[str, Tensor]
    optimizer: list[dict[str, Any]]
    progress: Progress
    model: dict[str, Any]


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write the file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    torch.save({**vars(checkpoint), "progress": asdict(checkpoint.progress)}, partial)
    os.replace(partial, path)


def load_checkpoint(path: Path, device: str | torch.device = "cpu") -> Checkpoint:
    """Read what `save_checkpoint` wrote.

    Raises:
        CheckpointError: the file cannot be read or is something else.
    """
    try:
        raw = torch.load(path, map_location=device, weights_only=True)
        return Checkpoint(raw["weights"], raw["optimizer"], Progress(**raw["progress"]), raw["model"])
    except Exception as error:  # torch.load raises whatever the damage leads to
        raise CheckpointError(f"{path} is no checkpoint of this trainer: {error}") from error
