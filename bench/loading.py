"""Time and memory of loading and packing 124M parameters; and a pass beside a process that keeps a core busy.

bench/.venv/bin/python -m bench.loading [--out FILE] [--runs 7]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import model  # noqa: F401 - before torch: it sets how idle threads wait
from bench import models
from bench.clock import alternated, resident_bytes
from bench.command import child, parser_of, write
from model.files.checkpoint import load_weights
from model.network.parameters import GPT2_SMALL
from model.trace.trace import run_trace

LENGTH = 64  # tokens of the pass under load: short, so that threads mostly wait for each other
_SPIN = "while True: pass"
_TINY = replace(GPT2_SMALL, n_layers=1, n_heads=1, d_model=8, d_mlp=8, d_vocab=8, n_ctx=8)


def load_once(folder: Path) -> dict[str, float]:
    """One load and one packing, in a process of its own: seconds, and megabytes in RAM after each."""
    run_trace(models.network_of(models.random_weights(_TINY), config=_TINY), [1, 2, 3])  # torch is warm
    before, start = resident_bytes(), time.perf_counter()
    network, _notes = load_weights(folder, GPT2_SMALL)
    loaded, after_load = time.perf_counter(), resident_bytes()
    packed = network.pack()
    done = time.perf_counter()
    if not packed:
        raise SystemExit("This PyTorch cannot pack weights for oneDNN.")
    return {
        "read_s": loaded - start,
        "packed_s": done - loaded,
        "read_resident_mb": (after_load - before) / 1e6,
        "packed_resident_mb": (resident_bytes() - before) / 1e6,
    }


def pass_times(runs: int) -> list[float]:
    """Milliseconds of `runs` traces, packed; in a process of its own."""
    network, ids = models.network_of(models.random_weights(), packed=True), models.ids_of(LENGTH)
    return alternated({"pass": partial(run_trace, network, ids)}, runs)["pass"]


def under_load(runs: int) -> dict[str, Any]:
    """A pass beside a process that keeps one core busy, against the same pass without it, for both ways of waiting."""
    found: dict[str, Any] = {}
    for policy in ("passive", "active"):
        idle = child("bench.loading", "--passes", runs, OMP_WAIT_POLICY=policy)
        busy = subprocess.Popen([sys.executable, "-c", _SPIN])
        try:
            loaded = child("bench.loading", "--passes", runs, OMP_WAIT_POLICY=policy)
        finally:
            busy.kill()
            busy.wait()
        ms = {"idle_ms": round(statistics.median(idle), 1), "busy_ms": round(statistics.median(loaded), 1)}
        found[policy] = {**ms, "busy_vs_idle": round(ms["busy_ms"] / ms["idle_ms"], 2)}
        print(f"  threads that wait {policy}: {found[policy]}", flush=True)
    return {"busy_vs_idle": found["passive"]["busy_vs_idle"], "tokens": LENGTH, **found}


def load(runs: int) -> dict[str, float]:
    """Medians of loading and packing a file that is in the page cache."""
    with tempfile.TemporaryDirectory() as folder:
        models.write_checkpoint(Path(folder), models.random_weights())
        once = [child("bench.loading", "--load", folder) for _ in range(runs)]
    found = {name: round(statistics.median(one[name] for one in once), 3) for name in once[0]}
    print(f"  {found}", flush=True)
    return found


def main() -> None:
    """Measure, print, write."""
    parser = parser_of(__doc__)
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--passes", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.load:
        print(json.dumps(load_once(options.load)))
        return
    if options.passes:
        print(json.dumps(pass_times(options.passes)))
        return
    print("Loading", flush=True)
    found: dict[str, Any] = {"load": load(options.runs)}
    print("Under load", flush=True)
    found["load"]["under_load"] = under_load(options.runs)
    write(options.out, found)


if __name__ == "__main__":
    main()
