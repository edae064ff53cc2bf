"""What a person looks at: the one state of the app, kept in the session and, so that a link reopens it, in the URL.

A focus is immutable; its methods return another one. Positions are counted from 0 here, and from 1 on screen and in
the URL; layers and heads from 0 everywhere.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from viz.text.catalogue import N_, _, ngettext

Head = tuple[int, int]  # layer, head

MAX_CHARACTERS = 20_000
LAST = 10**9
"""As a query: the last token, however many there are."""
# A link longer than this is cut off by servers and chat programs; a text that would make it longer stays out of it.
_MAX_LINK = 16_000
_PLAIN_TEXT_LIMIT = 1_000
MEAN = -1
"""As the head of a `Head` to compare: the mean over the layer's heads."""
MOST_BESIDE = 3
"""The most heads that can stand beside the first."""
_HEAD = re.compile(r"L(\d{1,4})(?:H(\d{1,4})|mean)", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_NO_HEAD_BESIDE = (
    N_("There is no second head {head} in this model; {shown} is shown."),
    N_("There is no third head {head} in this model; {shown} is shown."),
    N_("There is no fourth head {head} in this model; {shown} is shown."),
)
_SWITCHES = {"special": "special", "words": "by_word", "hide": "without_first"}
"""The parameters that are 1 where they are not left out, and the fields that they stand for."""


def head_name(head: Head) -> str:
    """`L3H7`: layer 3, head 7, both counted from 0; `L3mean` for the mean over layer 3's heads."""
    return f"L{head[0]}mean" if head[1] == MEAN else f"L{head[0]}H{head[1]}"


def clean_text(text: str) -> str:
    """`text` as it can be sent anywhere: lone surrogates become U+FFFD, carriage returns newlines; cut at the limit."""
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return valid.replace("\r\n", "\n").replace("\r", "\n")[:MAX_CHARACTERS]


@dataclass(frozen=True)
class Focus:
    """Model, text, head, chosen query token, the heads beside it, the text beside the first, and how patterns are read.

    `compare` holds one to three heads, or means over a layer's heads (`MEAN`). The start token stands in front where
    `start_token` says so or, where that is None, where the model was trained with it; with `special`, special tokens in
    the text are read as such. `second` is the text to compare with; None stands for the first text itself. `by_word`
    groups tokens to words where a page can, and `without_first` leaves out the first token's weights.
    """

    model: str
    text: str
    head: Head = (0, 0)
    query: int = 0
    compare: tuple[Head, ...] = ((0, 1),)
    start_token: bool | None = None
    special: bool = False
    second: str | None = None
    by_word: bool = False
    without_first: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.compare) <= MOST_BESIDE:
            raise ValueError(f"{len(self.compare)} heads to compare; one to {MOST_BESIDE} can stand beside the first")

    @property
    def layer(self) -> int:
        """The chosen head's layer."""
        return self.head[0]

    def with_text(self, text: str) -> Focus:
        """The same view of another text."""
        return replace(self, text=clean_text(text))

    def with_query(self, query: int) -> Focus:
        """The same view with another query token."""
        return replace(self, query=query)

    def with_head(self, *, layer: int | None = None, head: int | None = None) -> Focus:
        """The same view of another head."""
        return replace(self, head=(_or(layer, self.head[0]), _or(head, self.head[1])))

    def with_compare(self, *heads: Head) -> Focus:
        """The same view with other heads beside it, one to three."""
        return replace(self, compare=heads)

    def with_second(self, text: str | None) -> Focus:
        """The same view with another text to compare with; None for a copy of the first."""
        return replace(self, second=None if text is None else clean_text(text))

    def with_reading(self, *, by_word: bool | None = None, without_first: bool | None = None) -> Focus:
        """The same view, its patterns read in another way."""
        return replace(
            self,
            by_word=self.by_word if by_word is None else by_word,
            without_first=self.without_first if without_first is None else without_first,
        )

    def with_start_token(self, on: bool) -> Focus:
        """The same view with or without the start token in front."""
        return replace(self, start_token=on)

    def with_special(self, on: bool) -> Focus:
        """The same view, special tokens in the text read as such or as text."""
        return replace(self, special=on)

    def with_model(self, model: str) -> Focus:
        """The same view of another model; `clamped` brings head and query into its range."""
        return replace(self, model=model)

    def clamped(self, *, n_layers: int, n_heads: int, n_pos: int) -> Focus:
        """The nearest focus that the model and the text allow."""

        def nearest(head: Head, least: int = 0) -> Head:
            return _clamp(head[0], n_layers), max(least, min(head[1], n_heads - 1))

        return replace(
            self,
            head=nearest(self.head),
            compare=tuple(nearest(head, MEAN) for head in self.compare),
            query=_clamp(self.query, max(n_pos, 1)),
        )

    # --- the URL ---------------------------------------------------------------------------------------------------

    def to_params(self) -> dict[str, str]:
        """Query parameters from which `from_params` makes the same focus (a very long text stays out)."""
        params = {
            "model": self.model,
            "layer": str(self.head[0]),
            "head": str(self.head[1]),
            "compare": ",".join(head_name(head) for head in self.compare),
        }
        if self.query != LAST:
            params["query"] = str(self.query + 1)
        if self.start_token is not None:
            params["start"] = str(int(self.start_token))
        params |= {name: "1" for name, field in _SWITCHES.items() if getattr(self, field)}
        room = _MAX_LINK
        for prefix, text in (("text", self.text), ("second", self.second)):
            if text is not None:
                name, value = _pack(prefix, text)
                if len(value) <= room:
                    params[name] = value
                    room -= len(value)
        return params

    @classmethod
    def from_params(cls, params: Mapping[str, str], default: Focus) -> tuple[Focus, list[str]]:
        """Read a URL. What it lacks comes from `default`; what is damaged in it is named in the list of notices."""
        notices: list[str] = []

        def number(name: str, otherwise: int) -> int:
            raw = params.get(name)
            if raw is None:
                return otherwise
            if _NUMBER.fullmatch(raw):
                return int(raw)
            notices.append(_("The link's {name} is not a whole number; another one is shown instead.", name=name))
            return otherwise

        def switch(name: str, otherwise: bool | None) -> bool | None:
            raw = params.get(name)
            if raw in ("0", "1"):
                return raw == "1"
            if raw is not None:
                notices.append(_("The link's {name} is neither 0 nor 1; it is left out.", name=name))
            return otherwise

        head = number("layer", default.head[0]), number("head", default.head[1])
        compare, complaints = _read_heads(params["compare"], default) if "compare" in params else (default.compare, [])
        notices += complaints
        carries_text = "text" in params or "textz" in params
        text, second = _read_text("text", params), _read_text("second", params)
        if carries_text and text is None:
            notices.append(_("The link's text is damaged; another one is shown instead."))
        if second is None and ("second" in params or "secondz" in params):
            notices.append(_("The link's second text is damaged; the first one is shown beside itself."))
        elif second is None and not carries_text:
            second = default.second
        # The default's token and start token belong to the default's text.
        query = number("query", LAST + 1 if carries_text else default.query + 1) - 1
        focus = cls(
            model=params.get("model", default.model),
            text=default.text if text is None else clean_text(text),
            head=head,
            query=query,
            compare=compare,
            start_token=switch("start", None if carries_text else default.start_token),
            special=bool(switch("special", default.special)),
            second=None if second is None else clean_text(second),
            by_word=bool(switch("words", default.by_word)),
            without_first=bool(switch("hide", default.without_first)),
        )
        return focus, notices

    def correction(self, wanted: Focus, params: Mapping[str, str]) -> list[str]:
        """What `clamped` had to change of that which `wanted` has from the URL `params`, in words."""
        notices = []
        asked_for = {name for name, raw in params.items() if _NUMBER.fullmatch(raw)}
        asked_and_shown = zip(("layer", "head"), wanted.head, self.head, strict=True)
        if any(name in asked_for and asked != shown for name, asked, shown in asked_and_shown):
            layer, head = wanted.head
            notices.append(
                _(
                    "There is no head {head} in this model; {shown} is shown.",
                    head=f"L{layer}H{head}",
                    shown=head_name(self.head),
                )
            )
        if any(map(_HEAD.fullmatch, params.get("compare", "").split(","))):
            notices += [
                _(words, head=head_name(head), shown=head_name(shown))
                for words, head, shown in zip(_NO_HEAD_BESIDE, wanted.compare, self.compare, strict=False)
                if head != shown
            ]
        if wanted.query not in (self.query, LAST) and "query" in asked_for:
            notices.append(
                _(
                    "There is no token {number} in this text; token {shown} is shown.",
                    number=wanted.query + 1,
                    shown=self.query + 1,
                )
            )
        return notices


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _clamp(value: int, size: int) -> int:
    return min(max(value, 0), size - 1)


