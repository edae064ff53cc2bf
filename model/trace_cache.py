"""Traces kept for the next look, shared between sessions, bounded in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from model.gpt2 import GPT2
from model.trace import Trace, run_trace, shared_length


class TraceCache:
    """The most recently used traces, at most `max_bytes` of them (the newest one is kept whatever its size).

    A text that continues or edits a cached one reuses the beginning they share. One pass runs at a time: a pass uses
    all cores by itself, so two at once would only slow each other down.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._traces: OrderedDict[tuple[int, tuple[int, ...]], Trace] = OrderedDict()
        self._lock, self._pass = threading.Lock(), threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes that the cached traces hold now."""
        with self._lock:
            return sum(trace.nbytes for trace in self._traces.values())

    def get(self, network: GPT2, ids: Sequence[int]) -> Trace:
        """The trace of `network` over `ids`, computed only if it is not here.

        Raises:
            TextError: no ids, or more than the network's context holds.
        """
        # A trace holds its network, so the number below cannot be given to another one while the entry lives.
        key = (id(network), tuple(ids))
        if (trace := self._find(key)) is not None:
            return trace
        with self._pass:
            if (trace := self._find(key)) is not None:  # another session computed it while this one waited
                return trace
            trace = run_trace(network, key[1], prefix=self._best_prefix(network, key[1]))
            self._keep(key, trace)
        return trace

    def forget(self, network: GPT2) -> None:
        """Let go of every trace of `network`, and so of the network itself."""
        with self._lock:
            for key in [key for key in self._traces if key[0] == id(network)]:
                del self._traces[key]

    def _find(self, key: tuple[int, tuple[int, ...]]) -> Trace | None:
        with self._lock:
            if key in self._traces:
                self._traces.move_to_end(key)
            return self._traces.get(key)

    def _best_prefix(self, network: GPT2, ids: tuple[int, ...]) -> Trace | None:
        with self._lock:
            candidates = [trace for trace in self._traces.values() if trace.network is network]
        return max(candidates, key=lambda trace: shared_length(trace.ids, ids), default=None)

    def _keep(self, key: tuple[int, tuple[int, ...]], trace: Trace) -> None:
        with self._lock:
            self._traces[key] = trace
            total = sum(kept.nbytes for kept in self._traces.values())
            while total > self.max_bytes and len(self._traces) > 1:
                total -= self._traces.popitem(last=False)[1].nbytes
