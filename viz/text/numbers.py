"""Numbers as they are shown: each function states its rule.

Minus is a real minus sign, and what rounds to 0 has no sign. A weight or a probability is a percentage in a picture,
and a number of three significant digits in a sentence. Hover texts have four digits, saved tables all of them.
"""

from __future__ import annotations

import math

import numpy as np


def short_number(value: float) -> str:
    """Three significant digits: `−3.14`, `0.0021`, `1.2e+04`."""
    return _minus(f"{float(value):z.3g}")


def cell_number(value: float) -> str:
    """For a cell or a bar: two decimals, none from 100 on, two significant digits from 100,000 on."""
    decimals = ".2f" if abs(value) < 99.995 else ".0f" if abs(value) < 99_999.5 else ".2g"
    return _minus(f"{float(value):z{decimals}}")


def weight_text(weight: float) -> str:
    """A weight from 0 to 1, two significant digits: `48%`, `2.4%`, `<0.1%`, and `0%` for nothing at all."""
    share = 100 * weight
    return f"{share:.0f}%" if share >= 9.95 or share == 0 else f"{share:.1f}%" if share >= 0.05 else "<0.1%"


def probability_text(probability: float) -> str:
    """A probability as a percentage: one decimal, two significant digits below 1%, `100.0%` only for 1 itself."""
    percent = 100 * probability
    if 99.95 <= percent < 100:
        return f"{min(percent, 99.99):.2f}%"
    if percent >= 0.995 or not percent:
        return f"{percent:.1f}%"
    if percent < 1e-6:
        return "under 0.000001%"
    return f"{np.format_float_positional(percent, precision=2, unique=False, fractional=False, trim='-')}%"


def short_probability(probability: float) -> str:
    """The same with little room: `<0.001%` for anything smaller but 0."""
    return probability_text(probability) if probability >= 1e-5 or not probability else "<0.001%"


def bits_text(bits: float) -> str:
    """A divergence in bits: three significant digits, six decimals below 0.001; rounding reaches a millionth."""
    if 0 < bits < 1e-6:
        return "under 0.000001"
    return f"{bits:.3g}" if bits >= 1e-3 or not bits else f"{bits:.6f}"


def entropy_text(bits: float) -> str:
    """An entropy in bits: two decimals."""
    return f"{bits:.2f}"


def difference_text(value: float) -> str:
    """The largest difference of a check: `4.8e−07`, and `0` for none."""
    return _minus(f"{value:.1e}") if value else "0"


def distance_text(value: float) -> str:
    """A distance from 0 to 1: three decimals, `<0.001` for anything smaller but 0."""
    return f"{value:.3f}" if value == 0 or value >= 5e-4 else "<0.001"


def cosine_text(value: float) -> str:
    """A cosine: a sign and two decimals, `+0.41`; a dash for one that is not defined."""
    return "–" if math.isnan(value) else _minus(f"{value:+z.2f}")


def length_text(vector: np.ndarray) -> str:
    """The length (Euclidean norm) of a vector: three significant digits."""
    return f"{float(np.linalg.norm(np.asarray(vector, np.float64))):.3g}"


def _minus(digits: str) -> str:
    return digits.replace("-", "−")
