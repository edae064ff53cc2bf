"""The next token: the likeliest candidates as bars, which of them survive the cuts, and all others as one bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from viz.figures.bar_parts import NUMBERS, hatching, heading, name_axis, share_axis
from viz.figures.chart import Chart
from viz.figures.data import Table, numbers
from viz.figures.labels import shorten, text_width
from viz.figures.look import base_layout
from viz.text.catalogue import _
from viz.text.numbers import probability_text
from viz.text.plotly import plain
from viz.theme import Theme

if TYPE_CHECKING:
    from model.logits.sampling import Shortlist

_BAR_HEIGHT, _TITLE, _BOTTOM, _RIGHT = 19, 46, 30, 8
MIN_WIDTH = 360
"""In pixels, where no bar's words need more: as wide as a phone."""


@dataclass(frozen=True)
class _Candidates:
    """The named tokens: how long their bars are, and the words behind them."""

    short: Shortlist
    chosen: int | None
    actual: int | None

    @property
    def lengths(self) -> Float[np.ndarray, " rank"]:
        """What survives the cuts is as long as it is drawn with, what is cut as it was before the cuts."""
        return np.where(self.short.kept, self.short.final, self.short.tempered)

    @property
    def longest(self) -> float:
        return max(float(self.lengths.max()), float(self.short.own.max()))

    @property
    def moved(self) -> Bool[np.ndarray, " rank"]:
        """Whose own probability is marked, as it is another one."""
        return ~np.isclose(self.short.own, self.lengths, rtol=1e-3, atol=1e-9)

    @property
    def at_line(self) -> Bool[np.ndarray, " rank"]:
        """Whose words stand behind the mark, as the bar is shorter."""
        return self.moved & (self.short.own > self.lengths)

    def texts(self) -> list[str]:
        """The words behind each bar, as plotly markup."""
        notes = {} if self.chosen is None else {self.chosen: _("◀ chosen")}
        if self.actual is not None:
            both = self.actual == self.chosen
            notes[self.actual] = _("◀ chosen, in the text") if both else _("← in the text")
        said = [probability_text(length) for length in self.lengths]
        said = [
            text if keep else _("{share} cut", share=text) for text, keep in zip(said, self.short.kept, strict=True)
        ]
        return [f"{text}<b>{f'  {notes[rank]}' if rank in notes else ''}</b>" for rank, text in enumerate(said)]

    def hovers(self, labels: Sequence[str], logits: Float[np.ndarray, " rank"]) -> list[str]:
        kept = _('"{token}"<br>logit {logit}<br>the model\'s own probability {own}<br>drawn with {final}')
        cut = _('"{token}"<br>logit {logit}<br>the model\'s own probability {own}<br>cut; {tempered} before the cuts')
        return [
            (kept if self.short.kept[rank] else cut).format(
                token=plain(label),
                logit=f"{logits[rank]:.4g}",
                own=probability_text(self.short.own[rank]),
                final=probability_text(self.short.final[rank]),
                tempered=probability_text(self.short.tempered[rank]),
            )
            for rank, label in enumerate(labels)
        ]


def next_token_bars(
    short: Shortlist,
    *,
    labels: Sequence[str],
    logits: Float[np.ndarray, " rank"],
    chosen: int | None,
    actual: int | None,
    after: str,
    theme: Theme,
) -> Chart:
    """The most likely next tokens, the likeliest on top, and one bar for all others.

    A bar that survives the cuts is as long as the probability it is drawn with; one that is cut is hatched and as long
    as its probability before. A small upright line marks the model's own probability where that differs; the words
    begin behind both. `chosen` and `actual` (the token that follows in the text) are ranks, if among the bars; the bar
    of all others has an outline if the chosen one is in it. If that bar is too long for the scale of the likeliest
    ones, it ends early and says so. `after` names the token read, as plotly markup.
    """
    named = _Candidates(short, chosen, actual)
    n, lengths, moved, texts = len(short.own), named.lengths, named.moved, named.texts()
    others = [_("all others")] if short.n_rest else []
    traces: list[go.Bar | go.Scatter] = list(_named_bars(named, texts, named.hovers(labels, logits), theme))
    bars, annotations = _other_bars(named, theme) if others else ([], [])
    traces += bars
    if moved.any():
        ranks = np.flatnonzero(moved)
        behind_line = [texts[rank] if named.at_line[rank] else "" for rank in ranks]
        traces.append(_ticks(ranks, short.own[ranks], behind_line, short.kept[ranks], theme))
    names = [plain(shorten(label)) for label in labels] + others
    left = min(140.0, max(text_width(name, 13) for name in names) + 12)
    behind = [1.08 * text_width(text.replace("<b>", "").replace("</b>", "")) + 12 for text in texts]  # bold is wider
    room = max(MIN_WIDTH - left - _RIGHT, 1.6 * max(behind))
    longer = np.maximum(lengths, short.own)
    ends = [end * room / (room - words) for end, words in zip(longer, behind, strict=True)]
    marked = n if chosen is None else chosen
    title = _("What comes after {token}", token=after)
    below = _below_title(bool(moved.any()), bool(short.rest_cut or not short.kept.all()))
    layout = base_layout(theme) | {
        "height": _BAR_HEIGHT * len(names) + _BOTTOM + _TITLE,
        "margin": {"l": left, "r": _RIGHT, "t": _TITLE, "b": _BOTTOM, "pad": 4},
        "barmode": "overlay",
        "bargap": 0.22,
        "xaxis": share_axis(named.longest, float(max(1.55 * named.longest, *ends)), theme),
        "yaxis": name_axis([f"<b>{name}</b>" if i == marked else name for i, name in enumerate(names)]),
        "annotations": [*annotations, heading(title, below, theme, left=left, colour=theme.ink("score"))],
    }

    def table() -> Table:
        columns = ("token", "logit", "own probability", "before the cuts", "drawn with", "kept")
        shown = (logits, short.own, short.tempered, short.final, short.kept)
        together = [(*others, None, short.rest_own, None, short.rest_final, None)] if others else []
        return Table(columns, chain(zip(labels, *map(numbers, shown), strict=True), together))

    return Chart(go.Figure(traces, layout), table, round(left + room + _RIGHT))


