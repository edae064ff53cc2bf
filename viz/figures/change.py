"""Before and after a change: the next token's probabilities, and the heads whose patterns moved most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz.figures.bar_parts import NUMBERS, axis_title, heading, legend, name_axis, overlay, share_axis, value_axis
from viz.figures.chart import Chart
from viz.figures.data import Table
from viz.figures.labels import shorten, text_width
from viz.figures.look import base_layout
from viz.text.catalogue import _
from viz.text.numbers import short_number, short_probability
from viz.text.plotly import plain
from viz.theme import Theme

_ROW, _TITLE, _BOTTOM = 34, 46, 30
_RANKED_ROW = 24
_MIN_WIDTH = 330


def next_token_change(
    before: Float[np.ndarray, " rank"],
    after: Float[np.ndarray, " rank"],
    *,
    labels: Sequence[str],
    n_rest: int,
    rest: tuple[float, float],
    position: str,
    theme: Theme,
    passes: tuple[str, str] | None = None,
) -> Chart:
    """Next-token probabilities in the unchanged and the changed pass: two bars a token, and two for all others.

    `rest` is what the `n_rest` others have together, before and after. If a bar of theirs is too long for the scale of
    the named tokens, it ends early and says so. `position` names the token read as plotly markup, `passes` the passes.
    """
    first, second = passes or (_("before"), _("after the change"))
    others = [_("{n:,} others", n=n_rest)] if n_rest else []
    names = [plain(shorten(label)) for label in labels] + others
    hover = [f'"{plain(label)}"' for label in labels] + others
    shares = [[*values.tolist(), together][: len(names)] for values, together in ((before, rest[0]), (after, rest[1]))]
    longest = max(float(before.max()), float(after.max()))
    limit = 1.12 * longest
    dotted = {"color": theme.compare, "pattern": overlay(".", theme)}
    traces = []
    for kind, name, values, offset, marker in (
        ("before", first, shares[0], -0.4, dotted),
        ("after", second, shares[1], 0.02, {"color": theme.roles["score"]}),
    ):
        beyond = [i >= len(labels) and p > limit for i, p in enumerate(values)]
        traces.append(
            go.Bar(
                y=np.arange(len(names)),
                x=[min(p, limit) if cut else p for p, cut in zip(values, beyond, strict=True)],
                width=0.38,
                offset=offset,
                orientation="h",
                marker=marker,
                text=[
                    plain(short_probability(p)) + (" ▸" if cut else "") for p, cut in zip(values, beyond, strict=True)
                ],
                textfont={"size": 11, "color": theme.text},
                customdata=values,
                hovertext=hover,
                hovertemplate=f"%{{hovertext}} {name}: %{{customdata:.4~%}}<extra></extra>",
                meta={"kind": kind},
                **NUMBERS,
            )
        )
    left = min(150.0, max(text_width(name, 13) for name in names) + 12)
    title = _("What comes after {token}", token=position)
    below = legend([(theme.compare, "▦", first), (theme.roles["score"], "■", second)])
    layout = base_layout(theme) | {
        "height": _ROW * len(names) + _TITLE + _BOTTOM,
        "margin": {"l": left, "r": 8, "t": _TITLE, "b": _BOTTOM, "pad": 4},
        "barmode": "overlay",
        "xaxis": share_axis(longest, 1.32 * longest, theme),
        "yaxis": name_axis(names),
        "annotations": [heading(title, below, theme, left=left, colour=theme.ink("score"))],
    }

    def table() -> Table:
        return Table(("token", "before", "after"), zip([*labels, *others], *shares, strict=True))

    return Chart(go.Figure(traces, layout), table, _MIN_WIDTH)


def ranked_shifts(
    values: Float[np.ndarray, " rank"], *, names: Sequence[str], notes: Sequence[str], chosen: int | None, theme: Theme
) -> Chart:
    """How far heads' patterns moved (Jensen-Shannon distance in bits, 0 to 1), the farthest on top; one is outlined."""
    top = float(values.max()) or 1.0
    bars = go.Bar(
        y=np.arange(len(values)),
        x=values,
        width=0.72,
        orientation="h",
        marker={
            "color": theme.roles["score"],
            "line": {"color": theme.text, "width": [2 if i == chosen else 0 for i in range(len(values))]},
        },
        text=[f"{short_number(value)}  {plain(note)}" for value, note in zip(values, notes, strict=True)],
        textfont={"size": 11, "color": theme.text},
        hovertext=list(names),
        hovertemplate=_("%{hovertext}: %{x:.4~g} bits") + "<extra></extra>",
        meta={"ranked": True},
        **NUMBERS,
    )
    layout = base_layout(theme) | {
        "height": _RANKED_ROW * len(values) + _BOTTOM + 26,
        "margin": {"l": 64, "r": 8, "t": 4, "b": _BOTTOM + 22, "pad": 4},
        "xaxis": value_axis(theme, range=[0, 1.5 * top], title=axis_title(_("bits"), theme, 4), fixedrange=True),
        "yaxis": name_axis([f"<b>{name}</b>" if i == chosen else name for i, name in enumerate(names)]),
    }

    def table() -> Table:
        return Table(("head", "distance, bits", "note"), zip(names, values.tolist(), notes, strict=True))

    return Chart(go.Figure([bars], layout), table, _MIN_WIDTH)
