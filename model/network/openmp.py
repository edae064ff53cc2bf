"""How many threads PyTorch uses and how its idle ones wait. Imported before torch, which reads both settings once.

OpenMP's threads by default spin while they wait for each other. As soon as another process needs a core, each spins
for a thread that cannot run, and a short pass takes several times as long. Sleeping costs nothing measurable on free
cores. And OpenMP counts the cores a process may run on, not the CPU time it is granted: in a container limited to half
a core, two threads use the grant up twice as fast and are then both stopped (207 ms a pass; one thread takes 158 ms).

`OMP_WAIT_POLICY` and `OMP_NUM_THREADS` override both.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

_CGROUPS, _OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def cpu_quota(root: Path = _CGROUPS, own: Path = _OWN_CGROUPS) -> float | None:
    """How many cores' time the control groups of this process grant it (cgroup v1 or v2); None: no limit is set."""
    return min((quota for folder in _cpu_folders(root, own) if (quota := _quota(folder)) is not None), default=None)


def _cpu_folders(root: Path, own: Path) -> Iterator[Path]:
    """Where this process's limits may be: its groups and all above them. In a container only the topmost is visible."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "cpu") or "cpu" in controllers.split(","):
            for name in {controllers, "cpu"} if controllers else {"", "unified"}:
                group = Path(path.lstrip("/"))
                yield from (root / name / folder for folder in (group, *group.parents))


def _quota(folder: Path) -> float | None:
    """The limit that is set in `folder`: a quota of microseconds in every period, as a number of cores."""
    try:
        if (v2 := folder / "cpu.max").exists():
            quota, period = v2.read_text().split()
        else:
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        return None if quota in ("max", "-1") else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None


os.environ.setdefault("OMP_WAIT_POLICY", "passive")
_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
if (_granted := cpu_quota()) is not None and _granted < _cores:
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, math.ceil(_granted))))
