"""The queue in front of the model: one at a time, fair, bounded, and never kept by one long work."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from model.errors import BusyError, HeadlightError
from model.trace.turns import ANYONE, Caller, Turns


class Unwanted(BaseException):
    """What ends a script is no Exception in Streamlit either."""


def wait_for(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.002)


def test_one_at_a_time():
    turns, at_work, most = Turns(slice_seconds=0), 0, 0

    def work(who):
        nonlocal at_work, most
        with turns.turn(Caller(who)) as turn:
            for _ in range(20):
                at_work += 1
                most = max(most, at_work)
                time.sleep(0.0005)
                at_work -= 1
                turns.give_way(turn)

    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(work, range(8)):
            pass
    assert most == 1
    assert turns.n_waiting == 0


def test_short_work_does_not_wait_for_the_end_of_long_work():
    turns, done = Turns(slice_seconds=0.01), []
    begun = threading.Event()

    def long_work():
        with turns.turn(Caller("long")) as turn:
            begun.set()
            for _ in range(100):
                time.sleep(0.005)
                turns.give_way(turn)
            done.append("long")
            assert turn.waited > 0

    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(long_work)
        begun.wait(10)
        for _ in range(5):
            with turns.turn(Caller("short")):
                time.sleep(0.001)
        done.append("short")
        ended.result(10)
    assert done == ["short", "long"]


def test_shares_are_equal_by_time_not_by_the_number_of_turns():
    turns, served = Turns(slice_seconds=0), Counter()
    stop = threading.Event()

    def work(who):
        while not stop.is_set():
            with turns.turn(Caller(who)):
                time.sleep(0.004 if who == "greedy" else 0.001)
                served[who] += 1

    with ThreadPoolExecutor(5) as pool:
        workers = [pool.submit(work, who) for who in ("greedy", 1, 2, 3, 4)]
        wait_for(lambda: sum(served.values()) > 150)
        stop.set()
        for worker in workers:
            worker.result(10)
    assert min(served[who] for who in (1, 2, 3, 4)) > 1.5 * served["greedy"], served


def test_newcomers_without_end_do_not_keep_out_who_has_used_much():
    turns, stop, ended = Turns(slice_seconds=0), threading.Event(), threading.Event()

    def heavy():
        with turns.turn(Caller("heavy")) as turn:
            for _ in range(10):
                time.sleep(0.01)
                turns.give_way(turn)
        ended.set()

    def newcomers(number):
        count = 0
        while not stop.is_set():
            with turns.turn(Caller((number, count := count + 1))):
                time.sleep(0.002)

    with ThreadPoolExecutor(5) as pool:
        workers = [pool.submit(newcomers, number) for number in range(4)]
        workers.append(pool.submit(heavy))
        assert ended.wait(20)
        stop.set()
        for worker in workers:
            worker.result(10)
    assert len(turns._used) <= 2  # who has had no more than a share is not remembered


def test_the_queue_is_bounded_and_says_so():
    turns = Turns(most_waiting=2)
    begun, go_on = threading.Event(), threading.Event()

    def work():
        with turns.turn(ANYONE):
            begun.set()
            assert go_on.wait(10)

    with ThreadPoolExecutor(3) as pool:
        workers = [pool.submit(work)]
        assert begun.wait(10)
        workers += [pool.submit(work), pool.submit(work)]
        wait_for(lambda: turns.n_waiting == 2)
        with pytest.raises(BusyError, match=r"2 texts are waiting for the model.*try again"), turns.turn(ANYONE):
            pass
        go_on.set()
        for worker in workers:
            worker.result(10)
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
        assert isinstance(worker.exception(10), Unwanted)
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


def test_of_long_works_few_are_under_way():
    turns, under_way, most = Turns(slice_seconds=0, most_long=2), 0, 0

    def work(who):
        nonlocal under_way, most
        with turns.turn(Caller(who), long=True) as turn:
            under_way += 1
            most = max(most, under_way)
            for _ in range(5):
                time.sleep(0.001)
                turns.give_way(turn)
            under_way -= 1

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
