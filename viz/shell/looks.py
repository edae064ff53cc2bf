"""What stands side by side on a page: heads, or the mean over a layer's heads, each with its name and its weights."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from model.heads.comparison import Output, head_output, mean_output, mean_pattern
from model.trace.trace import Trace
from viz.state.focus import MEAN, Head, head_name


def look_name(trace: Trace, head: Head) -> str:
    """How a head is shown: `L3H7`, or `mean of L3's 6 heads`."""
    n_heads = trace.network.config.n_heads
    return f"mean of L{head[0]}'s {n_heads} heads" if head[1] == MEAN else head_name(head)


def look_short(head: Head) -> str:
    """The same where there is little room: `L3H7`, or `L3 mean`."""
    return f"L{head[0]} mean" if head[1] == MEAN else head_name(head)


def look_pattern(trace: Trace, head: Head) -> Float[np.ndarray, "query key"]:
    """Its weights over the text."""
    return mean_pattern(trace, head[0]) if head[1] == MEAN else trace.pattern(*head)


def look_output(trace: Trace, head: Head, query: int) -> Output:
    """What it hands on at one position."""
    return mean_output(trace, head[0], query) if head[1] == MEAN else head_output(trace, *head, query)
