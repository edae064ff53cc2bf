"""A cache of recently derived arrays, bounded in bytes; the least recently used go first.

The parts of a page ask for the same arrays, again at every step of the token: a head's weights, say, for the strip, the
bars and the matrices. Not `cachetools.LRUCache`: it refuses values larger than the bound and would be one more package.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar, runtime_checkable


@runtime_checkable
class HasBytes(Protocol):
    """An array, a tensor, or an object made of these."""

    @property
    def nbytes(self) -> int: ...


Made = TypeVar("Made", bound=HasBytes)


class Recent:
    """At most `max_bytes` of arrays by their keys; for several threads."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self._nbytes = max_bytes, 0
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes that are kept now."""
        return self._nbytes

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What is kept as `key`, or else what `make` returns, kept from now on. Callers must not change it."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                found: Made = self._kept[key]
                return found
        made = make()
        with self._lock:
            if key not in self._kept:  # another thread may have made it in the meantime
                self._kept[key] = made
                self._nbytes += made.nbytes
            while self._nbytes > self.max_bytes:
                self._nbytes -= self._kept.popitem(last=False)[1].nbytes
        return made
