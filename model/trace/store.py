"""Where a pass stores what a trace keeps: memory that is allocated once and filled from the left.

A text that continues a traced one uses the same memory while there is room in it; the shorter trace sees only its own
positions. So typing on copies nothing, and texts that continue each other share their beginning.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from model.network.key_value_cache import KeyValueCache
from model.network.network import Network
from model.network.parts import Tap
from model.network.sizes import Config

KINDS = ("resid", "resid_mid", "q", "k", "v", "z")
_LEAST_SPARE = 16


class Memory:
    """Memory for the kept activations of at most `n_pos` positions, of which the first `n_filled` are taken."""

    def __init__(self, config: Config, n_pos: int) -> None:
        c = config
        heads, kv_heads = ((c.n_layers, n, n_pos, c.d_head) for n in (c.n_heads, c.n_kv_heads))
        self.n_pos, self.n_filled, self.q_name = n_pos, 0, c.meeting[0]
        # The last row of `resid` is the last layer's resid_post.
        self.resid: Float[Tensor, "layer_plus_1 pos d_model"] = torch.empty(c.n_layers + 1, n_pos, c.d_model)
        self.resid_mid: Float[Tensor, "layer pos d_model"] = torch.empty(c.n_layers, n_pos, c.d_model)
        # Queries and keys as they meet, after the rotation where there is one; keys and values once a group.
        self.q, self.z = torch.empty(heads), torch.empty(heads)
        self.k, self.v = torch.empty(kv_heads), torch.empty(kv_heads)
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of all of it, free or not."""
        return sum(getattr(self, kind).nbytes for kind in KINDS)

    def take(self, start: int, stop: int) -> bool:
        """Take the positions from `start` to `stop`; False if they are not the next free ones."""
        with self._lock:
            if self.n_filled != start or stop > self.n_pos:
                return False
            self.n_filled = stop
            return True


class Store:
    """The kept activations of one trace: the first `n_pos` positions of a memory."""

    def __init__(self, memory: Memory, n_pos: int) -> None:
        self.memory, self.n_pos = memory, n_pos
        self.resid, self.resid_mid, self.q, self.k, self.v, self.z = (
            getattr(memory, kind)[..., :n_pos, :] for kind in KINDS
        )

    @property
    def nbytes(self) -> int:
        """Bytes of these positions."""
        return sum(getattr(self, kind).nbytes for kind in KINDS)

    def cache(self, n_pos: int) -> KeyValueCache:
        """The keys and values of the first `n_pos` positions; a pass writes those of the others into this store."""
        return KeyValueCache(self.memory.k, self.memory.v, n_pos)

    def tap_from(self, start: int, between: Callable[[], object]) -> Tap:
        """A tap that stores the positions from `start` on; `between` is called before each layer.

        It stores no keys and values: the pass writes them into `cache`.
        """
        places = {f"h.{layer}.resid_pre": resid[start:] for layer, resid in enumerate(self.resid[:-1])}
        for name, kept in (("resid_mid", self.resid_mid), (self.memory.q_name, self.q), ("z", self.z)):
            places |= {f"h.{layer}.{name}": part[..., start:, :] for layer, part in enumerate(kept)}

        def tap(name: str, tensor: Tensor) -> Tensor:
            if name.endswith("resid_pre"):
                between()
            if (place := places.get(name)) is not None:
                place.copy_(tensor)
            return tensor

        return tap


def store_for(network: Network, n_pos: int, prefix: Store | None = None, n_shared: int = 0) -> Store:
    """A store for `n_pos` positions, of which the first `n_shared` are already those of `prefix`."""
    if prefix is not None and n_shared == prefix.n_pos and prefix.memory.take(n_shared, n_pos):
        return Store(prefix.memory, n_pos)
    spare = max(_LEAST_SPARE, n_pos // 8)  # most texts go on; memory that is not touched yet costs nothing
    memory = Memory(network.config, min(network.config.n_ctx, n_pos + spare))
    memory.take(0, n_pos)
    store = Store(memory, n_pos)
    if prefix is not None and n_shared:
        for kind in KINDS:
            getattr(store, kind)[..., :n_shared, :] = getattr(prefix, kind)[..., :n_shared, :]
    return store
