"""Changes to a pass: heads switched off, single query -> key links cut. Made through the network's one tap.

The network itself is never changed: `Changes.tap` replaces what a head passes on, and everything after it is computed
from that. Sources: switching off by zero, Michel et al. 2019, "Are Sixteen Heads Really Better than One?"; by a mean,
Wang et al. 2022, "Interpretability in the Wild"; cutting links, Geva et al. 2023, "Dissecting Recall of Factual
Associations in Auto-Regressive Language Models" ("attention knockout").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from gettext import gettext as _
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from model.errors import SelectionError
from model.network import attention
from model.network.parts import Tap
from model.network.sizes import Config

Way = Literal["zero", "mean"]


class Off(NamedTuple):
    """A head whose output z is replaced: by zeros, or at every position by z's mean over the text's positions."""

    layer: int
    head: int
    way: Way


class Link(NamedTuple):
    """What one query reads of one key in one head; positions from 0."""

    layer: int
    head: int
    query: int
    key: int


@dataclass(frozen=True)
class Changes:
    """Heads that are off (each once; the last entry counts) and links that are cut. False if there are none.

    A cut link's weight becomes 0. With `renormalise` the row's other weights are the softmax without that key, so they
    add up to 1 again; else they stay as they were. A row whose every key is cut is all 0 either way. Cuts come before
    the mean: a head that has both passes on the mean of what its cut weights give.
    """

    off: tuple[Off, ...] = ()
    cuts: tuple[Link, ...] = ()
    renormalise: bool = False

    def __post_init__(self) -> None:
        heads = {(layer, head): Off(layer, head, way) for layer, head, way in self.off}
        object.__setattr__(self, "off", tuple(sorted(heads.values())))
        object.__setattr__(self, "cuts", tuple(sorted({Link(*cut) for cut in self.cuts})))

    def __bool__(self) -> bool:
        return bool(self.off or self.cuts)

    @property
    def first_layer(self) -> int:
        """The first layer in which something is changed.

        Raises:
            SelectionError: nothing is changed.
        """
        if not self:
            raise SelectionError(_("No layer is changed; switch off a head or cut a link."))
        return min([off.layer for off in self.off] + [cut.layer for cut in self.cuts])

    def way_of(self, layer: int, head: int) -> Way | None:
        """How the head is switched off; None if it is on."""
        return next((off.way for off in self.off if off[:2] == (layer, head)), None)

    def keys_cut(self, layer: int, head: int) -> dict[int, list[int]]:
        """The keys that are cut in the head, for each query that loses any."""
        found: dict[int, list[int]] = {}
        for cut in self.cuts:
            if cut[:2] == (layer, head):
                found.setdefault(cut.query, []).append(cut.key)
        return found

    # --- changes made from these ------------------------------------------------------------------------------------

    def with_off(self, layer: int, head: int, way: Way | None) -> Changes:
        """A copy with the head off in this way, or on if `way` is None."""
        others = tuple(off for off in self.off if off[:2] != (layer, head))
        return replace(self, off=others if way is None else (*others, Off(layer, head, way)))

    def with_cuts(self, cuts: Iterable[Link]) -> Changes:
        """A copy with exactly these links cut."""
        return replace(self, cuts=tuple(cuts))

    def with_renormalise(self, on: bool) -> Changes:
        """A copy with the rows of cut links renormalised, or not."""
        return replace(self, renormalise=on)

    def moved(self, positions: int) -> Changes:
        """A copy with every link moved by `positions`, after tokens were put in front (below 0: removed)."""
        return self.with_cuts(Link(c.layer, c.head, c.query + positions, c.key + positions) for c in self.cuts)

    def fitting(self, *, n_layers: int, n_heads: int, n_pos: int) -> Changes:
        """A copy with only what exists in a model of this size and a text of this length."""

        def here(layer: int, head: int) -> bool:
            return 0 <= layer < n_layers and 0 <= head < n_heads

        return replace(
            self,
            off=tuple(off for off in self.off if here(off.layer, off.head)),
            cuts=tuple(c for c in self.cuts if here(c.layer, c.head) and 0 <= c.key <= c.query < n_pos),
        )

    def check(self, config: Config, n_pos: int) -> None:
        """Raise unless all of it exists.

        Raises:
            SelectionError: a head or a link that a pass of this network over `n_pos` tokens does not have.
        """
        here = self.fitting(n_layers=config.n_layers, n_heads=config.n_heads, n_pos=n_pos)
        missing = [_("head {head}").format(head=f"L{o.layer}H{o.head}") for o in self.off if o not in here.off]
        missing += [
            _("link {query} -> {key} in {head}").format(query=c.query, key=c.key, head=f"L{c.layer}H{c.head}")
            for c in self.cuts
            if c not in here.cuts
        ]
        if missing:
            raise SelectionError(
                _(
                    "There is no {change} to change: the model has layers 0 to {last_layer} with heads 0 to "
                    "{last_head}, the text has positions 0 to {last_pos}, and no query reads a later key."
                ).format(
                    change=missing[0], last_layer=config.n_layers - 1, last_head=config.n_heads - 1, last_pos=n_pos - 1
                )
            )

    # --- what they do ----------------------------------------------------------------------------------------------

    def pattern(
        self, layer: int, head: int, scores: Float[Tensor, "query key"], first: int = 0
    ) -> Float[Tensor, "query key"]:
        """The softmax of masked `scores`, with the head's cut links at 0; the first row is the query at `first`."""
        weights = attention.softmax(scores)
        for query, keys in self.keys_cut(layer, head).items():
            row = slice(query - first, query - first + 1)
            if row.start < 0 or row.stop > len(weights):
                continue
            if self.renormalise:
                left = scores[row].index_fill(1, torch.tensor(keys), float("-inf"))  # (1, key)
                weights[row] = 0.0 if left.isneginf().all() else attention.softmax(left)
            else:
                weights[row, keys] = 0.0
        return weights

    def tap(self, config: Config, then: Tap) -> Tap:
        """A tap that makes these changes in one pass over a whole text, and passes the changed tensors to `then`."""
        if not self:
            return then
        seen: dict[str, Tensor] = {}
        parts = {config.meeting[0]: "q", config.meeting[1]: "k", "v": "v"}

        def changed(name: str, tensor: Tensor) -> Tensor:
            if name.startswith("h."):
                _, layer, kind = name.split(".")
                if kind in parts:
                    seen[parts[kind]] = tensor
                elif kind == "z":
                    tensor = self._changed_z(int(layer), tensor, seen, config)
            return then(name, tensor)

        return changed

    def _changed_z(
        self, layer: int, z: Float[Tensor, "head pos d_head"], seen: dict[str, Tensor], config: Config
    ) -> Float[Tensor, "head pos d_head"]:
        heads = {off.head for off in self.off if off.layer == layer} | {c.head for c in self.cuts if c.layer == layer}
        if heads:
            z = z.clone()
        for head in heads:
            kv_head = config.kv_of(head)
            q, k, v = seen["q"][head], seen["k"][kv_head], seen["v"][kv_head]  # each (pos, d_head)
            for query in self.keys_cut(layer, head):
                # Only the rows that lose a key are computed again.
                scores = attention.attn_scores(
                    q[query : query + 1], k[: query + 1], config.attn_scale(layer)
                )  # (1, key)
                z[head, query] = self.pattern(layer, head, scores, first=query)[0] @ v[: query + 1]
            way = self.way_of(layer, head)
            if way is not None:
                z[head] = 0.0 if way == "zero" else z[head].mean(dim=0)
        return z


NO_CHANGES = Changes()
"""No changes: the pass as the model makes it."""
