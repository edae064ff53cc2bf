from __future__ import annotations

import numpy as np
import pytest

from tests.viz.figures.samples import from_segment
from viz.figures.scales import composite_scale, to_segment, value_range
from viz.theme import DARK, LIGHT, colour_at, ink_on, luminance, theme_for

THEMES = [LIGHT, DARK]


@pytest.mark.parametrize("theme", THEMES)
def test_each_scale_has_its_own_segment(theme):
    names = ["score", "weights", "key"]
    stops, top = composite_scale(names, theme)
    positions = [position for position, _ in stops]
    assert positions == sorted(positions)
    assert (positions[0], positions[-1]) == (0.0, 1.0)
    for i, name in enumerate(names):
        inside = [(p * top - 2 * i, colour) for p, colour in stops if 2 * i <= p * top <= 2 * i + 1]
        assert [colour for _, colour in inside] == [colour for _, colour in theme.scales[name]]
        np.testing.assert_allclose([p for p, _ in inside], [p for p, _ in theme.scales[name]], atol=1e-12)
    assert {colour for p, colour in stops if p * top > 2 * len(names) - 0.5} == {theme.masked}


def test_values_map_into_their_segment_and_back():
    values = np.linspace(-4, 4, 17)
    heights = to_segment(values, -4, 4, 2)
    assert heights.dtype == np.float32
    assert heights.min() == 4
    assert heights.max() == 5
    np.testing.assert_allclose(from_segment(heights, -4, 4, 2), values, atol=1e-5)
    assert to_segment(np.array([-9.0, 9.0]), -4, 4, 0).tolist() == [0, 1]
    assert to_segment(np.array([7.0]), 7, 7, 1).tolist() == [2]  # a range of no width


def test_ranges():
    assert value_range(np.array([-3.0, 1.0]), "key", None, None) == (-3, 3)
    assert value_range(np.array([0.0]), "key", None, None) == (-1, 1)
    assert value_range(np.array([np.nan]), "query", None, None) == (-1, 1)
    assert value_range(np.array([0.2]), "weights", None, None) == (0, 1)
    assert value_range(np.array([1e38], np.float32), "score", None, None)[1] == pytest.approx(1e38)


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_words_are_readable_and_scales_differ_in_lightness(theme):
    for ink in [theme.text, theme.muted, *theme.inks.values()]:
        assert contrast(ink, theme.paper) >= 4.5
    for colour in [*theme.roles.values(), theme.compare]:
        assert contrast(colour, theme.paper) >= 2.2
    for role in theme.roles:
        first, middle, last = (theme.scales[role][i][1] for i in (0, 2, 4))
        assert contrast(first, last) >= 1.6  # the two ends of a signed scale, told apart without colour
        assert contrast(first, middle) >= 2
        assert contrast(last, middle) >= 2
    weights = [luminance(colour) for _, colour in theme.scales["weights"]]
    assert weights == sorted(weights, reverse=theme.kind == "light")


def test_theme_for():
    assert theme_for("dark") is DARK
    assert theme_for("light") is theme_for(None) is theme_for("other") is LIGHT


@pytest.mark.parametrize("theme", THEMES)
def test_a_number_can_be_read_on_every_colour_of_every_scale(theme):
    for scale in theme.scales.values():
        assert [colour_at(scale, share) for share, _ in scale] == [colour for _, colour in scale]
        for share in np.linspace(0, 1, 101):
            ground = colour_at(scale, float(share))
            assert contrast(ink_on(ground), ground) >= 4.5
    assert contrast(ink_on(theme.masked), theme.masked) >= 4.5
