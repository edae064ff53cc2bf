"""Cross-entropy over the vocabulary, without ever holding all logits.

For a small network the logits (tokens x vocabulary) are by far its largest activation. Here they live a few hundred
rows at a time, in cache, and the gradient is formed on the spot instead of keeping them for the backward pass: about
1.5 times as fast as `cross_entropy(logits)` on a CPU (docs/training.md). torch's own `linear_cross_entropy` with chunks
was slower, and computes the ignored rows, too.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.network.network import Network
from model.training.batches import IGNORED

CHUNK = 256  # rows at a time: 256 x 8192 logits in float32 are 8 MB


class _ChunkedLoss(torch.autograd.Function):
    """Negative log-likelihood of `targets`: their sum times `scale`, and each one's own (without gradient)."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, unembed: Tensor, targets: Tensor, dtype: torch.dtype, scale: float
    ) -> tuple[Tensor, Tensor]:
        weight, inputs = unembed.to(dtype), x.to(dtype)
        grad_x, grad_weight = torch.empty_like(x), torch.zeros_like(unembed)
        losses = torch.empty(len(x), dtype=torch.float32, device=x.device)
        for at in range(0, len(x), CHUNK):
            rows, target = inputs[at : at + CHUNK], targets[at : at + CHUNK, None]
            logits = (rows @ weight.t()).float()
            total = logits.logsumexp(-1, keepdim=True)
            losses[at : at + CHUNK] = (total - logits.gather(1, target)).squeeze(1)
            probabilities = logits.sub_(total).exp_()
            grad = probabilities.scatter_add_(1, target, -torch.ones_like(target, dtype=torch.float32)).to(dtype)
            grad_x[at : at + CHUNK] = grad @ weight
            grad_weight += grad.t() @ rows
        ctx.save_for_backward(grad_x.mul_(scale), grad_weight.mul_(scale))
        ctx.mark_non_differentiable(losses)
        return losses.sum() * scale, losses

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        grad_x, grad_weight = ctx.saved_tensors
        return grad_x * grads[0], grad_weight * grads[0], None, None, None


def next_token_loss(
    model: Network,
    resid: Float[Tensor, "*batch d_model"],
    targets: Int[Tensor, "*batch"],
    dtype: torch.dtype,
    total: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The loss of the targets that count over `total`, each one's own, and the mask of those that count.

    With `total` their number this is `cross_entropy(model.logits(resid), targets)` up to the rounding of `dtype`.
    """
    counts = targets != IGNORED
    unembed = (model.lm_head or model.wte).weight
    loss, losses = _ChunkedLoss.apply(model.ln_f(resid[counts]), unembed, targets[counts], dtype, 1 / max(1, total))
    return loss, losses, counts
