"""The tensors of a checkpoint, whatever its format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection

from torch import Tensor


class Tensors(ABC):
    """Tensors by their published names."""

    @property
    @abstractmethod
    def names(self) -> Collection[str]:
        """The names of all tensors."""

    @abstractmethod
    def source(self, name: str) -> str:
        """The name of the file that has the tensor, or should have it, for messages."""

    def stored_as(self, name: str) -> str:
        """What the tensor is called in its file."""
        return name

    @abstractmethod
    def shape(self, name: str) -> tuple[int, ...]:
        """The shape that `read(name)` has."""

    @abstractmethod
    def read(self, name: str) -> Tensor:
        """The tensor in fp32."""
