"""Turns at the model: many sessions share it fairly, and no long work keeps the others waiting.

A pass uses all cores by itself, so two at once would only slow each other down: one works at a time. Work is done in
slices. Between two of them (between two layers, between two written tokens) it lets those in who have used the model
less, and it ends where nobody wants its result any more. Works are ordered by the time that their caller has used, as
in start-time fair queueing (Goyal, Vin and Cheng 1996): who comes now and then goes first, and nobody is passed for
ever.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from model.errors import BusyError

LISTEN_SECONDS = 0.05  # so often who waits asks whether the work is still wanted


def _always() -> None:
    """Wanted whatever happens."""


@dataclass(frozen=True)
class Caller:
    """Who asks for work; `check` raises, whatever it likes, once the work is no longer wanted."""

    who: Hashable = None
    check: Callable[[], object] = _always


ANYONE = Caller()


@dataclass(eq=False)
class Turn:
    """One piece of work at the model, or waiting for it. Made by `Turns`."""

    caller: Caller
    long: bool
    used: float  # seconds of the model that the caller has had, as the queue counts them
    waited: float = 0.0  # seconds that this work has waited
    begun: bool = False
    thread: int = field(default_factory=threading.get_ident)
    since: float = 0.0  # when the slice under way, or the wait, began


class Turns:
    """A bounded queue in front of the model; `most_waiting` works may wait.

    Of long works, those that hold much memory, `most_long` are under way at a time; the next ones wait until one has
    ended. A slice lasts at least `slice_seconds`.
    """

    def __init__(self, *, most_waiting: int = 100, most_long: int = 2, slice_seconds: float = 0.1) -> None:
        self.most_waiting, self.most_long, self.slice_seconds = most_waiting, most_long, slice_seconds
        self._changed = threading.Condition()
        self._waiting: list[Turn] = []
        self._at_work: Turn | None = None
        self._n_long = 0
        self._clock = 0.0  # what a caller has used who has had its share
        self._used: dict[Hashable, float] = {}  # of those who have had more than that

    @property
    def n_waiting(self) -> int:
        """How many works wait now."""
        return len(self._waiting)

    @contextmanager
    def turn(self, caller: Caller, *, long: bool = False) -> Iterator[Turn]:
        """Work at the model inside; call `give_way` with the turn between slices.

        Raises:
            BusyError: too many are waiting already.
            Whatever `caller.check` raises: the work is no longer wanted.
        """
        with self._changed:
            if self._at_work is not None and self._at_work.thread == threading.get_ident():
                raise RuntimeError("This thread is at the model already; a second turn would wait for ever.")
            if len(self._waiting) >= self.most_waiting:
                raise BusyError(
                    f"{len(self._waiting):,} texts are waiting for the model, as many as may. Nothing is lost: "
                    "try again in a few seconds."
                )
            turn = Turn(caller, long, max(self._used.get(caller.who, 0.0), self._clock))
            self._wait(turn)
            turn.begun = True
            self._n_long += turn.long
        try:
            yield turn
        finally:
            with self._changed:
                if self._at_work is turn:  # not so if it was given up while it waited
                    self._stop(turn)
                self._n_long -= turn.long
                self._changed.notify_all()

    def give_way(self, turn: Turn) -> None:
        """Between two slices: let those in who have used the model less, then go on.

        Raises:
            Whatever the caller's `check` raises: the work is no longer wanted.
        """
        turn.caller.check()
        with self._changed:
            spent = time.monotonic() - turn.since
            first = self._first()
            if first is not None and spent >= self.slice_seconds and first.used < turn.used + spent:
                self._stop(turn)
                self._wait(turn)

    def _wait(self, turn: Turn) -> None:
        turn.since = time.monotonic()
        self._waiting.append(turn)
        try:
            while self._at_work is not None or self._first() is not turn:
                self._changed.wait(LISTEN_SECONDS)
                turn.caller.check()
        finally:
            self._waiting.remove(turn)
            self._changed.notify_all()
        self._at_work = turn
        turn.waited += time.monotonic() - turn.since
        turn.since = time.monotonic()

    def _stop(self, turn: Turn) -> None:
        """End a slice: count it, and let the next one work."""
        spent = time.monotonic() - turn.since
        turn.used += spent
        self._clock += spent / (1 + len(self._waiting))
        self._used[turn.caller.who] = turn.used
        self._used = {who: used for who, used in self._used.items() if used > self._clock}
        self._at_work = None
        self._changed.notify_all()

    def _first(self) -> Turn | None:
        """Who is next: the one whose caller has used least; among equals, who has waited longest."""
        may = [turn for turn in self._waiting if turn.begun or not turn.long or self._n_long < self.most_long]
        return min(may, key=lambda turn: turn.used, default=None)
