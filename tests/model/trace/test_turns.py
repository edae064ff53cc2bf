"""The queue in front of the model: one at a time, fair, bounded, never blocked by one long piece of work.

Time is simulated, and whoever is at the model stays there until all others are in the queue: no outcome depends on how
fast the machine is or on which thread it runs first.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from model.errors import BusyError, HeadlightError
from model.trace.turns import ANYONE, Caller, Turns

PATIENCE = 120  # seconds; only a test that fails waits this long


class Unwanted(BaseException):
    """Like the exception that ends a script in Streamlit, not an `Exception`."""


class Clock:
    """Seconds that pass only where a test lets them pass."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def pass_by(self, seconds):
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.0005)


def test_one_at_a_time(clock):
    turns, at_work, most, ended = Turns(slice_seconds=0, clock=clock), 0, 0, 0

    def work(who):
        nonlocal at_work, most, ended
        with turns.turn(Caller(who)) as turn:
            for _ in range(20):
                at_work += 1
                most = max(most, at_work)
                wait_for(lambda: turns.n_waiting + ended == 7)
                clock.pass_by(1)
                at_work -= 1
                turns.give_way(turn)
            ended += 1

    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(work, range(8)):
            pass
    assert most == 1
    assert turns.n_waiting == 0


def test_short_work_does_not_wait_for_the_end_of_long_work(clock):
    turns, done = Turns(slice_seconds=2, clock=clock), []
    begun, short_ended = threading.Event(), threading.Event()
    pieces = 0

    def long_work():
        nonlocal pieces
        with turns.turn(Caller("long")) as turn:
            begun.set()
            for _ in range(100):
                wait_for(lambda: turns.n_waiting or short_ended.is_set())
                clock.pass_by(1)
                pieces += 1
                turns.give_way(turn)
            done.append("long")
            assert turn.waited > 0

    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(long_work)
        assert begun.wait(PATIENCE)
        for number in range(5):
            with turns.turn(Caller("short")):
                clock.pass_by(0.1)
                assert pieces <= 2 * (number + 1)  # a slice of the long work lasts two seconds
        done.append("short")
        short_ended.set()
        ended.result(PATIENCE)
    assert done == ["short", "long"]


def test_shares_are_equal_by_time_not_by_the_number_of_turns(clock):
    turns, served, used = Turns(slice_seconds=0, clock=clock), Counter(), Counter()
    stop = threading.Event()

    def work(who):
        seconds = 4 if who == "greedy" else 1
        while not stop.is_set():
            with turns.turn(Caller(who)):
                wait_for(lambda: turns.n_waiting == 4 or stop.is_set())
                if stop.is_set():
                    return
                clock.pass_by(seconds)
                served[who] += 1
                used[who] += seconds
                if clock() >= 200:
                    stop.set()

    with ThreadPoolExecutor(5) as pool:
        for _ in pool.map(work, ("greedy", 1, 2, 3, 4)):
            pass
    assert max(used.values()) - min(used.values()) <= 4, used  # seconds: one turn of the greedy one
    assert min(served[who] for who in (1, 2, 3, 4)) > 1.5 * served["greedy"], served


@pytest.mark.parametrize(("heavy_used", "given_way_after"), [(2, 3), (2.5, 3), (5, 6)])
def test_work_gives_way_only_once_it_has_used_more_than_the_first_in_line(clock, heavy_used, given_way_after):
    turns, began = Turns(slice_seconds=2, clock=clock), []
    at_work, heavy_ended = threading.Event(), threading.Event()

    def heavy():
        with turns.turn(Caller("heavy")):
            at_work.set()
            wait_for(lambda: turns.n_waiting == 1)
            clock.pass_by(heavy_used)
        with turns.turn(Caller("heavy")):
            began.append(clock() - heavy_used)
        heavy_ended.set()

    def light():
        with turns.turn(Caller("light")) as turn:
            for _ in range(8):
                wait_for(lambda: turns.n_waiting == 1 or heavy_ended.is_set())
                clock.pass_by(1)
                turns.give_way(turn)

    with ThreadPoolExecutor(2) as pool:
        workers = [pool.submit(heavy)]
        assert at_work.wait(PATIENCE)
        workers.append(pool.submit(light))
        for worker in workers:
            worker.result(PATIENCE)
    assert began == [given_way_after]


