"""How well a network predicts held-out text: nats per token, and bits per byte, which compare between vocabularies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from model.network.network import Network
from model.training.batches import Corpus

BATCH = 8  # windows at a time


@dataclass(frozen=True)
class Validation:
    """Mean loss per predicted token, and the same information spread over the text's UTF-8 bytes."""

    loss: float
    bits_per_byte: float
    n_tokens: int


@torch.no_grad()
def total_loss(model: Network, ids: NDArray[np.uint16], window: int) -> tuple[float, int]:
    """Summed loss (nats) and number of predicted tokens, in windows that follow each other without overlap.

    Each window's first token is predicted by none of them, so a window begins with its predecessor's last token.
    """
    total, count = 0.0, 0
    whole = (len(ids) - 1) // window
    inputs = torch.as_tensor(ids[: whole * window].astype(np.int64)).view(-1, window)
    targets = torch.as_tensor(ids[1 : whole * window + 1].astype(np.int64)).view(-1, window)
    for x, y in zip(inputs.split(BATCH), targets.split(BATCH), strict=True):
        logits = model.logits(model(x))
        total += float(F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum"))
        count += y.numel()
    return total, count


def validate(
    model: Network, corpus: Corpus, sources: dict[str, Any], limit: int | None = None
) -> tuple[Validation, dict[str, Validation]]:
    """Overall and by source, on the first `limit` tokens of each source's held-out part (default: all of it).

    `sources` are data.json's entries; the overall figures weigh every token (every byte) alike.
    """
    found: dict[str, tuple[float, int, float]] = {}
    for name, entry in sources.items():
        ids = corpus.tokens(name)[0][:limit]
        loss, count = total_loss(model, np.asarray(ids), min(model.config.n_ctx, max(1, len(ids) - 1)))
        found[name] = loss, count, entry["val"]["bytes"] * count / entry["val"]["tokens"]
    by_source = {name: _validation(*figures) for name, figures in found.items()}
    return _validation(*(sum(column) for column in zip(*found.values(), strict=True))), by_source


def _validation(loss: float, count: float, n_bytes: float) -> Validation:
    return Validation(loss / max(1, count), loss / math.log(2) / max(1, n_bytes), int(count))
