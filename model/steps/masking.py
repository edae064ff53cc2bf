"""The mask step by step: query-key products, scaled, masked, softmax; for a head and for the article's own example.

Two ways to mask: minus infinity, as in the article's drawings, and a large number subtracted, as in GPT-2's published
code (OpenAI 2019, `mask_attn_weights`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from model.network import attention

SUBTRACTED = 1e10
"""What GPT-2's published code subtracts from a masked score."""


def subtract_mask(
    scores: Float[Tensor, "*batch query key"], amount: float = SUBTRACTED
) -> Float[Tensor, "*batch query key"]:
    """The published code's mask: scores of later keys are multiplied by 0, then `amount` is subtracted from them."""
    future = attention.causal_mask(scores.shape[-2], scores.shape[-1], scores.device).to(scores.dtype)
    return scores * (1 - future) - amount * future  # (.., query, key)


@dataclass(frozen=True, eq=False)
class MaskSteps:
    """A head's four matrices, from the query-key products to the softmax weights."""

    products: Float[np.ndarray, "query key"]
    scaled: Float[np.ndarray, "query key"]
    masked: Float[np.ndarray, "query key"]
    pattern: Float[np.ndarray, "query key"]


def mask_steps(products: Float[np.ndarray, "query key"], scale: float, *, subtract: float | None = None) -> MaskSteps:
    """Everything that follows from the products `q @ k.T`: times `scale`, masked, softmax along each row.

    Later keys become minus infinity, or have `subtract` taken off where that is given.
    """
    scaled = torch.tensor(products) * scale
    masked = attention.apply_mask(scaled) if subtract is None else subtract_mask(scaled, subtract)
    return MaskSteps(products, scaled.numpy(), masked.numpy(), attention.softmax(masked).numpy())


def head_output(
    pattern: Float[np.ndarray, "query key"], v: Float[np.ndarray, "key d_head"]
) -> Float[np.ndarray, "query d_head"]:
    """`z` from weights and values, to be compared with the model's own."""
    return attention.weighted_sum(torch.tensor(pattern), torch.tensor(v)).numpy()


@dataclass(frozen=True)
class Shares:
    """One query's largest shares `(key, weight)` in the order of the text, and what the other keys get together."""

    named: tuple[tuple[int, float], ...]
    n_rest: int
    rest: float


_MOST_NAMED, _LEAST_NAMED = 3, 0.005


def largest_shares(row: Float[np.ndarray, " key"]) -> Shares:
    """The up to three largest weights among the keys a query sees; those under 0.5 % count with the rest.

    `row` ends with the query itself: masked keys are left out. The largest share is always named.
    """
    order = np.argsort(-row, kind="stable")
    chosen = sorted(int(key) for place, key in enumerate(order[:_MOST_NAMED]) if place == 0 or row[key] >= _LEAST_NAMED)
    rest = np.delete(row, chosen)
    return Shares(tuple((key, float(row[key])) for key in chosen), rest.size, float(rest.sum()))


ARTICLE_TOKENS = ("robot", "must", "obey", "orders")
ARTICLE_D_HEAD = 16
"""The article names no size; its weights follow from its scores if they are divided by 4, the square root of 16."""
ARTICLE_SCORES: Float[np.ndarray, "query key"] = np.array(
    [[0.11, 0.00, 0.81, 0.79], [0.19, 0.50, 0.30, 0.48], [0.53, 0.98, 0.95, 0.14], [0.81, 0.86, 0.38, 0.90]]
)
ARTICLE_WEIGHTS: Float[np.ndarray, "query key"] = np.array(
    [[1.00, 0.00, 0.00, 0.00], [0.48, 0.52, 0.00, 0.00], [0.31, 0.35, 0.34, 0.00], [0.25, 0.26, 0.23, 0.26]]
)
for _table in (ARTICLE_SCORES, ARTICLE_WEIGHTS):
    _table.setflags(write=False)


def article_steps(*, scaled: bool = True, subtract: float | None = None) -> MaskSteps:
    """The article's scores through the same steps as a head's; with `scaled=False` without the division by 4."""
    return mask_steps(ARTICLE_SCORES, ARTICLE_D_HEAD**-0.5 if scaled else 1.0, subtract=subtract)


def as_printed(pattern: Float[np.ndarray, "query key"]) -> Float[np.ndarray, "query key"]:
    """Weights rounded to two decimals, as the article prints them."""
    return pattern.round(2)
