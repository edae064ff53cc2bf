"""One token at a time: each token is read once; its keys and values, which later tokens need, are kept.

`read_next` is that step. `read_again` is what it replaces: a pass over the whole text, with nothing kept. Both give the
same numbers up to rounding, which `step_difference` measures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from gettext import gettext as _

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from model.errors import SelectionError, TextError
from model.network.key_value_cache import KeyValueCache
from model.network.network import Network
from model.network.sizes import Config
from model.trace.trace import Trace

_ENOUGH_SECONDS, _LONG_RUN = 0.06, 1.0


@dataclass(frozen=True, eq=False)
class Step:
    """What was computed for the last token of a pass: its vectors in every layer, and the logits of what follows.

    Queries and keys are as they meet, turned by their position where the model has rotary positions.
    """

    position: int
    q: Float[np.ndarray, "layer head d_head"]
    k: Float[np.ndarray, "layer kv_head d_head"]
    v: Float[np.ndarray, "layer kv_head d_head"]
    logits: Float[np.ndarray, " d_vocab"]


def cache_of(trace: Trace, n_pos: int, *, capacity: int | None = None) -> KeyValueCache:
    """The keys and values of the first `n_pos` tokens of `trace`, copied; `capacity` as in `KeyValueCache.empty`.

    Raises:
        SelectionError: the trace has fewer tokens.
    """
    if not 0 <= n_pos <= trace.n_pos:
        raise SelectionError(
            _("{n} tokens cannot be cached; this text has {n_pos}.").format(n=n_pos, n_pos=trace.n_pos)
        )
    cache = KeyValueCache.empty(trace.network.config, capacity).extended(n_pos)
    cache.k.numpy()[:] = trace.rot_k[:, :, :n_pos]
    cache.v.numpy()[:] = trace.v[:, :, :n_pos]
    return cache


def read_next(network: Network, token_id: int, cache: KeyValueCache) -> tuple[Step, KeyValueCache]:
    """Read one token after those in `cache`: what was computed, and the cache extended by this token.

    Raises:
        TextError: the cache holds as many tokens as the model's context.
    """
    return _read(network, (token_id,), cache), cache.extended(1)


def read_again(network: Network, ids: Sequence[int], *, between: Callable[[], object] = lambda: None) -> Step:
    """Read the whole text anew: what was computed for its last token. `between` is called before each layer.

    Raises:
        TextError: no ids, or more than the network's context holds.
    """
    return _read(network, ids, None, between)


def step_difference(a: Step, b: Step) -> float:
    """The largest difference between two steps' numbers: queries, keys and values of all layers, and logits."""
    pairs = ((a.q, b.q), (a.k, b.k), (a.v, b.v), (a.logits, b.logits))
    return max(float(np.abs(x - y).max()) for x, y in pairs)


def largest_number(step: Step) -> float:
    """The largest magnitude among the numbers that `step_difference` compares."""
    return max(float(np.abs(x).max()) for x in (step.q, step.k, step.v, step.logits))


def timed(
    read: Callable[[], Step], waited: Callable[[], float] = lambda: 0.0, *, most_runs: int = 5
) -> tuple[Step, float]:
    """A step and the milliseconds it took: the shortest of up to `most_runs` runs, fewer if they are long.

    `waited` counts the seconds spent giving way to other work, which are subtracted.
    """
    least, spent, runs = float("inf"), 0.0, 0
    while runs < most_runs and (spent < _ENOUGH_SECONDS or (runs == 1 and spent < _LONG_RUN)):
        start, before = time.perf_counter(), waited()
        step = read()
        seconds = time.perf_counter() - start - (waited() - before)
        least, spent, runs = min(least, seconds), spent + seconds, runs + 1
    return step, 1000 * least


def multiplications(config: Config, n_new: int, n_past: int = 0) -> int:
    """Multiplications in the matrix products of a pass over `n_new` tokens after `n_past` kept ones.

    Projections, scores and weighted sums (of the keys that the mask lets through), and the logits of the last token.
    Norms, softmax, the activation function, rotations and the scaling of the scores are left out: together they are
    below 1 % in GPT-2's sizes.
    """
    d, d_heads = config.d_model, config.n_heads * config.d_head
    projections = 2 * d * (d_heads + config.n_kv_heads * config.d_head)  # q, k, v and out
    projections += (3 if config.gated else 2) * d * config.d_mlp
    pairs = sum(range(n_past + 1, n_past + n_new + 1))  # each query with the keys up to its own
    return config.n_layers * (n_new * projections + 2 * d_heads * pairs) + d * config.d_vocab


def written(trace: Trace, choose: Callable[[Float[np.ndarray, " d_vocab"], int], int]) -> Iterator[int]:
    """Continue `trace`'s text: the ids one by one, until the text is as long as the model's context.

    `choose(logits, position)` names the token that follows `position`. No token is read twice.
    """
    network, token = trace.network, trace.ids[-1]
    cache = cache_of(trace, trace.n_pos - 1)
    while cache.n_pos + 1 < network.config.n_ctx:
        step, cache = read_next(network, token, cache)
        token = choose(step.logits, step.position)
        yield token


def _read(
    network: Network, ids: Sequence[int], cache: KeyValueCache | None, between: Callable[[], object] = lambda: None
) -> Step:
    """A pass over `ids` after `cache`: its last token's step."""
    n_ctx, n_past = network.config.n_ctx, cache.n_pos if cache else 0
    if not ids:
        raise TextError(_("There is no token to read; type at least one character."))
    if n_past + len(ids) > n_ctx:
        raise TextError(
            _("The model reads at most {n_ctx:,} tokens; after {n_past:,} there is no room for {n_new:,} more.").format(
                n_ctx=n_ctx, n_past=n_past, n_new=len(ids)
            )
        )
    q_name, k_name = network.config.meeting
    seen: dict[str, list[Tensor]] = {q_name: [], k_name: [], "v": []}  # of the last token, by layer: (head, d_head)

    def tap(name: str, tensor: Tensor) -> Tensor:
        kind = name.rsplit(".", 1)[-1]
        if kind == "resid_pre":
            between()
        if kind in seen:
            seen[kind].append(tensor[:, -1])
        return tensor

    with torch.inference_mode():
        resid = network(torch.tensor(ids), cache=cache, tap=tap)
        logits = network.logits(resid[-1])
        q, k, v = (torch.stack(seen[kind]).numpy() for kind in seen)  # (layer, head, d_head)
    return Step(n_past + len(ids) - 1, q, k, v, logits.numpy())