def _read_heads(raw: str, default: Focus) -> tuple[tuple[Head, ...], list[str]]:
    """The heads of a link's `compare`, and what was wrong with it."""
    names = raw.split(",")
    found = [match for match in map(_HEAD.fullmatch, names) if match]
    heads = tuple((int(match[1]), MEAN if match[2] is None else int(match[2])) for match in found)
    if not heads:
        return default.compare, [
            _("The link's heads to compare are not written like L0H1,L2H3; others are shown instead.")
        ]
    notices = []
    if len(heads) < len(names):
        notices.append(_("Not all of the link's heads to compare are written like L0H1; the others are left out."))
    if len(heads) > MOST_BESIDE:
        notices.append(
            ngettext(
                "The link names {n} head to compare with; the first {most} are shown.",
                "The link names {n} heads to compare with; the first {most} are shown.",
                len(heads),
                most=MOST_BESIDE,
            )
        )
    return heads[:MOST_BESIDE], notices


def _pack(name: str, text: str) -> tuple[str, str]:
    """A text as the parameter `name`, or, where it is long, compressed as `name` and a z."""
    if len(text.encode()) <= _PLAIN_TEXT_LIMIT:
        return name, text
    return f"{name}z", base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode()


def _read_text(name: str, params: Mapping[str, str]) -> str | None:
    """The text that a link carries under `name`; None where it carries none, or a damaged one."""
    if name in params:
        return params[name]
    return _unpack(params[f"{name}z"]) if f"{name}z" in params else None


def _unpack(packed: str) -> str | None:
    unzip = zlib.decompressobj()
    try:  # bounded, so that a small link cannot unpack to gigabytes
        # (One byte more than the longest text, without which the end of one of exactly that size is not seen.)
        data = unzip.decompress(base64.urlsafe_b64decode(packed), 4 * MAX_CHARACTERS + 1)
    except (ValueError, zlib.error):
        return None
    return data.decode("utf-8", "replace") if unzip.eof else None
