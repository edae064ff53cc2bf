"""The colours and their meaning: one colour per role on every page, in a light and a dark theme.

Input x is green, query purple, key orange, value blue, score and head output z pink, masked grey. Colour is never the
only cue: scales also differ in lightness, masked cells are hatched, and every chart has labels and numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

Role = Literal["input", "query", "key", "value", "score"]
Scale = tuple[tuple[float, str], ...]
"""Colour stops `(position from 0 to 1, "#rrggbb")`, positions rising from 0 to 1."""

FONT = "'Source Sans', 'Source Sans 3', 'Source Sans Pro', system-ui, sans-serif"


@dataclass(frozen=True)
class Theme:
    """The colours of a light or dark page. `roles` fill areas; `inks` are for text on `paper`."""

    kind: Literal["light", "dark"]
    paper: str
    text: str
    muted: str
    grid: str
    frame: str
    masked: str
    masked_ink: str
    chosen: str
    """The text of a selected or hovered Streamlit button."""
    score_pale: str
    """The text of small weights; larger ones approach the ink of `score`."""
    compare: str
    hover: str
    roles: Mapping[str, str]
    inks: Mapping[str, str]
    negative: str
    zero: str
    sequential: Scale
    scales: Mapping[str, Scale] = field(init=False)
    font: str = FONT

    def __post_init__(self) -> None:
        signed = {role: signed_scale(self.negative, self.zero, colour) for role, colour in self.roles.items()}
        object.__setattr__(self, "scales", MappingProxyType({"weights": self.sequential, **signed}))

    def ink(self, scale: str) -> str:
        """The text colour for a role or scale; `text` for an unknown one."""
        return self.inks.get("score" if scale == "weights" else scale, self.text)


def mix(a: str, b: str, share: float) -> str:
    """The colour `share` (0..1) of the way from `a` to `b`, both "#rrggbb"."""
    pairs = zip(_channels(a), _channels(b), strict=True)
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in pairs)


def colour_at(scale: Scale, share: float) -> str:
    """The colour of a scale at `share` (0..1) of its range."""
    for (start, below), (end, above) in pairwise(scale):
        if share <= end:
            return mix(below, above, (share - start) / (end - start))
    return scale[-1][1]


def ink_on(colour: str) -> str:
    """Black or white, whichever contrasts more with `colour`: at least 4.58 to 1 (WCAG 2.2 requires 4.5)."""
    return "#000000" if luminance(colour) > 0.179 else "#ffffff"


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it, from 0 (black) to 1 (white)."""
    shares = [channel / 255 for channel in _channels(colour)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def signed_scale(negative: str, zero: str, positive: str) -> Scale:
    """Stops for a range symmetric about 0: `negative` at 0, `zero` at 0.5, `positive` at 1."""
    return (
        (0.0, negative),
        (0.25, mix(zero, negative, 0.45)),
        (0.5, zero),
        (0.75, mix(zero, positive, 0.5)),
        (1.0, positive),
    )


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


LIGHT = Theme(
    kind="light",
    paper="#ffffff",
    text="#2a2630",
    muted="#6b7280",
    grid="#e6e8ec",
    frame="#c9ced6",
    masked="#e9ebef",
    masked_ink="#8a92a0",
    chosen="#7b1fa2",
    score_pale="#99596f",
    compare="#3b4a63",
    hover="#ffffff",
    roles=MappingProxyType(
        {"input": "#3f9f4a", "query": "#a23fcb", "key": "#f09400", "value": "#1684d8", "score": "#e3206f"}
    ),
    inks=MappingProxyType(
        {"input": "#2c7a36", "query": "#86289f", "key": "#a85f00", "value": "#0b69b3", "score": "#c9145c"}
    ),
    negative="#2c3644",
    zero="#ffffff",
    sequential=(
        (0.0, "#ffffff"),
        (0.05, "#fdeaf1"),
        (0.2, "#f9bcd3"),
        (0.45, "#f0709f"),
        (0.75, "#d3175f"),
        (1.0, "#8e0a45"),
    ),
)

DARK = Theme(
    kind="dark",
    paper="#17151a",
    text="#ece8f0",
    muted="#aaa4b4",
    grid="#2c2832",
    frame="#463f50",
    masked="#2c2933",
    masked_ink="#857e91",
    chosen="#e3bdea",
    score_pale="#b58a99",
    compare="#c3cede",
    hover="#242029",
    roles=MappingProxyType(
        {"input": "#52b85e", "query": "#b45be0", "key": "#ee9416", "value": "#3d9eea", "score": "#f2478c"}
    ),
    inks=MappingProxyType(
        {"input": "#74cf7e", "query": "#cf8cf0", "key": "#f7b04d", "value": "#6cb7f2", "score": "#f977aa"}
    ),
    negative="#e3e9f1",
    zero="#1c1a20",
    sequential=(
        (0.0, "#1c1a20"),
        (0.05, "#341d2d"),
        (0.2, "#63203f"),
        (0.45, "#b22a63"),
        (0.75, "#f45c98"),
        (1.0, "#ffd3e2"),
    ),
)


def theme_for(kind: str | None) -> Theme:
    """The theme for the kind that the browser reports; light until it reports "dark"."""
    return DARK if kind == "dark" else LIGHT


def css_variables() -> str:
    """A CSS rule that defines the colours as `--hl-...` for the page and the shadow roots in it.

    Each holds both themes' colours in `light-dark()`, which follows the `color-scheme` of the element that uses it.
    """
    both = {name: f"light-dark({colour}, {_css_colours(DARK)[name]})" for name, colour in _css_colours(LIGHT).items()}
    stops = zip(LIGHT.sequential, DARK.sequential, strict=True)
    both["weights"] = ", ".join(f"light-dark({light}, {dark}) {at:.0%}" for (at, light), (_, dark) in stops)
    return ":root {" + "".join(f"--hl-{name}: {value};" for name, value in both.items()) + "}"


def _css_colours(theme: Theme) -> dict[str, str]:
    return {
        **theme.roles,
        **{f"{role}-ink": ink for role, ink in theme.inks.items()},
        "on-key": ink_on(theme.roles["key"]),
        "masked-ink": theme.masked_ink,
        "compare": theme.compare,
        "chosen": theme.chosen,
        "score-pale": theme.score_pale,
    }
