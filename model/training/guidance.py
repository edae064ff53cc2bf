"""A guided head: for a while one head is asked to look at the token before, so that others can build on it.

An induction head needs a head before it that looks one token back (Olsson et al. 2022), and until both are there,
nothing rewards either half: a small run spends most of its time waiting. Deshpande and Narasimhan 2020 ("Guiding
Attention for Self-Supervised Learning with Transformers", arXiv:2010.02399) add a loss that pulls some heads towards
such a fixed pattern. Here it is one head, in the stages that say so; the model card names it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from model import attention


class GuidedHead:
    """A tap that watches one head's queries and keys during a pass, and what its pattern costs."""

    def __init__(self, layer: int, head: int, scale: float) -> None:
        self.prefix, self.head, self.scale = f"h.{layer}.", head, scale
        self._seen: dict[str, Tensor] = {}

    def tap(self, name: str, tensor: Tensor) -> Tensor:
        """Keep the layer's `q` and `k`; nothing is changed."""
        if name in (self.prefix + "q", self.prefix + "k"):
            self._seen[name[-1]] = tensor[..., self.head, :, :].float()
        return tensor

    def loss(self) -> Tensor:
        """Mean of -log(weight on the token before), over all queries but the first."""
        scores = attention.attn_scores(self._seen["q"], self._seen["k"], self.scale)
        log_pattern = torch.log_softmax(attention.apply_mask(scores), dim=-1)
        return -log_pattern.diagonal(offset=-1, dim1=-2, dim2=-1).mean()
