"""A trace against transformers, TransformerLens and a bare forward: time, memory, and that the numbers are the same.

    bench/.venv/bin/python -m bench.trace [--out FILE] [--lengths 16 64] [--runs 7]

Times: all contestants in one process, in turn, repeatedly. Memory: one process for each contestant.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import Any

import model  # noqa: F401 - before torch: it sets how idle threads wait
from bench import models
from bench.clock import alternated, medians, peak_above
from bench.command import child, parser_of, write

LENGTHS = (16, 64, 256, 1024)
TIMED = (
    *(models.OWN, models.FLOOR, models.TRANSFORMERS, models.LENS),
    *(name + models.ALL_LOGITS for name in (models.OWN, models.FLOOR, models.LENS)),
    *(models.PLAIN, models.FUSED),
)
WEIGHED = (models.OWN, models.TRANSFORMERS, models.LENS)


def times(lengths: list[int], runs: int) -> dict[str, dict[str, float]]:
    """Milliseconds by length and contestant."""
    ready = models.contestants(models.random_weights(), TIMED)
    found = {}
    for length in lengths:
        ids = models.ids_of(length)
        found[str(length)] = medians(alternated({name: partial(run, ids) for name, run in ready.items()}, runs))
        own, floor = found[str(length)][models.OWN], found[str(length)][models.FLOOR]
        print(f"  {length:5} tokens: own trace {own:.1f} ms, {own / floor:.2f} of the bare forward", flush=True)
    return found


def memory(lengths: list[int]) -> dict[str, dict[str, dict[str, float]]]:
    """Megabytes held and at the peak, by contestant and length."""
    found = {}
    for name in WEIGHED:
        # Freed memory goes back to the system at once, so that it does not hide the next peak.
        options = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
        found[name] = child("bench.trace", "--weigh", name, "--lengths", *lengths, **options)
        print(f"  memory of {name}: {found[name][str(lengths[-1])]}", flush=True)
    return found


def weigh(name: str, lengths: list[int]) -> dict[str, dict[str, float]]:
    """Megabytes of one contestant, by length; in a process of its own."""
    run = models.contestants(models.random_weights(), (name,))[name]
    run(models.ids_of(8))
    found = {}
    for length in lengths:
        ids = models.ids_of(length)
        kept, peak = peak_above(partial(run, ids))
        found[str(length)] = {"held_mb": round(models.held_bytes(kept) / 1e6, 1), "peak_mb": round(peak / 1e6, 1)}
        del kept
    return found


def difference_to_transformers(length: int) -> float:
    """The largest difference between the own trace's numbers and those of `transformers`, over all that both keep."""
    import torch

    weights = models.random_weights()
    ids, ready = models.ids_of(length), models.contestants(weights, (models.OWN, models.TRANSFORMERS))
    trace, own_logits = ready[models.OWN](ids)
    logits, attentions, hidden, joined = ready[models.TRANSFORMERS](ids)
    c = trace.network.config
    differences = [(torch.tensor(own_logits) - logits[0, 0]).abs().max()]
    for layer in range(c.n_layers):
        theirs = [part.unflatten(-1, (c.n_heads, -1)).transpose(0, 1) for part in joined[layer][0].chunk(3, dim=-1)]
        for ours, other in zip((trace.q, trace.k, trace.v), theirs, strict=True):
            differences.append((torch.tensor(ours[layer]) - other).abs().max())
        differences.append((torch.tensor(trace.resid_pre[layer]) - hidden[layer][0]).abs().max())
        for head in range(c.n_heads):
            ours = torch.tensor(trace.pattern(layer, head))
            differences.append((ours - attentions[layer][0, head]).abs().max())
    return float(max(differences))


def measure(lengths: list[int], runs: int) -> dict[str, Any]:
    """The part of the report that is about traces."""
    print("Traces: times", flush=True)
    taken = times(lengths, runs)
    print("Traces: memory", flush=True)
    weighed = memory(lengths)
    difference = difference_to_transformers(lengths[-1])
    print(f"  largest difference to transformers at {lengths[-1]} tokens: {difference:.1e}", flush=True)
    figures = {}
    for length, ms in taken.items():
        own, all_logits = ms[models.OWN], ms[models.OWN + models.ALL_LOGITS]
        figures[length] = {
            "vs_floor": round(own / ms[models.FLOOR], 3),
            "vs_transformers": round(own / ms[models.TRANSFORMERS], 3),
            "vs_transformer_lens": round(own / ms[models.LENS], 3),
            **weighed[models.OWN][length],
            "all_logits_vs_floor": round(all_logits / ms[models.FLOOR + models.ALL_LOGITS], 3),
            "all_logits_vs_transformer_lens": round(all_logits / ms[models.LENS + models.ALL_LOGITS], 3),
            "ms": {name: round(value, 2) for name, value in ms.items()},
            "memory": {name: weighed[name][length] for name in WEIGHED},
        }
    return {"trace": figures, "largest_difference": difference}


def main() -> None:
    """Measure, print, write."""
    parser = parser_of(__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    parser.add_argument("--weigh", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.weigh:
        print(json.dumps(weigh(options.weigh, options.lengths)))
        return
    found = measure(options.lengths, options.runs)
    write(options.out, found)


if __name__ == "__main__":
    main()
