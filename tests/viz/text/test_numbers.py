"""Each way to write a number keeps the rule that it states."""

from __future__ import annotations

import math

import numpy as np
import pytest

from viz.text.numbers import (
    bits_text,
    cell_number,
    cosine_text,
    difference_text,
    distance_text,
    entropy_text,
    length_text,
    probability_text,
    short_number,
    short_probability,
    weight_text,
)


def test_numbers_in_legends_and_cells():
    assert [short_number(x) for x in (-3.14159, 12345, 0.0021, -0.0)] == ["−3.14", "1.23e+04", "0.0021", "0"]
    assert cell_number(0.421) == "0.42"
    assert [cell_number(x) for x in (99.994, -99.996, -118.4, 99_999)] == ["99.99", "−100", "−118", "99999"]
    assert [cell_number(x) for x in (-0.004, 0.004, -0.006)] == ["0.00", "0.00", "−0.01"]
    assert cell_number(-1e10) == "−1e+10"


@pytest.mark.parametrize(
    ("weight", "text"), [(1, "100%"), (0.484, "48%"), (0.0996, "10%"), (0.024, "2.4%"), (0.0004, "<0.1%"), (0, "0%")]
)
def test_weights(weight, text):
    assert weight_text(weight) == text


def test_probabilities():
    assert [probability_text(x) for x in (0, 1, 0.1234, 0.00996, 0.0035)] == [
        "0.0%",
        "100.0%",
        "12.3%",
        "1.0%",
        "0.35%",
    ]
    assert [probability_text(x) for x in (0.001247, 0.0011, 0.00087, 0.00002345)] == [
        "0.12%",
        "0.11%",
        "0.087%",
        "0.0023%",
    ]
    assert [probability_text(x) for x in (0.99967, 0.999999, 9.7e-7, 1e-12)] == [
        "99.97%",
        "99.99%",
        "0.000097%",
        "under 0.000001%",
    ]
    shown = [short_probability(p) for p in (0, 1e-9, 0.00004, 0.0123, 1)]
    assert shown == ["0.0%", "<0.001%", "0.004%", "1.2%", "100.0%"]


def test_bits():
    assert [bits_text(x) for x in (0, 1e-7, 0.00012345, 0.12345)] == ["0", "under 0.000001", "0.000123", "0.123"]
    assert [entropy_text(x) for x in (0, 1.5, 15.617)] == ["0.00", "1.50", "15.62"]


def test_differences_distances_and_lengths():
    assert [difference_text(x) for x in (0.0, 4.8e-7)] == ["0", "4.8e−07"]
    assert [distance_text(x) for x in (0.0, 0.0004, 0.4123)] == ["0.000", "<0.001", "0.412"]
    assert [cosine_text(x) for x in (0.412, -0.034, -0.001, math.nan)] == ["+0.41", "−0.03", "+0.00", "–"]
    assert length_text(np.array([3.0, 4.0])) == "5"