def test_newcomers_without_end_do_not_keep_out_who_has_used_much(clock):
    turns, stop = Turns(slice_seconds=0, clock=clock), threading.Event()
    n_newcomers = 0

    def heavy():
        with turns.turn(Caller("heavy")) as turn:
            for _ in range(10):
                wait_for(lambda: turns.n_waiting == 4)
                clock.pass_by(10)
                turns.give_way(turn)
        stop.set()

    def newcomers(number):
        nonlocal n_newcomers
        count = 0
        while not stop.is_set():
            with turns.turn(Caller((number, count := count + 1))):
                wait_for(lambda: turns.n_waiting == 4 or stop.is_set())
                if stop.is_set():
                    return
                clock.pass_by(2)
                n_newcomers += 1

    with ThreadPoolExecutor(5) as pool:
        workers = [pool.submit(newcomers, number) for number in range(4)]
        workers.append(pool.submit(heavy))
        for worker in workers:
            worker.result(PATIENCE)
    # The heavy one used 100 seconds. The four others had an equal share each, and a turn or two to begin with.
    assert 2 * n_newcomers <= 4 * (100 + 2 * 2), n_newcomers
    assert len(turns._used) <= 2  # who has had no more than a share is not remembered


def test_the_queue_is_bounded_and_says_so():
    turns = Turns(most_waiting=2)
    begun, go_on = threading.Event(), threading.Event()

    def work():
        with turns.turn(ANYONE):
            begun.set()
            assert go_on.wait(PATIENCE)

    with ThreadPoolExecutor(3) as pool:
        workers = [pool.submit(work)]
        assert begun.wait(PATIENCE)
        workers += [pool.submit(work), pool.submit(work)]
        wait_for(lambda: turns.n_waiting == 2)
        with pytest.raises(BusyError, match=r"2 texts are waiting for the model.*try again"), turns.turn(ANYONE):
            pass
        go_on.set()
        for worker in workers:
            worker.result(PATIENCE)
    with turns.turn(ANYONE):  # and it is open again
        pass
    assert issubclass(BusyError, HeadlightError)


def test_who_gives_up_leaves_the_queue():
    turns, gone = Turns(), threading.Event()

    def check():
        if gone.is_set():
            raise Unwanted

    def work():
        with turns.turn(Caller("gone", check)):
            raise AssertionError("its turn came")

    with ThreadPoolExecutor(1) as pool, turns.turn(ANYONE):
        worker = pool.submit(work)
        wait_for(lambda: turns.n_waiting == 1)
        gone.set()
        assert isinstance(worker.exception(PATIENCE), Unwanted)
        assert turns.n_waiting == 0


def test_work_that_is_given_up_frees_the_model():
    turns = Turns(slice_seconds=0)

    def unwanted():
        raise Unwanted

    with pytest.raises(Unwanted), turns.turn(Caller("gone", unwanted), long=True) as turn:
        turns.give_way(turn)
    with pytest.raises(ValueError, match="its own"), turns.turn(ANYONE, long=True):
        raise ValueError("its own")
    with turns.turn(ANYONE, long=True):
        assert turns._n_long == 1
    assert turns._n_long == 0


def test_few_pieces_of_long_work_are_in_progress_at_once(clock):
    turns, under_way, most, ended = Turns(slice_seconds=0, most_long=2, clock=clock), 0, 0, 0

    def work(who):
        nonlocal under_way, most, ended
        with turns.turn(Caller(who), long=True) as turn:
            under_way += 1
            most = max(most, under_way)
            for _ in range(5):
                wait_for(lambda: turns.n_waiting + ended == 5)
                clock.pass_by(1)
                turns.give_way(turn)
            under_way -= 1
            ended += 1

    with ThreadPoolExecutor(6) as pool:
        for _ in pool.map(work, range(6)):
            pass
    assert most == 2


def test_a_second_turn_inside_a_turn_is_a_mistake_that_is_told():
    turns = Turns()
    with turns.turn(ANYONE), pytest.raises(RuntimeError, match="at the model already"), turns.turn(ANYONE):
        pass
    with turns.turn(ANYONE):
        pass
