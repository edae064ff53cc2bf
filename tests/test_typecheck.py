"""The check of annotations itself: what it refuses in `model` and `viz`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import jaxtyping
import numpy as np
import pytest
import typecheck
from jaxtyping import Float, TypeCheckError

from model.heads.comparison import js_divergence

hooked = jaxtyping.jaxtyped(typechecker=typecheck.checked)


@hooked
def scaled(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n d"], by: float = 1) -> Float[np.ndarray, "n d"]:
    return x * by if by else x[:1]


@hooked
def named(number: int) -> str:
    return str(number) if number else None  # type: ignore[return-value]


@hooked
def rows(x: Float[np.ndarray, "n d"]) -> Iterator[Float[np.ndarray, " d"]]:
    yield from x


@hooked
@dataclass
class Pair:
    left: Float[np.ndarray, " n"]
    right: Float[np.ndarray, " n"]


@hooked
def both(x: Float[np.ndarray, "n d"]) -> int:
    return len(scaled(x[:1], x[:1])) + len(x)


def array(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def test_what_fits_passes():
    assert scaled(array(2, 3), array(2, 3), 2).sum() == 12
    assert named(number=1) == "1"
    assert len(list(rows(array(2, 3)))) == 2
    assert both(array(2, 3)) == 3  # the inner call's n is another one
    assert len(Pair(array(2), array(2)).left) == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: scaled(array(2, 3), array(3, 3)),
        lambda: scaled(array(2), array(2)),
        lambda: scaled(array(2, 3).astype(int), array(2, 3)),
        lambda: scaled(array(2, 3), array(2, 3), 0),  # returns another shape
        lambda: scaled(array(2, 3), array(2, 3), "2"),
        lambda: named("1"),
        lambda: named(0),
        lambda: rows(array(2)),
        lambda: Pair(array(2), array(3)),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(TypeCheckError):
        call()


def test_a_function_of_the_model_is_checked():
    assert js_divergence(array(2, 3) / 3, array(2, 3) / 3).shape == (2,)
    with pytest.raises(TypeCheckError):
        js_divergence(array(2, 3) / 3, array(2, 4) / 4)
