from __future__ import annotations

import itertools

import pytest

from viz.figures.labels import number_axis, part_of, position_label, shorten, text_width, tick_indices, token_axis


def test_long_labels_end_in_an_ellipsis():
    assert shorten("x" * 14) == "x" * 14
    assert shorten("x" * 15) == "x" * 13 + "…"
    assert shorten("a" * 12 + "e\u0301" + "zz") == "a" * 12 + "…"  # no accent without its letter, no half of a letter
    assert len(shorten("\u0301" * 40)) <= 14
    assert position_label(8, "·it") == "9 ·it"
    assert position_label(0, "<" * 20) == "1 " + "&lt;" * 13 + "…"  # shortened first, escaped after


def test_equal_tokens_keep_their_own_ticks():
    axis = token_axis("key", ["a", "·robot", "·must", "·obey", "·a", "·robot"])
    assert len(set(axis.ticks)) == len(set(axis.names)) == 6
    assert axis.names[5] == '6 "·robot"'


@pytest.mark.parametrize("n", [1, 2, 15, 40, 64, 257, 1024, 5000])
@pytest.mark.parametrize("room", [0.2, 3, 12.5, 30, 2000])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("binary", [False, True])
def test_ticks_never_overlap(n, room, first, binary):
    ticks = tick_indices(n, room, first=first, binary=binary)
    assert ticks
    assert all(0 <= i < n for i in ticks)
    if len(ticks) > 1 and n > room:
        spacing = min(b - a for a, b in itertools.pairwise(ticks))
        assert spacing * max(1, room) >= 0.9 * n


def test_thinned_ticks_are_round():
    assert tick_indices(64, 15) == [0, *range(4, 64, 5)]  # positions 1, 5, 10, ...
    assert tick_indices(64, 10, first=0, binary=True) == [0, 8, 16, 24, 32, 40, 48, 56]
    assert tick_indices(15, 15) == list(range(15))


def test_numbers_of_an_axis_and_the_width_of_words():
    assert number_axis("dimension", 3).ticks == ("0", "1", "2")
    assert text_width("&lt;") == text_width("<")
    assert text_width("漢字") > text_width("ab")


def test_a_part_of_an_axis_keeps_its_numbers_and_texts():
    axis = token_axis("key", ["a", "<b>" * 20, "c"])
    part = part_of(axis, [1, 2], "row")
    assert part.places() == [(2, "<b>" * 20), (3, "c")]  # as typed, and whole
    assert part.ticks == axis.ticks[1:]
    assert part.names == axis.names[1:]
    assert part_of(number_axis("dimension", 9), [4, 8]).places() == [(4, ""), (8, "")]
    assert token_axis("query", ["x", "y"], positions=[4, 9]).places() == [(5, "x"), (10, "y")]
    assert token_axis("query", ["x", "y"], positions=[4, 9]).ticks == ("5 x", "10 y")
