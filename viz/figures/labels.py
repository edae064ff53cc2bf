"""Token labels as plotly shows them: as typed, short enough, and never so many that they overlap.

Positions are shown from 1, as in the article; arrays count from 0.
"""

from __future__ import annotations

import functools
import html
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from viz.text.plotly import plain

TICK_CHARACTERS = 14
HOVER_CHARACTERS = 40
ELLIPSIS = "…"
_ROUND_STEPS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000)
_BINARY_STEPS = tuple(2**i for i in range(13))


@dataclass(frozen=True)
class Axis:
    """One side of a matrix: what it counts (`title`), and how each position is called.

    `ticks` stand beside the matrix and `names` in its hover sentences, both as plotly's markup. Tables have the
    position's number (counted from `first`, unless `numbers` gives it) and its text in `labels`, exactly as typed;
    `labels` is empty where positions have no text.
    """

    title: str
    ticks: tuple[str, ...]
    names: tuple[str, ...]
    labels: tuple[str, ...] = ()
    numbers: tuple[int | None, ...] = ()
    first: int = 1
    """The number shown for index 0: 1 for positions, 0 for dimensions."""
    binary: bool = False
    """Whether thinned ticks keep to powers of two (dimensions) rather than round numbers (positions)."""

    def __len__(self) -> int:
        return len(self.ticks)

    def places(self) -> list[tuple[int | None, str]]:
        """The number and the text of each position, for tables."""
        numbers = self.numbers or range(self.first, self.first + len(self))
        return list(zip(numbers, self.labels or ("",) * len(self), strict=True))


def token_axis(title: str, labels: Sequence[str], positions: Sequence[int] | None = None) -> Axis:
    """Tokens of a text: ticks `9 ·it`, hover names `9 "·it"`; equal tokens keep their own positions.

    `positions` (from 0) are those of the labels in the text if these are not all of its tokens.
    """
    places = list(zip(range(len(labels)) if positions is None else positions, labels, strict=True))
    return Axis(
        title,
        tuple(position_label(at, label) for at, label in places),
        tuple(hover_name(at, label) for at, label in places),
        tuple(labels),
        tuple(int(at) + 1 for at, _ in places),
    )


def part_of(axis: Axis, indices: Iterable[int], title: str | None = None) -> Axis:
    """The positions of `axis` at `indices` alone, with their ticks, names, texts and numbers."""
    chosen, places = list(indices), axis.places()
    return replace(
        axis,
        title=axis.title if title is None else title,
        ticks=tuple(axis.ticks[i] for i in chosen),
        names=tuple(axis.names[i] for i in chosen),
        labels=tuple(axis.labels[i] for i in chosen) if axis.labels else (),
        numbers=tuple(places[i][0] for i in chosen),
    )


def number_axis(title: str, n: int, *, binary: bool = True) -> Axis:
    """Plain numbers, counted from 0: the dimensions of a vector, or layers and heads."""
    ticks = tuple(str(i) for i in range(n))
    return Axis(title, ticks, ticks, first=0, binary=binary)


def one_row(label: str, tick: str = "") -> Axis:
    """The single row of a vector called `label`, as typed."""
    return Axis("", (tick,), (plain(label),), (label,))


def shorten(text: str, limit: int = TICK_CHARACTERS) -> str:
    """At most `limit` characters, an ellipsis for the rest; a combining mark or joiner is not left hanging."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    while kept and (unicodedata.combining(text[len(kept)]) or kept[-1] == "\u200d" or text[len(kept)] == "\u200d"):
        kept = kept[:-1]
    return (kept or text[: limit - 1]) + ELLIPSIS


def position_label(index: int, label: str) -> str:
    """The tick of the token at `index` (from 0): its position from 1 and its text, `9 ·it`."""
    return f"{index + 1} {plain(shorten(label))}"


def hover_name(index: int, label: str) -> str:
    """The token at `index` (from 0) inside a hover sentence: `9 "·it"`."""
    return f'{index + 1} "{plain(shorten(label, HOVER_CHARACTERS))}"'


def tick_indices(n: int, room: float, *, first: int = 1, binary: bool = False) -> list[int]:
    """Indices (from 0) that get a tick so that none overlap; `room` is how many ticks fit side by side.

    The numbers shown (index 0 shows `first`) are multiples of a round step, or of a power of two where `binary`; the
    very first one is kept where it does not crowd them.
    """
    fits = max(1.0, room)
    steps = _BINARY_STEPS if binary else _ROUND_STEPS
    step = next((s for s in steps if n / s <= fits), max(steps[-1], math.ceil(n / fits)))
    if step == 1:
        return list(range(n))
    indices = [i for i in range(n) if (i + first) % step == 0]
    if not indices or (indices[0] > 0 and indices[0] * fits >= 0.9 * n):
        indices = [0, *indices]
    return indices


def axis_ticks(axis: Axis, room: float) -> list[int]:
    """The indices of `axis` that get a tick where `room` of them fit side by side."""
    return tick_indices(len(axis), room, first=axis.first, binary=axis.binary)


@functools.lru_cache(maxsize=4096)  # the same ticks are measured for every chart and every step
def text_width(text: str, size: float = 12) -> float:
    """About how many pixels `text` takes in a sans-serif font of `size` pixels; East Asian and emoji are wide."""
    shown = html.unescape(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in shown)
    return size * (0.52 * (len(shown) - wide) + wide)


def short_number(value: float) -> str:
    """A number for a legend or a cell, at most three significant digits, with a real minus sign."""
    return f"{float(value):.3g}".replace("-", "−")


def cell_number(value: float) -> str:
    """A number inside a cell: two decimals, none from 100 on, and two digits of what is too large for a cell.

    What rounds to 0 has no sign.
    """
    decimals = ".2f" if abs(value) < 99.995 else ".0f" if abs(value) < 99_999.5 else ".2g"
    return f"{float(value):z{decimals}}".replace("-", "−")


def share_text(weight: float) -> str:
    """A weight as a share of 100%: `48%`, `2.4%`, `<0.1%`, and `0%` for nothing at all."""
    share = 100 * weight
    return f"{share:.0f}%" if share >= 9.95 or share == 0 else f"{share:.1f}%" if share >= 0.05 else "<0.1%"
