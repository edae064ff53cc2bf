"""Changes in a link: they come back as they were, and whatever a link says, what it says wrongly is told."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.changes.interventions import NO_CHANGES, Changes, Link, Off
from viz.state.changes import MOST, changes_params, dropped, in_words, read_changes

SOME = Changes((Off(1, 0, "mean"), Off(3, 2, "zero")), (Link(3, 2, 8, 2),), True)


def test_a_link_says_it_as_the_screen_does():
    assert changes_params(SOME) == {"off": "L1H0:mean,L3H2:zero", "cut": "L3H2:9>3", "renorm": "1"}
    assert changes_params(NO_CHANGES) == {}
    assert changes_params(Changes((Off(0, 0, "zero"),), (), True)) == {"off": "L0H0:zero"}
    assert in_words(SOME) == "L1H0 (mean), L3H2 (zero); links cut: L3H2 9 → 3 (rows renormalised)"
    assert in_words(NO_CHANGES) == ""


HEAD = st.integers(0, 9999), st.integers(0, 9999)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(*HEAD, st.sampled_from(["zero", "mean"])), max_size=5),
    st.lists(st.tuples(*HEAD, st.integers(0, 9999), st.integers(0, 9999)), max_size=5),
    st.booleans(),
)
def test_from_a_link_come_the_same_changes(off, cuts, renormalise):
    changes = Changes(tuple(Off(*o) for o in off), tuple(Link(*cut) for cut in cuts), renormalise and bool(cuts))
    assert read_changes(changes_params(changes)) == (changes, [])


@pytest.mark.parametrize(
    ("params", "kept", "notice"),
    [
        ({"off": "L0H1:zero,xx"}, Changes((Off(0, 1, "zero"),)), "switched-off heads: 1 of 2, not written like"),
        ({"off": ""}, NO_CHANGES, "1 of 1, not written like L0H1:zero"),
        ({"off": "L0H1:half"}, NO_CHANGES, "1 of 1"),
        ({"off": "l0h1:zero\n"}, NO_CHANGES, "1 of 1"),
        ({"cut": "L0H1:9>3,L0H1:9->3"}, Changes(cuts=(Link(0, 1, 8, 2),)), "cut links: 1 of 2"),
        ({"cut": "L0H1:999999>3"}, NO_CHANGES, "1 of 1, not written like L0H1:9>3"),
        ({"renorm": "yes"}, NO_CHANGES, "renorm is neither 0 nor 1"),
    ],
)
def test_what_a_link_says_wrongly_is_left_out_and_told(params, kept, notice):
    changes, notices = read_changes(params)
    assert changes == kept
    assert len(notices) == 1
    assert notice in notices[0]


def test_a_link_with_very_many_changes_is_cut_short():
    changes, notices = read_changes({"off": ",".join(f"L{n}H0:zero" for n in range(MOST + 9))})
    assert len(changes.off) == MOST
    assert f"9 of {MOST + 9}, not written like L0H1:zero or beyond the first {MOST}." in notices[0]


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["off", "cut", "renorm", "layer"]), st.text(alphabet="LH0123456789:>,zeroman-")))
def test_no_link_fails_and_whatever_it_says_can_be_made_to_fit(params):
    changes, notices = read_changes(params)
    kept = changes.fitting(n_layers=2, n_heads=3, n_pos=4)
    assert all(notices)
    assert bool(dropped(changes, kept)) == (kept != changes)


def test_what_is_dropped_is_named():
    kept = SOME.fitting(n_layers=2, n_heads=3, n_pos=4)
    assert dropped(SOME, kept) == [
        "Not in this model, so no longer switched off: L3H2.",
        "Not in this text and model (query → key), so no longer cut: L3H2 9 → 3.",
    ]
    many = Changes(tuple(Off(9, head, "zero") for head in range(12)))
    assert dropped(many, NO_CHANGES)[0].endswith("L9H7 and 4 more.")
