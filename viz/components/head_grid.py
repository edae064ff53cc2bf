"""The head grid: every head's pattern as a thumbnail, layers down and heads across, in one canvas.

The thumbnails travel once for each text. What changes more often, marks and words, comes by messages of its own
(`mark_heads`), which the browser adds to the picture that it already has; see `head_grid/grid.js` for the other half.
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
from viz.theme import DARK, LIGHT

MAX_BYTES, MAX_BYTES_LONG = 1_000_000, 200_000
"""The most that the thumbnails of all heads together may send, a byte for each cell that is not masked: where they can
show every weight, and of longer texts, which have a strip of a megabyte beside them."""

Head = tuple[int, int]  # layer, head
Wish = Literal["open", "beside"]

_render_grid = build("head_grid", "paint.js", "frame.js", "grid.js")
_render_marks = build("head_marks", "marks.js")


@dataclass(frozen=True)
class Choice:
    """What the person wants with a head: to open it, or to put it beside the first."""

    wish: Wish
    head: Head


def cells_for(n_heads: int, n_tokens: int, *, most: int) -> int:
    """How many rows and columns the thumbnails of `n_heads` heads may have to send no more; at most `most`."""

    def side(size: int) -> int:
        """The largest side whose triangles, side * (side + 1) / 2 bytes each, have `size` bytes together at most."""
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
    """Draw all heads. `weights` are their thumbnails, row i of them the query at position `queries[i]`.

    `note` says how the thumbnails were made. `revision` names model and text; a choice that was made on another one
    does not count. `on_choice` is called when a head was chosen; inside it `chosen_head(key)` says which and what for.
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
            "weights": pack(weights),
            "colours": {theme.kind: {"scale": theme.sequential, "masked": theme.masked} for theme in (LIGHT, DARK)},
        },
        on_choice_change=on_choice,
    )


def mark_heads(grid: str, *, revision: str, key: str, **marks: Any) -> None:
    """Add to the grid whose key is `grid`, drawn for `revision`; what is not given stays as it was. The marks are:

    `first`: the chosen head, as [layer, head]; `beside`, `off`: lists of such, the heads beside it and those that are
    switched off; `query`: the chosen token's position; `found`: heads to number 1, 2, ..., as [layer, head, words];
    `words`: for every head what the pointer says of it.
    """
    _render_marks(key=key, data={"grid": grid, "revision": revision, "marks": marks})


def chosen_head(key: str) -> Choice | None:
    """The head chosen in the browser in this run, or None if there is none or it is not of the grid on show."""
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
    """Each thumbnail's lower triangle row by row as bytes (255: all the weight), one thumbnail after the other."""
    triangle = np.tri(weights.shape[2], dtype=bool)
    shares = np.rint(weights[:, :, triangle].clip(0, 1) * np.float32(255)).astype(np.uint8)
    return pa.table({"weights": shares.reshape(-1)})
