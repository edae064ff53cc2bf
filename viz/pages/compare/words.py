"""What Compare heads says in words and tables: how far heads are apart, and what each hands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from model.heads.comparison import Output, cosine
from viz.text.catalogue import _
from viz.text.markdown import table
from viz.text.numbers import cosine_text, distance_text, length_text


@dataclass(frozen=True, eq=False)
class HeadPair:
    """Two of the heads on show (by their places), how far their rows are apart in bits, and the mean of that."""

    first: int
    second: int
    names: tuple[str, str]
    rows: Float[np.ndarray, " query"]
    mean: float


def pair_sentence(pair: HeadPair, *, same: bool) -> str:
    """How far two heads are apart on this text."""
    if same:
        return _("**{name}** stands beside itself: no difference. Choose another head beside it.", name=pair.names[0])
    names = {"first": pair.names[0], "second": pair.names[1]}
    if len(pair.rows) == 1:
        return _("**{first}** and **{second}** can read only the one token that there is: nothing to compare.", **names)
    apart = _(
        "**{first}** and **{second}** are **{distance} bits** apart, the mean over all rows but the first.",
        **names,
        distance=distance_text(pair.mean),
    )
    if not pair.mean:
        return apart
    row = int(pair.rows.argmax())
    distance = distance_text(float(pair.rows[row]))
    farthest = _("Farthest apart is row {row} with {distance}.", row=row + 1, distance=distance)
    return f"{apart} {farthest}"


def pair_table(pairs: Sequence[HeadPair], outputs: Sequence[Output], query: int) -> str:
    """Each pair's distance in the chosen token's row and on the whole text, and the cosine of their results."""
    rows = [
        (_("pair"), _("bits, row {query}", query=query + 1), _("bits, all rows"), _("cos of results")),
        ("---", "--:", "--:", "--:"),
        *(
            (
                f"{pair.names[0]}, {pair.names[1]}",
                distance_text(float(pair.rows[query])),
                "–" if len(pair.rows) == 1 else f"**{distance_text(pair.mean)}**",
                cosine_text(cosine(outputs[pair.first].result, outputs[pair.second].result)),
            )
            for pair in pairs
        ),
    ]
    return table(rows)


def output_table(names: Sequence[str], layers: Sequence[int], outputs: Sequence[Output]) -> str:
    """Each head's z and result at the chosen token: their lengths, and the result's cosine with the layer's whole."""
    rows = [
        (_("head"), "‖z‖", "‖result‖", _("cos with attn\\_out")),
        ("---", "--:", "--:", "--:"),
        *(
            (
                name,
                "–" if output.z is None else length_text(output.z),
                length_text(output.result),
                _in_layer(output, layer),
            )
            for name, layer, output in zip(names, layers, outputs, strict=True)
        ),
    ]
    return table(rows)


def divergence_note() -> str:
    """What a distance is."""
    return _(
        "Distance: the Jensen-Shannon divergence of two rows of weights (Lin 1991), 0 bits where they are "
        "equal, 1 bit where they share no key. The mean leaves out the first row, which is the same in "
        "every head. z: a head's output; result: what it adds to the residual stream (its z through its "
        "rows of the output projection); attn_out: what all heads of its layer add together, bias included."
    )


def _in_layer(output: Output, layer: int) -> str:
    return f"{cosine_text(output.cosine)} (L{layer})"
