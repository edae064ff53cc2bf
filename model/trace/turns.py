"""Turns at the model: sessions share it fairly, and long work does not keep the others waiting.

One pass already uses all cores; two at once would only slow each other down, so one piece of work runs at a time. Work
is done in slices. Between two slices (two layers, two generated tokens) it lets in callers who have used the model less
than its own caller, and it ends when its result is no longer wanted. The order follows the time that each caller has
used, as in start-time fair queueing (Goyal, Vin and Cheng 1996): occasional callers go first, and nobody starves.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from gettext import ngettext

from model.errors import BusyError

LISTEN_SECONDS = 0.05  # waiting work checks this often that it is still wanted


def _always() -> None:
    """The check of work that is always wanted."""


@dataclass(frozen=True)
class Caller:
    """Who asks for work. `check` raises an exception of its choice once the work is no longer wanted."""

    who: Hashable = None
    check: Callable[[], object] = _always


ANYONE = Caller()


@dataclass(eq=False)
class Turn:
    """One piece of work, waiting for the model or using it. Created by `Turns`."""

    caller: Caller
    long: bool
    used: float  # seconds at the model charged to the caller
    waited: float = 0.0  # seconds this work has waited
    begun: bool = False
    thread: int = field(default_factory=threading.get_ident)
    since: float = 0.0  # when the current slice or wait began


class Turns:
    """A bounded queue in front of the model; at most `most_waiting` pieces of work wait in it.

    At most `most_long` pieces of long work (which holds much memory) are in progress at a time; the next one begins
    when one of them has ended. A slice lasts at least `slice_seconds`, as measured by `clock`.
    """

    def __init__(
        self,
        *,
        most_waiting: int = 100,
        most_long: int = 2,
        slice_seconds: float = 0.1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most_waiting, self.most_long, self.slice_seconds = most_waiting, most_long, slice_seconds
        self._now = clock
        self._changed = threading.Condition()
        self._waiting: list[Turn] = []
        self._at_work: Turn | None = None
        self._n_long = 0
        self._fair_share = 0.0  # seconds used by a caller who has had exactly its share
        self._used: dict[Hashable, float] = {}  # only callers who have had more than that

    @property
    def n_waiting(self) -> int:
        """Number of pieces of work waiting now."""
        return len(self._waiting)

    @contextmanager
    def turn(self, caller: Caller, *, long: bool = False) -> Iterator[Turn]:
        """Use the model inside this context; call `give_way` with the turn between slices.

        Raises:
            BusyError: too many are waiting already.
            Whatever `caller.check` raises: the work is no longer wanted.
        """
        with self._changed:
            if self._at_work is not None and self._at_work.thread == threading.get_ident():
                raise RuntimeError("This thread is at the model already; a second turn would wait for ever.")
            if len(self._waiting) >= self.most_waiting:
                raise BusyError(
                    ngettext(
                        "{n:,} text is waiting for the model, and no more can. Nothing is lost: try again in a few "
                        "seconds.",
                        "{n:,} texts are waiting for the model, and no more can. Nothing is lost: try again in a few "
                        "seconds.",
                        len(self._waiting),
                    ).format(n=len(self._waiting))
                )
            turn = Turn(caller, long, max(self._used.get(caller.who, 0.0), self._fair_share))
            self._wait(turn)
            turn.begun = True
            self._n_long += turn.long
        try:
            yield turn
        finally:
            with self._changed:
                if self._at_work is turn:  # false if it was given up while waiting
                    self._stop(turn)
                self._n_long -= turn.long
                self._changed.notify_all()

    def give_way(self, turn: Turn) -> None:
        """Between two slices: let in callers who have used the model less, then go on.

        Raises:
            Whatever the caller's `check` raises: the work is no longer wanted.
        """
        turn.caller.check()
        with self._changed:
            spent = self._now() - turn.since
            first = self._first()
            if first is not None and spent >= self.slice_seconds and first.used < turn.used + spent:
                self._stop(turn)
                self._wait(turn)

    def _wait(self, turn: Turn) -> None:
        turn.since = self._now()
        self._waiting.append(turn)
        try:
            while self._at_work is not None or self._first() is not turn:
                self._changed.wait(LISTEN_SECONDS)
                turn.caller.check()
        finally:
            self._waiting.remove(turn)
            self._changed.notify_all()
        self._at_work = turn
        turn.waited += self._now() - turn.since
        turn.since = self._now()

    def _stop(self, turn: Turn) -> None:
        """End a slice: charge it to the caller and wake the next one."""
        spent = self._now() - turn.since
        turn.used += spent
        self._fair_share += spent / (1 + len(self._waiting))
        self._used[turn.caller.who] = turn.used
        self._used = {who: used for who, used in self._used.items() if used > self._fair_share}
        self._at_work = None
        self._changed.notify_all()

    def _first(self) -> Turn | None:
        """The next in line: the one whose caller has used least; among equals, the one that has waited longest."""
        may = [turn for turn in self._waiting if turn.begun or not turn.long or self._n_long < self.most_long]
        return min(may, key=lambda turn: turn.used, default=None)
