"""Temperature, top-k, top-p and the draw, on distributions small enough to know the answer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.errors import SelectionError
from model.logits.sampling import Sampling, choose, dice, draw, shortlist, within_top_k, within_top_p

HALVES = np.array([0.125, 0.5, 0.125, 0.25])
LOGITS = np.log(HALVES).astype(np.float32)
settings_of = st.builds(
    Sampling,
    greedy=st.booleans(),
    temperature=st.floats(0.05, 5),
    top_k=st.integers(0, 12),
    top_p=st.floats(0.01, 1),
    seed=st.integers(0, 9999),
)
logits_of = st.lists(st.floats(-200, 200, width=32), min_size=1, max_size=30).map(lambda x: np.array(x, np.float32))


@pytest.mark.parametrize(
    ("k", "kept"), [(0, [0, 1, 2, 3]), (1, [1]), (2, [1, 3]), (3, [0, 1, 3]), (4, [0, 1, 2, 3]), (99, [0, 1, 2, 3])]
)
def test_top_k(k, kept):
    np.testing.assert_array_equal(np.flatnonzero(within_top_k(HALVES, k)), kept)


@pytest.mark.parametrize(
    ("p", "kept"),
    [
        (0.01, [1]),
        (0.5, [1]),
        (0.51, [1, 3]),
        (0.75, [1, 3]),
        (0.8, [0, 1, 3]),
        (0.9, [0, 1, 2, 3]),
        (1.0, [0, 1, 2, 3]),
    ],
)
def test_top_p(p, kept):
    np.testing.assert_array_equal(np.flatnonzero(within_top_p(HALVES, p)), kept)


@pytest.mark.parametrize(("number", "id"), [(0.0, 1), (0.49, 1), (0.5, 3), (0.74, 3), (0.75, 0), (0.9, 2), (0.9999, 2)])
def test_a_draw_lays_the_tokens_end_to_end_most_likely_first(number, id):
    assert draw(HALVES, number) == id


def test_what_has_no_probability_is_never_drawn():
    assert {draw(np.array([0.0, 0.3, 0.0, 0.7]), number) for number in np.linspace(0, 1, 101)} == {1, 3}


def test_the_dice_repeat_by_seed_and_position_and_are_even():
    assert dice(3, 5) == dice(3, 5)
    numbers = [dice(seed, position) for seed in range(20) for position in range(100)]
    assert len(set(numbers)) == 2000
    assert np.mean(numbers) == pytest.approx(0.5, abs=0.03)


def test_draws_come_as_often_as_their_probability():
    drawn = [choose(LOGITS, Sampling(seed=1), position).id for position in range(4000)]
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 4000, HALVES, atol=0.03)


def test_greedy_takes_the_largest_whatever_else_is_set():
    choice = choose(LOGITS, Sampling(greedy=True, temperature=5, top_k=2, top_p=0.1), 0)
    assert choice.id == 1
    assert choice.dice is None
    assert choice.kept.all()


def test_top_p_cuts_what_top_k_left_renormalised():
    choice = choose(LOGITS, Sampling(top_k=2, top_p=0.6), 0)  # 2/3 and 1/3 are left: the first reaches 0.6 alone
    np.testing.assert_array_equal(np.flatnonzero(choice.within_k), [1, 3])
    np.testing.assert_array_equal(np.flatnonzero(choice.kept), [1])
    assert choice.final[1] == 1


@given(logits_of, settings_of, st.integers(0, 1000))
def test_a_choice_is_always_among_what_is_kept(logits, sampling, position):
    choice = choose(logits, sampling, position)
    assert choice.kept[choice.id]
    assert choice.final[choice.id] > 0
    assert choice.final.sum() == pytest.approx(1)
    assert not choice.final[~choice.kept].any()
    assert not (choice.kept & ~choice.within_k).any()
    short = shortlist(choice, 5)
    assert short.own.sum() + short.rest_own == pytest.approx(1)
    assert short.final.sum() + short.rest_final == pytest.approx(1)
    assert len(short.ids) + short.n_rest == len(logits)


def test_a_shortlist_made_by_hand():
    """Temperature 1/2 squares the shares: 1/22, 16/22, 1/22, 4/22; top-k 2 leaves 16/20 and 4/20."""
    choice = choose(LOGITS, Sampling(temperature=0.5, top_k=2), 0)
    short = shortlist(choice, 1)
    assert short.ids.tolist() == [1]
    np.testing.assert_allclose([short.own[0], short.tempered[0], short.final[0]], [0.5, 16 / 22, 0.8], atol=1e-6)
    assert (short.kept.tolist(), short.n_rest) == ([True], 3)
    np.testing.assert_allclose([short.rest_own, short.rest_final, short.rest_cut], [0.5, 0.2, 2 / 22], atol=1e-6)


@pytest.mark.parametrize(("temperature", "k", "p"), [(0.7, 0, 1.0), (1.0, 7, 1.0), (1.3, 0, 0.8), (0.8, 12, 0.6)])
def test_the_cuts_are_those_of_transformers(temperature, k, p):
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    logits = np.random.default_rng(0).normal(size=50).astype(np.float32) * 2
    scores = TemperatureLogitsWarper(temperature)(None, torch.tensor(logits)[None])
    scores = TopKLogitsWarper(k)(None, scores) if k else scores
    scores = TopPLogitsWarper(p)(None, scores) if p < 1 else scores
    ours = choose(logits, Sampling(temperature=temperature, top_k=k, top_p=p), 0)
    np.testing.assert_allclose(ours.final, scores[0].softmax(-1).numpy(), atol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": 0.0}, {"temperature": float("nan")}, {"top_k": -1}, {"top_p": 0}, {"top_p": 1.1}, {"seed": -1}],
)
def test_a_setting_out_of_range_is_refused(wrong):
    with pytest.raises(SelectionError, match="must be"):
        Sampling(**wrong)
