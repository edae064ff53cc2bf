"""The optimizer: Muon for the blocks' matrices, AdamW for everything else.

Muon (Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks", https://kellerjordan.github.io/posts/muon/)
orthogonalises each matrix's momentum, so that rare directions are learned as fast as common ones. Its step is scaled as
in Liu et al. 2025, "Muon is Scalable for LLM Training" (arXiv:2502.16982), which makes AdamW's learning rates fit.
Both are torch's own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from model.network.gpt2 import GPT2
from model.training.settings import Optimizing


class Optimizer:
    """Both optimizers as one, with one factor on both learning rates."""

    def __init__(self, model: GPT2, settings: Optimizing) -> None:
        weights = [p for p in model.h.parameters() if p.ndim == 2]
        others = [p for p in model.parameters() if all(p is not weight for weight in weights)]
        self.clip, self.parameters = settings.clip, [*weights, *others]
        # c_attn is three matrices side by side. As one, the values' large gradient would leave next to nothing of the
        # step for queries and keys, so each gets its own: a view that shares the weight's memory.
        self._views = [
            (weight, [nn.Parameter(part) for part in _parts(weight, model.config.d_model)]) for weight in weights
        ]
        matrices = [view for _, views in self._views for view in views]
        muon = torch.optim.Muon(
            matrices, lr=settings.matrix_lr, weight_decay=settings.weight_decay, adjust_lr_fn="match_rms_adamw"
        )
        # Embeddings and biases are not decayed: a rare token's row would shrink between its few occurrences.
        adamw = torch.optim.AdamW(others, lr=settings.other_lr, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
        self._parts: tuple[tuple[torch.optim.Optimizer, float], ...] = (
            (muon, settings.matrix_lr), (adamw, settings.other_lr)
        )  # fmt: skip

    def step(self, factor: float) -> None:
        """One update with `factor` times the configured learning rates; clears the gradients."""
        nn.utils.clip_grad_norm_(self.parameters, self.clip)
        for weight, views in self._views:
            assert weight.grad is not None
            for view, grad in zip(views, weight.grad.chunk(len(views), dim=1), strict=True):
                view.grad = grad
        for part, rate in self._parts:
            for group in part.param_groups:
                group["lr"] = rate * factor
            part.step()
            part.zero_grad(set_to_none=True)
        for weight, _ in self._views:
            weight.grad = None

    def state_dict(self) -> list[dict[str, Any]]:
        """What a resumed run needs."""
        return [part.state_dict() for part, _ in self._parts]

    def load_state_dict(self, state: list[dict[str, Any]]) -> None:
        """Inverse of `state_dict`."""
        for (part, _), saved in zip(self._parts, state, strict=True):
            part.load_state_dict(saved)


def _parts(weight: Tensor, d_model: int) -> tuple[Tensor, ...]:
    """The matrices that `weight` holds side by side: three of (d_model, d_model) in c_attn, else itself."""
    n_parts = 3 if weight.shape == (d_model, 3 * d_model) else 1
    return weight.detach().chunk(n_parts, dim=1)


def rate_factor(step: int, warmup_steps: int, decay_done: float | None) -> float:
    """Warmup, stable, decay: rises linearly, stays at 1, and once the decay began falls linearly to 0.

    The stable part has no planned end (Hu et al. 2024, arXiv:2404.06395), so a run can be extended from any checkpoint.
    """
    warm = min(1.0, (step + 1) / max(1, warmup_steps))
    return warm if decay_done is None else warm * max(0.0, 1.0 - decay_done)
