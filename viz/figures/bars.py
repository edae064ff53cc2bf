"""What one token reads: its scores before the softmax and its weights after, a bar for every key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from viz.figures.bar_parts import NUMBERS, axis_title, hatching, heading, legend, overlay, value_axis
from viz.figures.chart import Chart
from viz.figures.data import axis_table
from viz.figures.labels import hover_name, position_label, text_width, tick_indices, token_axis
from viz.figures.look import base_layout
from viz.text.catalogue import _
from viz.text.numbers import cell_number, weight_text
from viz.text.plotly import plain
from viz.theme import Theme, mix

MIN_WIDTH, TICK_WIDTH = 340, 12
BAR_WIDTH = 0.66
MIN_SLOTS = 6
"""Room for at least so many keys, so that a single one does not become a wall."""
NUMBERED_KEYS = 16
"""Up to this many keys, and for one head, each bar carries its number."""
HATCHED_KEYS = 160
"""Up to this many keys masked bars are hatched; above, single bars are too thin for it and stay plain grey."""
PANEL_HEIGHT = 150
TITLE_SPACE = 56
SIGNS = ("■", "▦", "▤", "▥")
"""What stands for each head's bars in a legend: they differ by more than their colour."""
_SHAPES = ("", ".", "-", "|")
_WEIGHT_TOPS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class _Keys:
    """What all bars of a chart share: who asks, which keys are hidden, how many pixels a key has."""

    labels: Sequence[str]
    query: int
    hidden: Bool[np.ndarray, " key"]
    theme: Theme
    slot: float

    @property
    def asker(self) -> str:
        return hover_name(self.query, self.labels[self.query])

    @property
    def hatched(self) -> bool:
        return len(self.labels) <= HATCHED_KEYS

    def angle(self, n_heads: int) -> int | None:
        """How far the numbers over the bars are turned; None without numbers."""
        return None if n_heads > 1 or len(self.labels) > NUMBERED_KEYS else 0 if self.slot >= 42 else -90


def head_colours(theme: Theme) -> tuple[str, str, str, str]:
    """The colours of up to four heads side by side."""
    own, other = theme.roles["score"], theme.compare
    return own, other, mix(own, theme.paper, 0.5), mix(other, theme.paper, 0.5)


def token_bars(
    scores: Float[np.ndarray, "*head key"] | None,
    weights: Float[np.ndarray, "*head key"],
    *,
    labels: Sequence[str],
    query: int,
    theme: Theme,
    names: Sequence[str] = (),
    masked: Bool[np.ndarray, " key"] | None = None,
    unit: str = "query",
    note: str = "",
    width: int = 1080,
    height: int = PANEL_HEIGHT,
) -> Chart:
    """The scores and the weights (0 to 1) that the token at `query` gives to every key, for one to four heads.

    `scores` are those before the mask, one row a head (or a single row); None draws the weights alone. `masked` (by
    default the keys after the query) are drawn grey and hatched, and have no weight; the query's own bar has an
    outline. `unit` is what the title calls the query, `note` says below it how the weights were made.
    Arrays and labels that do not match are a ValueError.
    """
    weights = np.atleast_2d(weights)
    scores = None if scores is None else np.atleast_2d(scores)
    n_heads, n_keys = weights.shape
    fits = len(labels) == n_keys and n_heads <= len(SIGNS) and 0 <= query < n_keys
    if not fits or (scores is not None and scores.shape != weights.shape):
        given = "no scores" if scores is None else f"scores {scores.shape}"
        raise ValueError(f"{given}, weights {weights.shape}, {len(labels)} labels, query {query}: no match")
    hidden = np.arange(n_keys) > query if masked is None else masked
    keys = _Keys(labels, query, hidden, theme, (width - 60) / max(n_keys, MIN_SLOTS))
    shown = [plain(name) for name in names] or [f"head {i + 1}" for i in range(n_heads)]
    traces = [bar for head in range(n_heads) for bar in _head_bars(scores, weights, head, shown, keys)]
    entries = zip(head_colours(theme), SIGNS, shown, strict=False)
    heads = legend(entries) if n_heads > 1 else ""
    who = f"{unit} {position_label(query, labels[query])}"
    axis = token_axis("key", labels)
    layout, n_ticks = _layout(scores, weights, axis.ticks, who, (heads, plain(note)), keys, width, height)
    kinds = [("weight", weights)] if scores is None else [("score", scores), ("weight", weights)]
    called = names or [f"head {i + 1}" for i in range(n_heads)]
    columns = {f"{kind} {name}": values[i] for i, name in enumerate(called) for kind, values in kinds}
    return Chart(
        go.Figure(traces, layout), lambda: axis_table(axis, columns, hidden), max(MIN_WIDTH, 60 + TICK_WIDTH * n_ticks)
    )


def _head_bars(
    scores: Float[np.ndarray, "head key"] | None,
    weights: Float[np.ndarray, "head key"],
    head: int,
    names: Sequence[str],
    keys: _Keys,
) -> Iterator[go.Bar]:
    """One head's bars: its scores of the keys it may read and of the masked ones, then its weights."""
    n_heads, asker = len(weights), keys.asker
    who = f"{names[head]}: " if n_heads > 1 else ""
    if scores is not None:
        sentence = f"{who}query {asker} against key %{{x}}: score %{{y:.4~g}}"
        yield from _bars(scores[head], "score", head, n_heads, sentence, keys)
        sentence = f"{who}masked: key %{{x}} comes after query {asker}<br>its score would be %{{y:.4~g}}"
        yield from _bars(scores[head], "score", head, n_heads, sentence, keys, masked=True)
    sentence = f"{who}query {asker} reads key %{{x}}: %{{y:.4~g}}"
    yield from _bars(weights[head], "weight", head, n_heads, sentence, keys)


