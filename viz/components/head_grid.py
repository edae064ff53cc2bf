"""The head grid: every head's pattern as a thumbnail on one canvas, a row per layer and a column per head.

The thumbnails are sent once per text. Marks and words change more often and are sent separately (`mark_heads`); the
browser adds them to the picture that it has. See `head_grid/grid.js` for the browser's side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import streamlit as st
from jaxtyping import Float, Int

from viz.components.build import build
from viz.text.catalogue import _
from viz.theme import DARK, LIGHT

MAX_BYTES, MAX_BYTES_LONG = 1_000_000, 200_000
"""The most bytes that the thumbnails of all heads may take, one per unmasked cell: when they show every weight, and for
longer texts, which also send a megabyte for the strip."""

Head = tuple[int, int]  # layer, head
Wish = Literal["open", "beside"]

_render_grid = build("head_grid", "paint.js", "frame.js", "grid.js")
_render_marks = build("head_marks", "marks.js")


@dataclass(frozen=True)
class Choice:
    """A head chosen in the browser, to be opened or to be put beside the first head."""

    wish: Wish
    head: Head


def cells_for(n_heads: int, n_tokens: int, *, most: int) -> int:
    """The side of a thumbnail, in cells, that keeps `n_heads` of them within the byte limit; at most `most`."""

    def side(size: int) -> int:
        """The largest side whose triangles, side * (side + 1) / 2 bytes each, total at most `size` bytes."""
        return max(1, int((np.sqrt(8 * (size // n_heads) + 1) - 1) / 2))

    exact = min(most, side(MAX_BYTES))
    return exact if n_tokens <= exact else min(most, side(MAX_BYTES_LONG))


def head_grid(
    weights: Float[np.ndarray, "layer head row row"],
    *,
    queries: Int[np.ndarray, " row"],
    note: str,
    revision: str,
    key: str,
    on_choice: Callable[[], None],
) -> None:
    """Draw all heads. `weights` are their thumbnails, from 0 to 1; row i is the query at position `queries[i]`.

    `note` explains the thumbnails. `revision` identifies model and text; a choice made on another revision is ignored.
    `on_choice` is called when a head is chosen; inside it `chosen_head(key)` returns the choice.
    """
    n_layers, n_heads = weights.shape[:2]
    st.session_state[f"{key}:sent"] = (revision, n_layers, n_heads)
    _render_grid(
        key=key,
        data={
            "id": key,
            "revision": revision,
            "layers": n_layers,
            "heads": n_heads,
            "queries": queries.tolist(),
            "note": note,
            "words": grid_words(),
            "weights": pack(weights),
            "colours": {theme.kind: {"scale": theme.sequential, "masked": theme.masked} for theme in (LIGHT, DARK)},
        },
        on_choice_change=on_choice,
    )


def grid_words() -> dict[str, str]:
    """The messages that the browser shows in and around the grid."""
    return {
        "grid": _("All heads"),
        "keys": _("All heads: arrow keys move, Enter opens, Shift and Enter puts beside"),
        "click": _("A click"),
        "opens": _("opens the head"),
        "puts": _("puts it beside {head}"),
        "scale": _("weight 0 to 1"),
        "first": _("chosen head"),
        "beside": _("beside it"),
        "off": _("switched off"),
        "query": _("chosen token's row"),
        "switched_off": _("switched off on Change heads"),
    }


def mark_heads(grid: str, *, revision: str, key: str, **marks: Any) -> None:
    """Update marks of the grid whose key is `grid`, drawn for `revision`; marks not given stay. They are:

    `first`: the chosen head, as [layer, head]; `beside`, `off`: lists of the heads compared with it and of those
    switched off; `query`: the chosen token's position; `found`: heads to number 1, 2, ..., as [layer, head, words];
    `words`: for every head the text shown when the pointer is on it.
    """
    _render_marks(key=key, data={"grid": grid, "revision": revision, "marks": marks})


def chosen_head(key: str) -> Choice | None:
    """The head chosen in the browser in this run; None if there is none or it belongs to another grid."""
    state: Any = st.session_state.get(key)
    choice = state.get("choice") if hasattr(state, "get") else None
    revision, n_layers, n_heads = st.session_state.get(f"{key}:sent", ("", 0, 0))
    if not isinstance(choice, dict) or choice.get("revision") != revision:
        return None
    wish, layer, head = choice.get("wish"), choice.get("layer"), choice.get("head")
    if wish not in ("open", "beside") or type(layer) is not int or type(head) is not int:
        return None
    return Choice(wish, (layer, head)) if 0 <= layer < n_layers and 0 <= head < n_heads else None


def pack(weights: Float[np.ndarray, "layer head row row"]) -> pa.Table:
    """The lower triangles of all thumbnails, row by row, as bytes; 255 represents a weight of 1."""
    triangle = np.tri(weights.shape[2], dtype=bool)
    shares = np.rint(weights[:, :, triangle].clip(0, 1) * np.float32(255)).astype(np.uint8)
    return pa.table({"weights": shares.reshape(-1)})
