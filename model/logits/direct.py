"""What each part of the network adds directly to one token's logit: every head, MLP, embedding and bias.

The last layer's residual stream is the sum of what all parts have written into it, and the logit is linear in that sum
except for the final LayerNorm's division. With its divisor frozen at its value in this pass, the logit is a sum of one
number for each part. Sources: Elhage et al. 2021, "A Mathematical Framework for
Transformer Circuits"; TransformerLens' `logit_attrs` and `stack_head_results` do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from gettext import gettext as _
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from model.errors import SelectionError
from model.network.network import Network
from model.trace.trace import Trace

Numbers = Float[np.ndarray, " token"]

# Of each network: its output embedding, that tensor's version, and the mean of its rows.
_averages: WeakKeyDictionary[Network, tuple[Tensor, int, Tensor]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class DirectLogits:
    """The logits of the tokens `ids` after one position, part by part (float64, in units of the logit).

    `mlps` have their own bias in them. `attn_bias` is the bias of each layer's output projection, which belongs to no
    head; a head's share of the value bias is in its z. `unembed_bias` is what the final LayerNorm's bias gives. What
    the model does not have is None.
    """

    ids: Int[np.ndarray, " token"]
    embed: Numbers
    pos_embed: Numbers | None
    heads: Float[np.ndarray, "layer head token"]
    attn_bias: Float[np.ndarray, "layer token"] | None
    mlps: Float[np.ndarray, "layer token"]
    unembed_bias: Numbers | None
    logits: Numbers
    """The model's own, as its pass gave them."""

    @property
    def total(self) -> Numbers:
        """The sum of all parts."""
        total = self.embed + self.heads.sum(axis=(0, 1)) + self.mlps.sum(axis=0)
        attn_bias = None if self.attn_bias is None else self.attn_bias.sum(axis=0)
        return np.asarray(
            sum((part for part in (self.pos_embed, attn_bias, self.unembed_bias) if part is not None), total)
        )

    @property
    def difference(self) -> float:
        """How far the sum of the parts is from the model's own logit, for the token where it is farthest."""
        return float(np.abs(self.total - self.logits).max())


def direct_logits(trace: Trace, pos: int, ids: Sequence[int], *, less_average: bool = False) -> DirectLogits:
    """The parts of the logits of `ids` after `pos`. With `less_average` those of the logit less all tokens' average.

    A part that raises every token's logit equally changes no probability: less the average, it counts as 0.

    Raises:
        SelectionError: a position or a token that is not there, or no token.
    """
    config, network = trace.network.config, trace.network
    if not len(ids) or not all(0 <= token_id < config.d_vocab for token_id in ids):
        raise SelectionError(
            _("There is no token {ids}; this model has tokens 0 to {last}.").format(
                ids=list(ids), last=config.d_vocab - 1
            )
        )
    own = torch.tensor(trace.logits(pos)).double()
    resid = torch.tensor(trace.resid_post[-1, pos]).double()
    unembed = network.unembed.detach()
    rows = unembed[list(ids)].double()  # (token, d_model)
    if less_average:
        rows, own = rows - average_row(network), own - own.mean()
    centred = config.norm == "LayerNorm"
    weighted = rows * network.ln_f.weight.detach().double()
    # Centring a part before the product is the same as centring what it is multiplied by.
    direction = weighted - weighted.mean(dim=1, keepdim=True) if centred else weighted
    divisor = resid.var(correction=0) if centred else resid.square().mean()
    direction = direction * (divisor + config.norm_epsilon).rsqrt()  # (token, d_model)

    def read(part: Float[Tensor, "*part d_model"]) -> Float[np.ndarray, "*part token"]:
        return (part.detach().double() @ direction.T).numpy()

    heads, attn_bias, mlps = [], [], []
    for layer in range(config.n_layers):
        block, z = network.block(layer), trace.z[layer, :, pos]  # z: (head, d_head)
        heads.append(np.stack([z[head] @ read(network.w_o(layer, head)) for head in range(config.n_heads)]))
        if (bias := block.attn.out.bias) is not None:
            attn_bias.append(read(bias))
        resid_mid = torch.tensor(trace.resid_mid[layer, pos : pos + 1])
        mlps.append(read(block.mlp(block.ln_2(resid_mid), lambda name, tensor: tensor)[0]))
    return DirectLogits(
        np.array(ids),
        read(torch.tensor(trace.embed[pos])),
        None if (pos_embed := trace.pos_embed) is None else read(torch.tensor(pos_embed[pos])),
        np.stack(heads),
        np.stack(attn_bias) if attn_bias else None,
        np.stack(mlps),
        (rows @ network.ln_f.bias.detach().double()).numpy() if isinstance(network.ln_f, nn.LayerNorm) else None,
        own[list(ids)].numpy(),
    )


def average_row(network: Network) -> Float[Tensor, " d_model"]:
    """The mean of the output embedding's rows (float64). Computed again only if the weights change."""
    unembed = network.unembed
    version = 0 if unembed.is_inference() else unembed._version  # those of inference mode have none
    kept = _averages.get(network)
    if kept is None or kept[0] is not unembed or kept[1] != version:
        kept = _averages[network] = (unembed, version, unembed.detach().mean(dim=0, dtype=torch.float64))
    return kept[2]
