"""Guided heads: a few heads are asked, by a small extra loss, for the habits that a short run would not find by itself.

An induction head needs a head before it that looks one token back (Olsson et al. 2022), and until both are there,
nothing rewards either half; that a pronoun's antecedent is worth looking at shows only once names and nouns are told
apart. A small run spends its time waiting. Deshpande and Narasimhan 2020 ("Guiding Attention for Self-Supervised
Learning with Transformers", arXiv:2010.02399) and, for translation, Chen et al. 2016 ("Guided Alignment Training for
Topic-Aware Neural Machine Translation", arXiv:1607.01628) add a loss that pulls some heads towards a known pattern.
Here one head each has a habit to learn, where its query has a target at all; everything else they do is their own. The
model card names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from model.network import attention
from model.training.batches import IGNORED
from model.training.habits import Guided, Habit


@dataclass(frozen=True)
class Targets:
    """The keys each habit asks for; a query without any is free.

    `antecedent` has for each position how many tokens before it the word stands that it refers to, 0 for none.
    """

    inputs: Int[Tensor, "window pos"]
    targets: Int[Tensor, "window pos"]
    antecedent: Int[Tensor, "window pos"]

    def of(self, habit: Habit) -> Bool[Tensor, "window query key"]:
        """Which keys a head with this habit looks at."""
        n_pos = self.inputs.shape[1]
        at = torch.arange(n_pos, device=self.inputs.device)
        back = at[:, None] - at[None, :]  # query minus key
        if habit == "previous":
            return (back == 1).expand(len(self.inputs), n_pos, n_pos)
        if habit == "antecedent":
            return (self.antecedent[:, :, None] == back) & (back > 0)
        # The token after an earlier occurrence of the query's own, where it tells what comes next.
        before = torch.nn.functional.pad(self.inputs[:, :-1], (1, 0), value=IGNORED - 1)
        same = self.inputs[:, :, None] == before[:, None, :]
        right = self.targets[:, :, None] == self.inputs[:, None, :]
        return same & right & (back > 0)


class GuidedHeads:
    """A tap that watches some heads' queries and keys during a pass, and what their patterns cost."""

    def __init__(self, heads: Sequence[Guided], scales: Sequence[float]) -> None:
        self.heads = tuple(zip(heads, scales, strict=True))
        self._seen: dict[tuple[str, int], Tensor] = {}

    def tap(self, name: str, tensor: Tensor) -> Tensor:
        """Keep the heads' `q` and `k`; nothing is changed."""
        for guided, _ in self.heads:
            if name in (f"h.{guided.layer}.q", f"h.{guided.layer}.k"):
                self._seen[name, guided.head] = tensor[..., guided.head, :, :].float()
        return tensor

    def loss(self, targets: Targets) -> Tensor:
        """Sum over the heads of the mean of -log(weight on the target keys), over the queries that have any."""
        total = targets.inputs.new_zeros((), dtype=torch.float32)
        for guided, scale in self.heads:
            q, k = (self._seen[f"h.{guided.layer}.{part}", guided.head] for part in "qk")
            log_pattern = torch.log_softmax(attention.apply_mask(attention.attn_scores(q, k, scale)), dim=-1)
            wanted = targets.of(guided.habit)
            asked = wanted.any(-1)
            shares = log_pattern[asked].masked_fill(~wanted[asked], -torch.inf).logsumexp(-1)
            total = total - shares.sum() / max(1, len(shares))
        return total
