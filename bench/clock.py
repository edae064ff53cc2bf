"""Times and memory, measured so that what else the machine does falls on all alike."""

from __future__ import annotations

import gc
import os
import platform
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

RUNS = 7
# On a busy machine `BENCH_CLOCK=cpu OMP_NUM_THREADS=1` counts what the bench itself computes: ratios hold roughly.
_now = time.process_time if os.environ.get("BENCH_CLOCK") == "cpu" else time.perf_counter


def alternated(functions: dict[str, Callable[[], Any]], runs: int = RUNS) -> dict[str, list[float]]:
    """Milliseconds of each function: one run of each in turn, `runs` times, after one that does not count."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    gc.collect()
    gc.disable()
    try:
        for turn in range(runs + 1):
            for name, function in functions.items():
                start = _now()
                result = function()
                taken = 1000 * (_now() - start)
                del result  # outside the time: letting go of a trace is nobody's wait
                if turn:
                    times[name].append(taken)
            gc.collect()
    finally:
        gc.enable()
    return times


def medians(times: dict[str, list[float]]) -> dict[str, float]:
    """The median of each list."""
    return {name: statistics.median(values) for name, values in times.items()}


def resident_bytes() -> int:
    """Memory of this process that is in RAM now."""
    return _status("VmRSS")


def peak_above(function: Callable[[], Any]) -> tuple[Any, int]:
    """What `function` returns, and by how many bytes the process's memory was larger at its largest than before."""
    gc.collect()
    before = resident_bytes()
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
    result = function()
    return result, max(0, _status("VmHWM") - before)


def machine() -> str:
    """The machine and what runs on it, in words."""
    names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = int(re.findall(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())[0]) / 1e6
    return (
        f"{len(os.sched_getaffinity(0))} cores ({names[0] if names else platform.processor()}), {memory:.0f} GB, "
        f"{platform.system()}; Python {platform.python_version()}, PyTorch {torch.__version__} with "
        f"{torch.get_num_threads()} threads, fp32"
    )


def _status(name: str) -> int:
    return int(re.findall(rf"{name}:\s*(\d+)", Path("/proc/self/status").read_text())[0]) * 1024
