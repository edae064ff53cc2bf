"""The cache of traces: bounded, shared, and a pass for each text only once."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from model.errors import TextError
from model.trace import cache as trace_cache
from model.trace.cache import TraceCache
from model.trace.trace import run_trace
from model.trace.turns import Caller
from tests.models import random_network

ONE_TOKEN = 4 * (3 * 30 + 2 * 30 + 4 * 2 * 30)  # bytes that a trace of the small network holds for each token
SPARE = 16  # tokens that a room for a short text has left


@pytest.fixture
def passes(monkeypatch):
    """The calls of `run_trace`: ids, and the ids of the prefix that was at hand."""
    calls = []

    def counted(network, ids, *, prefix=None, **options):
        calls.append((tuple(ids), prefix and prefix.ids))
        return run_trace(network, ids, prefix=prefix, **options)

    monkeypatch.setattr(trace_cache, "run_trace", counted)
    return calls


def test_a_text_is_traced_once(network, passes):
    cache = TraceCache(10**9)
    assert cache.get(network, [1, 2, 3]) is cache.get(network, (1, 2, 3))
    assert len(passes) == 1


def test_the_longest_shared_beginning_is_reused(network, passes):
    cache = TraceCache(10**9)
    for ids in ((9, 9, 9), (1, 2), (1, 2, 3, 4), (1, 7)):
        cache.get(network, ids)
    extended = cache.get(network, (1, 2, 3, 5))
    assert passes[-1] == ((1, 2, 3, 5), (1, 2, 3, 4))
    np.testing.assert_allclose(extended.z, run_trace(network, (1, 2, 3, 5)).z, atol=1e-5, rtol=0)


def test_networks_are_kept_apart(network, passes):
    cache, other = TraceCache(10**9), random_network(seed=1)
    ours, theirs = cache.get(network, (1, 2)), cache.get(other, (1, 2))
    assert (ours.network, theirs.network) == (network, other)
    assert passes == [((1, 2), None), ((1, 2), None)]


def test_nbytes_counts_each_room_once_with_what_is_free_in_it(network):
    cache = TraceCache(10**9)
    assert cache.nbytes == 0
    first, second = cache.get(network, (1, 2)), cache.get(network, (1, 2, 3))
    assert first.memory is second.memory
    assert cache.nbytes == first.memory.nbytes == (2 + SPARE) * ONE_TOKEN
    third = cache.get(network, (1, 7))
    assert third.memory is not first.memory
    assert cache.nbytes == 2 * (2 + SPARE) * ONE_TOKEN


def test_the_oldest_traces_go_when_there_is_no_room(network, passes):
    cache = TraceCache(2 * (2 + SPARE) * ONE_TOKEN)
    cache.get(network, (1, 1))
    cache.get(network, (2, 2))
    cache.get(network, (1, 1))  # looked at again, so (2, 2) is the oldest
    cache.get(network, (3, 3))
    assert cache.nbytes == cache.max_bytes
    passes.clear()
    cache.get(network, (1, 1))
    cache.get(network, (3, 3))
    assert passes == []
    cache.get(network, (2, 2))
    assert [ids for ids, _ in passes] == [(2, 2)]


def test_the_newest_trace_stays_whatever_its_size(network, passes):
    cache = TraceCache(ONE_TOKEN)
    cache.get(network, (1,))
    large = cache.get(network, (1, 2, 3, 4, 5))
    assert cache.nbytes == (1 + SPARE) * ONE_TOKEN
    assert cache.get(network, (1, 2, 3, 4, 5)) is large
    assert len(passes) == 2


def test_forget_lets_a_network_go(network):
    cache, other = TraceCache(10**9), random_network(seed=1)
    cache.get(network, (1, 2))
    cache.get(other, (1, 2))
    cache.get(other, (3, 4, 5))
    gone = weakref.ref(other)
    cache.forget(other)
    del other
    gc.collect()
    assert gone() is None
    assert cache.nbytes == (2 + SPARE) * ONE_TOKEN


def test_bad_texts_are_refused_and_leave_nothing(network):
    cache = TraceCache(10**9)
    for ids in ((), (1,) * 33):
        with pytest.raises(TextError):
            cache.get(network, ids)
    assert cache.nbytes == 0


def test_sessions_at_once_share_one_pass(network, passes):
    cache, start = TraceCache(10**9), threading.Barrier(8)

    def ask(_: int):
        start.wait()
        return cache.get(network, tuple(range(20)))

    with ThreadPoolExecutor(8) as pool:
        traces = list(pool.map(ask, range(8)))
    assert len(passes) == 1
    assert all(trace is traces[0] for trace in traces)


def test_a_pass_that_ends_is_found_by_the_one_that_waited(network, monkeypatch):
    """The trace is kept before the pass counts as ended; a gap between the two would let the same pass run again."""
    cache = TraceCache(10**9)
    under_way, keep = [], cache._keep

    def watched(*args):
        under_way.append(len(cache._under_way))
        keep(*args)

    monkeypatch.setattr(cache, "_keep", watched)
    cache.get(network, (1, 2))
    assert under_way == [1]
    assert not cache._under_way


class Unwanted(BaseException):
    """What ends a script is no Exception in Streamlit either."""


def test_a_pass_that_is_no_longer_wanted_ends_between_two_layers_and_leaves_nothing(network, passes):
    cache, looks = TraceCache(10**9), []

    def check():
        looks.append(None)
        if len(looks) == 2:
            raise Unwanted

    with pytest.raises(Unwanted):
        cache.get(network, (1, 2, 3), caller=Caller("me", check))
    assert cache.nbytes == 0
    assert cache.get(network, (1, 2, 3)).n_pos == 3  # nobody waits for the pass that was given up
    assert len(passes) == 2


def test_who_waits_for_a_pass_that_is_given_up_makes_it(network):
    cache, reached, go_on = TraceCache(10**9), threading.Event(), threading.Event()

    def check():
        reached.set()
        assert go_on.wait(10)
        raise Unwanted

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, network, (1, 2, 3), caller=Caller("first", check))
        assert reached.wait(10)
        second = pool.submit(cache.get, network, (1, 2, 3), caller=Caller("second"))
        go_on.set()
        assert second.result(10).n_pos == 3
        assert isinstance(first.exception(10), Unwanted)


def test_a_trace_that_takes_much_of_the_room_is_long_work(network, monkeypatch):
    cache, noted = TraceCache(16 * 4 * ONE_TOKEN), []
    turn = cache.turns.turn

    def watched(caller, *, long):
        noted.append(long)
        return turn(caller, long=long)

    monkeypatch.setattr(cache.turns, "turn", watched)

    cache.get(network, (1, 2, 3, 4))
    cache.get(network, (1, 2, 3, 4, 5))
    assert noted == [False, True]