def _below_title(moved: bool, cut: bool) -> str:
    """What the lines and the hatching mean, if there are any."""
    if moved and cut:
        return _("upright line: the model's own probability; hatched: cut")
    if moved:
        return _("upright line: the model's own probability")
    return _("hatched: cut") if cut else _("the model's own probabilities")


def _named_bars(named: _Candidates, texts: Sequence[str], hovers: Sequence[str], theme: Theme) -> Iterator[go.Bar]:
    """The bars of the named tokens: those that survive the cuts, and those that do not."""
    for keep in (True, False):
        ranks = np.flatnonzero(named.short.kept == keep)
        if ranks.size:
            outline = {"color": theme.text, "width": [2 if rank == named.chosen else 0 for rank in ranks]}
            words = ["" if named.at_line[rank] else texts[rank] for rank in ranks.tolist()]
            yield _bars(
                ranks, named.lengths[ranks], keep, outline, words, [hovers[rank] for rank in ranks.tolist()], theme
            )


def _other_bars(named: _Candidates, theme: Theme) -> tuple[list[go.Bar], list[dict[str, Any]]]:
    """The bar of all others, in a part that survives the cuts and one that does not, and the words on it."""
    short, n, limit = named.short, len(named.short.own), 1.5 * named.longest
    final, gone = probability_text(short.rest_final), probability_text(short.rest_cut)
    about = _(
        "{n:,} other tokens<br>the model's own probability {own}<br>drawn with {final}, cut {cut}",
        n=short.n_rest,
        own=probability_text(short.rest_own),
        final=final,
        cut=gone,
    )
    drawn, cut = min(short.rest_final, limit), min(short.rest_cut, max(0.0, limit - short.rest_final))
    text = _("{share} cut", share=gone) if short.rest_cut else final if short.rest_final else ""
    if short.rest_final and short.rest_cut:
        text = _("{share} and {cut} cut", share=final, cut=gone)
    on_paper = []
    if short.rest_final + short.rest_cut > limit:
        on_paper, text = [_on_paper(limit, n, _("{words}, longer than drawn ▸", words=text), theme)], ""
    outline = {"color": theme.text, "width": 0 if named.chosen is not None else 2}
    bars = [_bars([n], [drawn], True, outline, ["" if cut else text], [about], theme, pale=True)]
    if cut:
        bars.append(_bars([n], [cut], False, {"width": 0}, [text], [about], theme, base=drawn))
    return bars, on_paper


def _bars(
    ranks: Any,
    lengths: Any,
    keep: bool,
    outline: dict[str, Any],
    texts: list[str],
    hover: list[str],
    theme: Theme,
    *,
    base: float | None = None,
    pale: bool = False,
) -> go.Bar:
    """Horizontal bars of one kind: coloured what is kept, grey and hatched what is cut."""
    marker: dict[str, Any] = {"color": theme.roles["score"] if keep else theme.masked, "line": outline}
    if not keep:
        marker["pattern"] = hatching(theme)
    elif pale:
        marker["opacity"] = 0.45
    return go.Bar(
        x=np.asarray(lengths, float),
        y=np.asarray(ranks),
        base=base,
        orientation="h",
        marker=marker,
        text=texts,
        textfont={"size": 12, "color": theme.text if keep else theme.muted},
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
        meta={"kept": keep, "rest": pale or base is not None},
        **NUMBERS,
    )


def _on_paper(x: float, y: int, text: str, theme: Theme) -> dict[str, Any]:
    """Words that end at `x`, on a piece of the page's colour: neither hatching nor a bar's colour runs through them."""
    return {
        "x": x,
        "y": y,
        "xanchor": "right",
        "xshift": -3,
        "showarrow": False,
        "text": text,
        "font": {"size": 12, "color": theme.text},
        "bgcolor": theme.paper,
        "borderpad": 0,
    }


def _ticks(
    ranks: np.ndarray, own: Float[np.ndarray, " n"], words: list[str], kept: Bool[np.ndarray, " n"], theme: Theme
) -> go.Scatter:
    """The model's own probabilities as small upright lines over the bars, with words to the right of some."""
    return go.Scatter(
        x=own,
        y=ranks,
        mode="markers+text",
        text=words,
        textposition="middle right",
        textfont={"size": 12, "color": [theme.text if keep else theme.muted for keep in kept]},
        cliponaxis=False,
        marker={"symbol": "line-ns", "size": 13, "line": {"width": 2, "color": theme.text}},
        hoverinfo="skip",
        showlegend=False,
        meta={"own": True},
    )
