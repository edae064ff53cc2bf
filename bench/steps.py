"""Typing on against transformers' own cache; and what a page derives from a trace.

bench/.venv/bin/python -m bench.steps [--out FILE] [--lengths 16 64] [--runs 7]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import model  # noqa: F401 - before torch: it sets how idle threads wait

# isort: split
import torch

from bench import models
from bench.clock import alternated, medians
from bench.command import parser_of, write
from model.heads.thumbnails import thumbnails
from model.network.gpt2 import GPT2
from model.trace.trace import Trace, run_trace

APPENDED = (16, 64, 256, 1023)
DERIVED = (16, 64, 256, 1024)
ANOTHER = 7  # the token typed on

STEP, STEP_LOGITS, THEIRS = "own", "own, with logits", "transformers"
EDIT, ANEW = "edit in the middle", "the edited text anew"


def append(lengths: list[int], runs: int) -> dict[str, Any]:
    """One more token after each of `lengths`: the trace extended, and `transformers` with its cache (with logits)."""
    weights = models.random_weights()
    network, theirs = models.network_of(weights, packed=True), models.hugging_face(weights, "sdpa")
    found = {}
    for length in lengths:
        ids = models.ids_of(length)
        whole = run_trace(network, ids)

        functions: dict[str, Callable[[], Any]] = {
            STEP: partial(_own_step, network, ids, whole),
            STEP_LOGITS: partial(_own_step, network, ids, whole, logits=True),
            THEIRS: _transformers_step(theirs, ids),
        }
        edited = [*ids[: length // 2], ANOTHER, *ids[length // 2 + 1 :]]  # the beginning before the change is reused
        functions[EDIT] = partial(run_trace, network, edited, prefix=whole)
        functions[ANEW] = partial(run_trace, network, edited)
        ms = medians(alternated(functions, runs))
        found[str(length)] = {
            "vs_transformers": round(ms[STEP] / ms[THEIRS], 3),
            "with_logits_vs_transformers": round(ms[STEP_LOGITS] / ms[THEIRS], 3),
            "edit_vs_anew": round(ms[EDIT] / ms[ANEW], 3),
            "ms": {name: round(value, 2) for name, value in ms.items()},
        }
        print(f"  after {length:5}: {ms[STEP]:.1f} ms, {ms[STEP] / ms[THEIRS]:.2f} of transformers' cache", flush=True)
    return found


def _own_step(network: GPT2, ids: list[int], whole: Trace, *, logits: bool = False) -> Any:
    whole.memory.n_filled = whole.n_pos  # free the next place, as if the step measured before had never been taken
    trace = run_trace(network, [*ids, ANOTHER], prefix=whole)
    return (trace, trace.logits(len(ids))) if logits else trace


def _transformers_step(theirs: Any, ids: list[int]) -> Callable[[], Any]:
    """A step with `transformers`' cache, which is first cut back to what it was before the last step."""
    with torch.inference_mode():
        cache = theirs(torch.tensor([ids]), use_cache=True, logits_to_keep=1).cache
    new = torch.tensor([[ANOTHER]])

    def step() -> Any:
        if cache.get_seq_length() > len(ids):
            cache.crop(-1)
        with torch.inference_mode():
            return theirs(new, cache=cache, use_cache=True).logits

    return step


def derive(lengths: list[int], runs: int) -> dict[str, Any]:
    """Milliseconds for one head's pattern, one query's row in all heads, and all heads' thumbnails."""
    network = models.network_of(models.random_weights(), packed=True)
    found = {}
    for length in lengths:
        trace = run_trace(network, models.ids_of(length))
        functions: dict[str, Callable[[], Any]] = {
            "pattern_ms": partial(_pattern_anew, trace),
            "rows_ms": partial(trace.rows, length - 1),
            "thumbnails_ms": partial(thumbnails, trace, max_cells=32),
            "thumbnails_64_ms": partial(thumbnails, trace, max_cells=64),
        }
        found[str(length)] = {name: round(value, 2) for name, value in medians(alternated(functions, runs)).items()}
        print(f"  {length:5} tokens: {found[str(length)]}", flush=True)
    return found


def _pattern_anew(trace: Trace) -> Any:
    return replace(trace).pattern(3, 7)  # a copy, since a trace remembers what was last derived from it


def main() -> None:
    """Measure, print, write."""
    parser = parser_of(__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", help="instead of " + " ".join(map(str, DERIVED)))
    options = parser.parse_args()
    print("Typing on", flush=True)
    found = {"append": append(options.lengths or list(APPENDED), options.runs)}
    print("Deriving", flush=True)
    found["derive"] = derive(options.lengths or list(DERIVED), 3 * options.runs)
    write(options.out, found)


if __name__ == "__main__":
    main()