def _bars(
    values: Float[np.ndarray, " key"],
    kind: str,
    head: int,
    n_heads: int,
    sentence: str,
    keys: _Keys,
    *,
    masked: bool = False,
) -> Iterator[go.Bar]:
    """The bars of the masked or of the other keys, if there are any."""
    theme, wide = keys.theme, BAR_WIDTH / n_heads
    places = np.flatnonzero(keys.hidden if masked else ~keys.hidden)
    if not places.size:
        return
    marker: dict[str, Any]
    if masked:
        colour, line = (theme.masked, 0.5) if keys.hatched else (theme.frame, 0)
        marker = {"color": colour, "line": {"color": theme.masked_ink, "width": line}}
        pattern = hatching(theme)
    else:
        outline = {"color": theme.text, "width": np.where(places == keys.query, 2, 0)}
        marker = {"color": head_colours(theme)[head], "line": outline}
        pattern = overlay(_SHAPES[head], theme) if _SHAPES[head] else {}
    if pattern and keys.hatched:
        marker["pattern"] = pattern
    words: dict[str, Any] = {}
    if (angle := keys.angle(n_heads)) is not None:
        words = NUMBERS | {
            "text": [cell_number(x) if kind == "score" else weight_text(x) for x in values[places].tolist()],
            "textangle": angle,
            "textfont": {"size": 11 if angle == 0 else 10, "color": theme.muted if masked else theme.text},
        }
    yield go.Bar(
        x=places.astype(np.int16),
        y=values[places],
        width=wide,
        offset=head * wide - BAR_WIDTH / 2,
        yaxis="y" if kind == "score" else "y2",
        marker=marker,
        hovertemplate=f"{sentence}<extra></extra>",
        showlegend=False,
        meta={"kind": kind, "head": head, "masked": masked},
        **words,
    )


def _layout(
    scores: Float[np.ndarray, "head key"] | None,
    weights: Float[np.ndarray, "head key"],
    ticks: Sequence[str],
    who: str,
    below: tuple[str, str],
    keys: _Keys,
    width: int,
    height: int,
) -> tuple[dict[str, Any], int]:
    """One or two panels on one axis of keys, titles above each, ticks below; and how many ticks there are.

    `below` are the heads' legend and the note on the weights, both markup.
    """
    n_keys, theme = len(ticks), keys.theme
    n_panels = 1 if scores is None else 2
    shown = tick_indices(n_keys, 0.62 * (width - 60) / 14 if n_keys > 24 else n_keys)
    longest = max(text_width(ticks[i]) for i in shown)
    rotated = longest + 6 > keys.slot
    bottom = 26 + (longest + 6 if rotated else 16)
    inner = n_panels * (height + TITLE_SPACE)
    share = height / inner
    finite = weights[np.isfinite(weights)]
    top = next((t for t in _WEIGHT_TOPS if finite.size and finite.max() <= t), 1.0)
    heads, note = below
    titles = [
        (0.49 if n_panels == 2 else 1.0, f"Weights of {who}", heads or note or _("after the softmax, they add up to 1"))
    ]
    score_axis = {}
    if scores is not None:
        score_axis = {"yaxis": value_axis(theme, domain=[0.5, 0.5 + share], range=_score_range(scores))}
        titles.insert(0, (1.0, f"Scores of {who}", heads or _masked_note(keys)))
    layout = base_layout(theme, zooms=True) | {
        "height": round(inner + bottom + 4),
        "margin": {"l": 48, "r": 12, "t": 4, "b": bottom, "pad": 0},
        "barmode": "overlay",
        "xaxis": {
            "range": [-0.6, max(n_keys, MIN_SLOTS) - 0.4],
            "tickvals": shown,
            "ticktext": [ticks[i] for i in shown],
            "tickangle": -90 if rotated else 0,
            "showgrid": False,
            "zeroline": False,
            "anchor": "y2",
            "title": axis_title("key", theme),
        },
        **score_axis,
        "yaxis2": value_axis(theme, domain=[0, share], range=[0, top * 1.14], tickformat=".0%"),
        "annotations": [heading(title, words, theme, y=at) for at, title, words in titles],
        "meta": {"in_view": keys.query},
    }
    return layout, len(shown)


def _masked_note(keys: _Keys) -> str:
    """What the scores are, and how those that the mask hides are drawn."""
    if not keys.hidden.any():
        return _("before the softmax")
    if keys.hatched:
        return _("before the softmax; hatched: later keys, hidden by the mask")
    return _("before the softmax; grey: later keys, hidden by the mask")


def _score_range(scores: np.ndarray) -> list[float]:
    """From the least to the largest score with zero inside and room for numbers at both ends."""
    finite = scores[np.isfinite(scores)]
    low, high = (min(0.0, float(finite.min())), max(0.0, float(finite.max()))) if finite.size else (0.0, 1.0)
    span = (high - low) or 1.0
    return [low - (0.2 * span if low < 0 else 0.0), high + (0.2 * span if high > 0 or low == high else 0.03 * span)]
