"""The long soak: `make soak`. Prints its figures; fails where one is beyond what the documentation says.

    .venv/bin/python -m tests.soak [--visitors 40] [--steps 20] [--think 6] [--sentences 200] [--browsers 3]

The model has GPT-2 small's shape and random weights, written once to a temporary folder.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.browser.harness import Server
from tests.soak.browsers import look_around
from tests.soak.soak import Crowd, Memory, Waits, many_at_once, one_types_on, share, type_on_and_leave
from tests.soak.weights import GPT2_SMALL, write_random_model

MODEL = "gpt2-small-random"
MOST_WAIT, MOST_GROWTH_MB = 3.0, 60.0


def main() -> int:
    """Soak and print; 1 if a figure is beyond its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--visitors", type=int, default=40)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--think", type=float, default=6.0, help="seconds that a visitor looks at a page, on average")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--browsers", type=int, default=3)
    parser.add_argument("--writing", type=int, default=1, help="visitors with a long text who let the model write on")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_random_model(Path(folder) / MODEL, GPT2_SMALL)
        os.environ["HEADLIGHT_MODELS"] = folder
        os.environ.setdefault("HEADLIGHT_TRACE_CACHE_MB", "256")  # so that it is full early
        server = Server("app.py", Path(folder) / "log.txt")
        try:
            return asyncio.run(_soak(server, options))
        finally:
            server.stop()


async def _soak(server: Server, options: argparse.Namespace) -> int:
    memory, failed = Memory(server.process.pid), 0

    def judge(what: str, value: float, most: float, unit: str) -> None:
        nonlocal failed
        failed += value > most
        print(f"{'ok ' if value <= most else 'BAD'} {what}: {value:.1f} {unit} (at most {most:.1f})", flush=True)

    print(f"the process before anybody came: {memory.now():.0f} MB", flush=True)
    started = time.perf_counter()
    with memory.watched():
        held = await one_types_on(server.url, MODEL, options.sentences, memory)
        quarters = [statistics.median(held[i * len(held) // 4 : (i + 1) * len(held) // 4]) for i in range(4)]
        print(f"one visitor, {len(held)} sentences, {time.perf_counter() - started:.0f} s")
        print("    memory by quarters, MB:", " ".join(f"{quarter:.0f}" for quarter in quarters))

        over, newcomer = await type_on_and_leave(server.url, MODEL, 1000)
        judge("a short text typed over a long one", over, MOST_WAIT, "s")
        judge("a newcomer after a tab was closed over a long text", newcomer, MOST_WAIT, "s")

        ends = []
        for part in (1, 2):
            waits, before = Waits(), time.perf_counter()
            steps = options.steps // 2
            crowd = Crowd(server.url, MODEL, options.visitors - options.browsers, steps, options.think, options.writing)
            seen = await asyncio.gather(
                many_at_once(crowd, waits), look_around(server.url, MODEL, options.browsers, steps, options.think)
            )
            for seconds in seen[1]:
                waits.add("a step in a browser", seconds)
            ends.append(memory.now())
            print(f"{options.visitors} visitors, steps of half {part}: {time.perf_counter() - before:.0f} s")
            _print_waits(waits)
            quick = [s for action, many in waits.by_action.items() if "long" not in action for s in many]
            judge("95 % of all waits within", share(quick, 0.95), MOST_WAIT, "s")
            print(f"    memory: {ends[-1]:.0f} MB", flush=True)
    judge("memory more after the second half than after the first", ends[1] - ends[0], MOST_GROWTH_MB, "MB")
    print(f"most memory at any time: {max(memory.seen):.0f} MB")
    log = server.log_text()
    judge("tracebacks in the log", log.count("Traceback"), 0, "")
    return int(failed > 0)


def _print_waits(waits: Waits) -> None:
    for action, seconds in sorted(waits.by_action.items()):
        print(
            f"    {action:24} {len(seconds):4} times   median {statistics.median(seconds):5.2f} s"
            f"   95 % {share(seconds, 0.95):5.2f} s   most {max(seconds):5.2f} s"
        )


if __name__ == "__main__":
    sys.exit(main())
