"""The cache of traces that sessions share, bounded in bytes.

Not `cachetools.LRUCache`, which adds up the sizes of its entries: traces that continue each other share memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial

from model.changes.interventions import NO_CHANGES, Changes
from model.network.network import Network
from model.trace.trace import Trace, run_trace, shared_length
from model.trace.turns import ANYONE, LISTEN_SECONDS, Caller, Turns

_Key = tuple[int, tuple[int, ...], Changes]
_LONG_SHARE = 16  # a trace that takes more than this part of the room is long work


class TraceCache:
    """The most recently used traces, at most `max_bytes` of them (the newest one is kept whatever its size).

    A text that continues or edits a cached one reuses the beginning they share. Passes wait for their turn in `turns`;
    a request for a trace that is already being made waits for that one.
    """

    def __init__(self, max_bytes: int, turns: Turns | None = None) -> None:
        self.max_bytes, self.turns = max_bytes, turns or Turns()
        self._traces: OrderedDict[_Key, Trace] = OrderedDict()
        self._under_way: dict[_Key, threading.Event] = {}
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes that the cached traces hold now."""
        with self._lock:
            return self._total()

    def get(
        self, network: Network, ids: Sequence[int], changes: Changes = NO_CHANGES, *, caller: Caller = ANYONE
    ) -> Trace:
        """The trace of `network` over `ids`, of a pass with `changes`, computed only if it is not here.

        Raises:
            TextError: no ids, or more than the network's context holds.
            SelectionError: a change of a head or link that is not there.
            BusyError: too many passes are waiting already.
            Whatever `caller.check` raises: the trace is no longer wanted.
        """
        # A trace holds its network, so the number below cannot be given to another one while the entry lives.
        key = (id(network), tuple(ids), changes or NO_CHANGES)
        while not isinstance(found := self._look_up(key), Trace):
            if found is None:
                return self._make(network, key, caller)
            found.wait(LISTEN_SECONDS)  # another session is at it
            caller.check()
        return found

    def forget(self, network: Network) -> None:
        """Drop every trace of `network`, and with them the network itself."""
        with self._lock:
            for key in [key for key in self._traces if key[0] == id(network)]:
                del self._traces[key]

    def _look_up(self, key: _Key) -> Trace | threading.Event | None:
        """The trace, or the event that ends the one under way; None if the caller must make it now."""
        with self._lock:
            if key in self._traces:
                self._traces.move_to_end(key)
                return self._traces[key]
            if key in self._under_way:
                return self._under_way[key]
            self._under_way[key] = threading.Event()
            return None

    def _make(self, network: Network, key: _Key, caller: Caller) -> Trace:
        _, ids, changes = key
        c = network.config
        n_bytes = 4 * len(ids) * c.d_model * (6 * c.n_layers + 1)  # two residuals, q, k, v and z in each layer
        try:
            with self.turns.turn(caller, long=_LONG_SHARE * n_bytes > self.max_bytes) as turn:
                prefix = self._best_prefix(network, ids)
                between = partial(self.turns.give_way, turn)
                trace = run_trace(network, ids, prefix=prefix, changes=changes, between=between)
            self._keep(key, trace)
            return trace
        finally:
            with self._lock:
                self._under_way.pop(key).set()

    def _best_prefix(self, network: Network, ids: tuple[int, ...]) -> Trace | None:
        with self._lock:
            candidates = [trace for trace in self._traces.values() if trace.network is network and not trace.changes]
        return max(candidates, key=lambda trace: shared_length(trace.ids, ids), default=None)

    def _keep(self, key: _Key, trace: Trace) -> None:
        with self._lock:
            self._traces[key] = trace
            while self._total() > self.max_bytes and len(self._traces) > 1:
                self._traces.popitem(last=False)

    def _total(self) -> int:
        """Bytes of all memory that cached traces lie in; traces that continue each other share theirs."""
        return sum(memory.nbytes for memory in {trace.memory for trace in self._traces.values()})
