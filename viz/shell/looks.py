"""What stands side by side on a page: heads, or means over a layer's heads, each with its name, weights and output."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from model.heads.comparison import Output, head_output, mean_output, mean_pattern
from model.trace.trace import Trace
from viz.state.focus import MEAN, Head, head_name
from viz.text.catalogue import _, ngettext


def look_name(trace: Trace, head: Head) -> str:
    """How a head is shown: `L3H7`, or `mean of L3's 6 heads`."""
    if head[1] != MEAN:
        return head_name(head)
    n_heads = trace.network.config.n_heads
    return ngettext("mean of L{layer}'s {n} head", "mean of L{layer}'s {n} heads", n_heads, layer=head[0])


def look_short(head: Head) -> str:
    """The same where there is little room: `L3H7`, or `L3 mean`."""
    return _("L{layer} mean", layer=head[0]) if head[1] == MEAN else head_name(head)


def look_pattern(trace: Trace, head: Head) -> Float[np.ndarray, "query key"]:
    """The head's softmax weights over the text; each row sums to 1."""
    return mean_pattern(trace, head[0]) if head[1] == MEAN else trace.pattern(*head)


def look_output(trace: Trace, head: Head, query: int) -> Output:
    """What the head adds to the residual stream at the position `query` (from 0)."""
    return mean_output(trace, head[0], query) if head[1] == MEAN else head_output(trace, *head, query)
