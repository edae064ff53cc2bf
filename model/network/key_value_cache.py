"""The key/value cache: what later positions need of earlier ones, so that no token is read twice."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from model.network.sizes import Config


@dataclass(frozen=True, eq=False)
class KeyValueCache:
    """Keys and values of the first `n_pos` positions in every layer and key head, in memory for `capacity` positions.

    A pass writes the keys and values of the positions it reads right behind these, so nothing is copied; `extended`
    is the cache that includes them. A cache never changes, but its continuations share its memory: of two, only the
    later one is valid.
    """

    memory_k: Float[Tensor, "layer *batch kv_head capacity d_head"]
    memory_v: Float[Tensor, "layer *batch kv_head capacity d_head"]
    n_pos: int = 0

    @classmethod
    def empty(cls, config: Config, capacity: int | None = None) -> KeyValueCache:
        """Memory for `capacity` positions (by default the model's context), none of them read yet."""
        shape = (config.n_layers, config.n_kv_heads, config.n_ctx if capacity is None else capacity, config.d_head)
        return cls(torch.empty(shape), torch.empty(shape))

    @property
    def k(self) -> Float[Tensor, "layer *batch kv_head pos d_head"]:
        """The keys."""
        return self.memory_k[..., : self.n_pos, :]

    @property
    def v(self) -> Float[Tensor, "layer *batch kv_head pos d_head"]:
        """The values."""
        return self.memory_v[..., : self.n_pos, :]

    @property
    def capacity(self) -> int:
        """How many positions the memory holds."""
        return self.memory_k.shape[-2]

    @property
    def nbytes(self) -> int:
        """Bytes of the keys and values themselves, free memory not counted."""
        return self.k.nbytes + self.v.nbytes

    def extended(self, n_new: int) -> KeyValueCache:
        """The cache with the `n_new` positions that a pass has written behind it."""
        return replace(self, n_pos=self.n_pos + n_new)

    def write(
        self, layer: int, k: Float[Tensor, "*batch kv_head new d_head"], v: Float[Tensor, "*batch kv_head new d_head"]
    ) -> tuple[Float[Tensor, "*batch kv_head pos d_head"], Float[Tensor, "*batch kv_head pos d_head"]]:
        """Write a layer's keys and values of the next positions; all of that layer's, cached and new, as views.

        Raises:
            ValueError: the memory has no room for them.
        """
        end = self.n_pos + k.shape[-2]
        if end > self.capacity:
            raise ValueError(f"The cache has memory for {self.capacity} positions; {end} are needed.")
        whole_k, whole_v = self.memory_k[layer][..., :end, :], self.memory_v[layer][..., :end, :]
        whole_k[..., self.n_pos :, :].copy_(k)
        whole_v[..., self.n_pos :, :].copy_(v)
        return whole_k, whole_v
