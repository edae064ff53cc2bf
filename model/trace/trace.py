"""A trace: what one pass over a text keeps for inspection.

The pass runs with the fused attention kernel and keeps, for each layer, only `resid_pre`, `resid_mid`, `v`, `z`, and
the queries and keys as they meet: `q` and `k`, or `rot_q` and `rot_k` where positions turn them. Memory grows with the
text's length, not with its square. Everything else is derived when asked for, by the steps in
`model.network.attention`, and equals what the network computed. Arrays derived recently are cached
(`model.trace.recent`). Arrays are read-only; a trace never changes and may be shared.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from gettext import gettext as _
from gettext import ngettext

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from model.changes.interventions import NO_CHANGES, Changes
from model.errors import CheckpointError, SelectionError, TextError
from model.network import attention
from model.network.network import Network
from model.trace.recent import Made, Recent
from model.trace.store import Memory, Store, store_for

_EVERY = slice(None)  # position
_derived = Recent(32 << 20)  # eight matrices of 1,024 tokens, of all traces together


def run_trace(
    network: Network,
    ids: Sequence[int],
    *,
    prefix: Trace | None = None,
    changes: Changes = NO_CHANGES,
    between: Callable[[], object] = lambda: None,
) -> Trace:
    """Trace `network` over `ids`. The beginning shared with `prefix`, a trace of the same network, is reused.

    With `changes` the pass is a changed one and reuses nothing; the network itself stays as it is.
    `between` is called before each layer; it may let other work in, and an exception that it raises ends the pass.

    Raises:
        TextError: no ids, or more than the network's context holds.
        SelectionError: a change of a head or link that is not there.
        CheckpointError: the network's numbers overflow on this text.
    """
    n_ctx = network.config.n_ctx
    if not ids:
        raise TextError(_("There are no tokens to trace; type at least one character."))
    if len(ids) > n_ctx:
        raise TextError(
            ngettext(
                "The text has {n:,} token, but the model reads at most {n_ctx:,}; shorten it.",
                "The text has {n:,} tokens, but the model reads at most {n_ctx:,}; shorten it.",
                len(ids),
            ).format(n=len(ids), n_ctx=n_ctx)
        )
    changes.check(network.config, len(ids))
    n_shared = 0 if changes else _shared(prefix, network, ids)
    store = store_for(network, len(ids), None if prefix is None else prefix._store, n_shared)
    with torch.inference_mode():
        new = torch.tensor(ids[n_shared:])
        tap = changes.tap(network.config, store.tap_from(n_shared, between))
        store.resid[-1, n_shared:] = network(new, cache=store.cache(n_shared), tap=tap)
    finite = store.resid[:, n_shared:].sum(dim=(1, 2)).isfinite()
    # The fused kernel can turn infinite scores into weights that look like any others: no score exceeds this product.
    queries, keys = (part.norm(dim=-1).amax(dim=(1, 2)) for part in (store.q[:, :, n_shared:], store.k))
    finite[1:] &= (queries * keys).isfinite()
    for layer, is_finite in enumerate(finite.tolist()):
        if not is_finite:
            found = _("The numbers of this model exceed fp32's range: those that layer {layer} reads are not finite.")
            if layer == network.config.n_layers:
                found = _("The numbers of this model exceed fp32's range: those after the last layer are not finite.")
            cause = _("Its weights are damaged, or were not meant for fp32.")
            raise CheckpointError(f"{found.format(layer=layer)} {cause}")
    return Trace(network, tuple(ids), store, changes)


def _shared(prefix: Trace | None, network: Network, ids: Sequence[int]) -> int:
    """How many leading positions can be reused; the last one is always computed, so that a pass takes place."""
    if prefix is None or prefix.network is not network or prefix.changes:
        return 0
    return shared_length(prefix.ids, ids[:-1])


def shared_length(a: Sequence[int], b: Sequence[int]) -> int:
    """How many leading ids `a` and `b` have in common."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _frozen(tensor: Tensor) -> np.ndarray:
    array = tensor.detach().numpy()
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Trace:
    """One pass of `network` over `ids`. Axes: layer, head, pos (query or key), d_model, d_head, d_mlp, d_vocab.

    After a changed pass everything is as `changes` left it: `pattern` has the cut links at 0, `z` and `result` are what
    a switched-off head passed on (its pattern is still what it read), and all later layers follow from that.
    """

    network: Network
    ids: tuple[int, ...]
    _store: Store = field(repr=False)
    changes: Changes = NO_CHANGES
    _name: object = field(default_factory=object, init=False, repr=False)  # a cache key: holds no trace

    @property
    def n_pos(self) -> int:
        """Number of tokens."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes of the kept activations."""
        return self._store.nbytes

    @property
    def memory(self) -> Memory:
        """The memory that the kept activations lie in; traces that continue each other share it."""
        return self._store.memory

    # --- kept: what the pass itself left ---------------------------------------------------------------------------

    @property
    def resid_pre(self) -> Float[np.ndarray, "layer pos d_model"]:
        """The residual stream as each layer receives it; the first is `embed`, plus `pos_embed` where there is one."""
        return _frozen(self._store.resid[:-1])

    @property
    def resid_mid(self) -> Float[np.ndarray, "layer pos d_model"]:
        """The residual stream between attention and MLP; `resid_pre + attn_out == resid_mid`."""
        return _frozen(self._store.resid_mid)

    @property
    def resid_post(self) -> Float[np.ndarray, "layer pos d_model"]:
        """The residual stream as each layer leaves it; the next layer's `resid_pre`."""
        return _frozen(self._store.resid[1:])

    @property
    def rot_q(self) -> Float[np.ndarray, "layer head pos d_head"]:
        """Query vectors as they meet the keys: turned by their position, or just `q` where positions are embedded."""
        return _frozen(self._store.q)

    @property
    def rot_k(self) -> Float[np.ndarray, "layer kv_head pos d_head"]:
        """Key vectors as they meet the queries, once for all query heads that share them."""
        return _frozen(self._store.k)

    @property
    def v(self) -> Float[np.ndarray, "layer kv_head pos d_head"]:
        """Value vectors, once for all query heads that share them."""
        return _frozen(self._store.v)

    @property
    def z(self) -> Float[np.ndarray, "layer head pos d_head"]:
        """Each head's output: the sum of the values times their weights."""
        return _frozen(self._store.z)

    # --- one head's own ---------------------------------------------------------------------------------------------

    def queries(self, layer: int, head: int) -> Float[np.ndarray, "pos d_head"]:
        """The head's queries as they meet the keys. Raises SelectionError if there is no such head, as the next two."""
        self.network.check_head(layer, head)
        return self.rot_q[layer, head]

    def keys(self, layer: int, head: int) -> Float[np.ndarray, "pos d_head"]:
        """The keys that the head's queries meet: those of its group."""
        self.network.check_head(layer, head)
        return self.rot_k[layer, self.network.config.kv_of(head)]

    def values(self, layer: int, head: int) -> Float[np.ndarray, "pos d_head"]:
        """The values that the head adds up: those of its group."""
        self.network.check_head(layer, head)
        return self.v[layer, self.network.config.kv_of(head)]

    def head_vectors(
        self, layer: int, heads: range, queries: slice | np.ndarray, n_keys: int
    ) -> tuple[Float[Tensor, "head query d_head"], Float[Tensor, "kv_head key d_head"]]:
        """For these heads of a layer: their vectors of `queries`, and the first `n_keys` keys, for `head_scores`.

        A part of a group gets the keys it shares once for each of its heads.
        """
        kv_heads = [self.network.config.kv_of(head) for head in heads]
        whole = len(heads) == self.network.config.n_heads
        q, k = self._store.q[layer, heads.start : heads.stop, queries], self._store.k[layer, :, :n_keys]
        return q, k if whole else k[kv_heads]

    # --- derived: attention ----------------------------------------------------------------------------------------

    @property
    def q(self) -> Float[np.ndarray, "layer head pos d_head"]:
        """Query vectors, before positions turn them."""
        return _frozen(self._unturned(0)) if self.network.config.rotary else self.rot_q

    @property
    def k(self) -> Float[np.ndarray, "layer kv_head pos d_head"]:
        """Key vectors, before positions turn them."""
        return _frozen(self._unturned(1)) if self.network.config.rotary else self.rot_k

    def attn_scores(self, layer: int, head: int, *, scaled: bool = True) -> Float[np.ndarray, "query key"]:
        """Query-key products before the mask, for every query and every key; without the scale if asked for."""
        return _frozen(self._scores(layer, head) if scaled else self._scores(layer, head, scale=1.0))

    def masked_scores(self, layer: int, head: int) -> Float[np.ndarray, "query key"]:
        """The scores with minus infinity where the key lies after the query."""
        return _frozen(attention.apply_mask(self._scores(layer, head)))

    def pattern(self, layer: int, head: int, *, causal: bool = True) -> Float[np.ndarray, "query key"]:
        """Softmax weights: rows add up to 1 (unless links were cut), exactly 0 above the diagonal.

        With `causal=False` every token sees every other, as in an encoder; GPT-2 was not trained this way.
        """

        def derived() -> np.ndarray:
            scores = self._scores(layer, head)
            return _frozen(self.changes.pattern(layer, head, attention.apply_mask(scores) if causal else scores))

        return self.remembered(("pattern", layer, head, causal), derived)

    def rows(self, query: int) -> Float[np.ndarray, "layer head key"]:
        """One query's weights in every head over the keys it sees: that row of each `pattern`, up to its diagonal."""
        self.check_pos(query)
        q, k = self._store.q[:, :, query : query + 1], self._store.k[:, :, : query + 1]
        config, changes = self.network.config, self.changes
        scales = torch.tensor([config.attn_scale(layer) for layer in range(config.n_layers)])
        scores = attention.head_scores(q, k, 1.0) * scales[:, None, None, None]  # (layer, head, 1, key)
        weights = attention.softmax(scores)
        for layer, head in {cut[:2] for cut in changes.cuts if cut.query == query}:
            weights[layer, head] = changes.pattern(layer, head, scores[layer, head], first=query)
        return _frozen(weights[:, :, 0])

    def weighted_values(self, layer: int, head: int, query: int) -> Float[np.ndarray, "key d_head"]:
        """The values of the keys `query` sees, times its weights; they add up to `z[layer, head, query]`.

        (Not to what replaces the z of a switched-off head.)
        """
        self.check_pos(query)
        scores = self._scores(layer, head)[query : query + 1, : query + 1]
        weights = self.changes.pattern(layer, head, scores, first=query)[0]
        return _frozen(attention.weighted_values(weights, torch.tensor(self.values(layer, head)[: query + 1])))

    def result(self, layer: int, head: int, at: slice = _EVERY) -> Float[np.ndarray, "pos d_model"]:
        """What one head alone adds to the stream (`at` some positions): `z` through its rows of the projection."""
        w_o = self.network.w_o(layer, head)
        return _frozen(self._store.z[layer, head, at] @ w_o)

    # --- derived: the rest of the block ----------------------------------------------------------------------------

    @property
    def embed(self) -> Float[np.ndarray, "pos d_model"]:
        """Each token's row of `wte`."""
        return _frozen(self.network.wte(torch.tensor(self.ids)))

    @property
    def pos_embed(self) -> Float[np.ndarray, "pos d_model"] | None:
        """Each position's row of `wpe`; None where positions turn queries and keys in place of being added."""
        return None if self.network.wpe is None else _frozen(self.network.wpe(torch.arange(self.n_pos)))

    def attn_out(self, layer: int, at: slice = _EVERY) -> Float[np.ndarray, "pos d_model"]:
        """What all heads of a layer add to the residual stream (`at` some positions), bias included."""
        block = self.network.block(layer)
        return _frozen(block.attn.out(attention.merge_heads(self._store.z[layer][:, at])))

    def ln_1(self, layer: int) -> Float[np.ndarray, "pos d_model"]:
        """What the layer's attention reads: `resid_pre` after its norm."""
        return self.remembered(
            ("ln_1", layer), lambda: _frozen(self.network.block(layer).ln_1(self._store.resid[layer]))
        )

    def ln_2(self, layer: int) -> Float[np.ndarray, "pos d_model"]:
        """What the layer's MLP reads: `resid_mid` after its norm."""
        return _frozen(self.network.block(layer).ln_2(self._store.resid_mid[layer]))

    def mlp_pre(self, layer: int) -> Float[np.ndarray, "pos d_mlp"]:
        """The MLP's hidden values before the activation function; with a gate, the gate's."""
        return _frozen(self._mlp(layer)["mlp_pre"])

    def mlp_pre_linear(self, layer: int) -> Float[np.ndarray, "pos d_mlp"] | None:
        """What the gate lets through: the other projection of a gated MLP; None if there is no gate."""
        found = self._mlp(layer).get("mlp_pre_linear")
        return None if found is None else _frozen(found)

    def mlp_post(self, layer: int) -> Float[np.ndarray, "pos d_mlp"]:
        """The MLP's hidden values after the activation function, and times `mlp_pre_linear` where there is a gate."""
        return _frozen(self._mlp(layer)["mlp_post"])

    def mlp_out(self, layer: int) -> Float[np.ndarray, "pos d_model"]:
        """What the MLP adds to the residual stream; `resid_mid + mlp_out == resid_post`."""
        return _frozen(self._mlp(layer)["mlp_out"])

    def logits(self, pos: int) -> Float[np.ndarray, " d_vocab"]:
        """The model's scores for the token after position `pos`, one for each word of the vocabulary."""
        self.check_pos(pos)
        return self.remembered(("logits", pos), lambda: _frozen(self.network.logits(self._store.resid[-1, pos])))

    def lens(self, pos: int) -> Float[np.ndarray, "layer_plus_1 d_vocab"]:
        """The same scores read off before the first layer and after each one; the last row equals `logits(pos)`.

        Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
        """
        self.check_pos(pos)
        return _frozen(self.network.logits(self._store.resid[:, pos]))

    def remembered(self, what: Hashable, derive: Callable[[], Made]) -> Made:
        """What `derive` returns, cached as `what` of this trace. Callers must not change it."""
        return _derived.get((self._name, what), derive)

    # --- checks ----------------------------------------------------------------------------------------------------

    def _scores(self, layer: int, head: int, scale: float | None = None) -> Tensor:
        self.network.check_head(layer, head)
        factor = self.network.config.attn_scale(layer) if scale is None else scale
        q, k = self._store.q[layer, head], self._store.k[layer, self.network.config.kv_of(head)]
        return self.remembered(("scores", layer, head, factor), lambda: attention.attn_scores(q, k, factor))

    def _unturned(self, part: int) -> Tensor:
        """Queries (0) or keys (1) of all layers, made again from what each layer's attention read."""
        layers = range(self.network.config.n_layers)
        return torch.stack([self.network.unturned(layer, torch.tensor(self.ln_1(layer)))[part] for layer in layers])

    def _mlp(self, layer: int) -> dict[str, Tensor]:
        block, seen = self.network.block(layer), dict[str, Tensor]()
        x = block.ln_2(self._store.resid_mid[layer])
        seen["mlp_out"] = block.mlp(x, lambda name, tensor: seen.setdefault(name, tensor))
        return seen

    def check_pos(self, pos: int) -> None:
        """Raise SelectionError unless the text has this position."""
        if not 0 <= pos < self.n_pos:
            raise SelectionError(
                _("There is no position {pos}; this text has positions 0 to {last}.").format(
                    pos=pos, last=self.n_pos - 1
                )
            )
