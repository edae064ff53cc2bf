"""What a person looks at: the one state of the app. It lives in the session and, so a link reopens it, in the URL.

A focus never changes; its methods return another one. Positions are counted from 0 here, and from 1 on screen and in
the URL; layers and heads from 0 everywhere.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

Head = tuple[int, int]  # layer, head

MAX_CHARACTERS = 20_000
LAST = 10**9
"""As a query: the last token, however many there are."""
# A link longer than this is cut off by servers and chat programs; a text that would make it longer stays out of it.
_MAX_LINK = 16_000
_PLAIN_TEXT_LIMIT = 1_000
_HEAD = re.compile(r"L(\d{1,4})H(\d{1,4})")


def head_name(head: Head) -> str:
    """`L3H7`: layer 3, head 7, both counted from 0."""
    return f"L{head[0]}H{head[1]}"


def clean_text(text: str) -> str:
    """`text` as it can be sent anywhere: lone surrogates become U+FFFD, carriage returns newlines; cut at the limit."""
    valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return valid.replace("\r\n", "\n").replace("\r", "\n")[:MAX_CHARACTERS]


@dataclass(frozen=True)
class Focus:
    """Model, text, head, chosen query token, and the head beside it."""

    model: str
    text: str
    head: Head = (0, 0)
    query: int = 0
    compare: Head = (0, 1)
    start_token: bool = False

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

    def with_compare(self, *, layer: int | None = None, head: int | None = None) -> Focus:
        """The same view with another head beside it."""
        return replace(self, compare=(_or(layer, self.compare[0]), _or(head, self.compare[1])))

    def with_start_token(self, on: bool) -> Focus:
        """The same view with or without the start token in front; the chosen query token stays the same word."""
        return self if on == self.start_token else replace(self, start_token=on, query=self.query + (1 if on else -1))

    def with_model(self, model: str) -> Focus:
        """The same view of another model; `clamped` brings head and query into its range."""
        return replace(self, model=model)

    def clamped(self, *, n_layers: int, n_heads: int, n_pos: int) -> Focus:
        """The nearest focus that the model and the text allow."""

        def nearest(head: Head) -> Head:
            return _clamp(head[0], n_layers), _clamp(head[1], n_heads)

        return replace(
            self, head=nearest(self.head), compare=nearest(self.compare), query=_clamp(self.query, max(n_pos, 1))
        )

    # --- the URL ---------------------------------------------------------------------------------------------------

    def to_params(self) -> dict[str, str]:
        """Query parameters from which `from_params` makes the same focus (a very long text stays out)."""
        params = {
            "model": self.model,
            "layer": str(self.head[0]),
            "head": str(self.head[1]),
            "compare": head_name(self.compare),
        }
        if self.query != LAST:
            params["query"] = str(self.query + 1)
        if self.start_token:
            params["start"] = "1"
        name, value = _pack(self.text)
        if len(value) <= _MAX_LINK:
            params[name] = value
        return params

    @classmethod
    def from_params(cls, params: Mapping[str, str], default: Focus) -> tuple[Focus, list[str]]:
        """Read a URL. What it lacks comes from `default`; what it says wrongly is named in the list of notices."""
        notices: list[str] = []

        def number(name: str, otherwise: int) -> int:
            raw = params.get(name)
            if raw is None:
                return otherwise
            if re.fullmatch(r"-?[0-9]{1,9}", raw):
                return int(raw)
            notices.append(f"The link's {name} is not a whole number; another one is shown instead.")
            return otherwise

        head = number("layer", default.head[0]), number("head", default.head[1])
        compare = default.compare
        if (raw := params.get("compare")) is not None:
            if match := _HEAD.fullmatch(raw):
                compare = int(match[1]), int(match[2])
            else:
                notices.append("The link's second head is not written like L0H1; another one is shown instead.")
        text, carries_text = default.text, "text" in params or "textz" in params
        if "text" in params:
            text = params["text"]
        elif "textz" in params:
            unpacked = _unpack(params["textz"])
            if unpacked is None:
                notices.append("The link's text is damaged; another one is shown instead.")
            else:
                text = unpacked
        # The default's token and start token belong to the default's text.
        query = number("query", LAST + 1 if carries_text else default.query + 1) - 1
        start = params["start"] == "1" if "start" in params else default.start_token and not carries_text
        return cls(params.get("model", default.model), clean_text(text), head, query, compare, start), notices

    def correction(self, wanted: Focus) -> list[str]:
        """What `clamped` had to change in `wanted`, in words."""
        changes = []
        for name, asked, shown in (("head", wanted.head, self.head), ("second head", wanted.compare, self.compare)):
            if asked != shown:
                changes.append(f"There is no {name} {head_name(asked)} in this model; {head_name(shown)} is shown.")
        if wanted.query not in (self.query, LAST):
            changes.append(f"There is no token {wanted.query + 1} in this text; token {self.query + 1} is shown.")
        return changes


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _clamp(value: int, size: int) -> int:
    return min(max(value, 0), size - 1)


def _pack(text: str) -> tuple[str, str]:
    if len(text.encode()) <= _PLAIN_TEXT_LIMIT:
        return "text", text
    return "textz", base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode()


def _unpack(packed: str) -> str | None:
    unzip = zlib.decompressobj()
    try:  # bounded, so that a small link cannot unpack to gigabytes
        # (One byte more than the longest text, without which the end of one of exactly that size is not seen.)
        data = unzip.decompress(base64.urlsafe_b64decode(packed), 4 * MAX_CHARACTERS + 1)
    except (ValueError, zlib.error):
        return None
    return data.decode("utf-8", "replace") if unzip.eof else None
