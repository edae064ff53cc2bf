"""Idle threads sleep, and no more run than the CPU quota feeds, unless the user says otherwise; torch hears in time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from model.network import openmp

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(("given", "expected"), [(None, "passive"), ("active", "active")])
def test_the_wait_policy_is_set_unless_it_was(given, expected):
    program = "import os, runpy; runpy.run_path('model/network/openmp.py'); print(os.environ['OMP_WAIT_POLICY'])"
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {"OMP_WAIT_POLICY": given} if given else {}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected


def test_it_is_the_first_thing_that_the_package_imports():
    imports = [line for line in (ROOT / "model" / "__init__.py").read_text().splitlines() if line.startswith("from ")]
    assert imports[0].startswith("from model.network import openmp")


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        # v2: a container sees its own group as the topmost
        ("0::/", {"cpu.max": "50000 100000"}, 0.5),
        ("0::/", {"cpu.max": "max 100000"}, None),
        ("0::/", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/", {}, None),
        # v2: a service, limited itself or by a group above it; the smallest limit holds
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "25000 50000"}, 0.5),
        ("0::/a/b", {"a/b/cpu.max": "100000 100000", "a/cpu.max": "300000 100000"}, 1.0),
        # v1, under either name of the folder; a path of the host that the container does not see
        ("3:cpu,cpuacct:/", {"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, None),
        ("3:cpu,cpuacct:/", {"cpu/cpu.cfs_quota_us": "70000", "cpu/cpu.cfs_period_us": "100000"}, 0.7),
        ("1:cpu:/docker/1f", {"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2.0),
        # both at once, and groups that limit something else
        (
            "4:memory:/x\n2:cpuacct:/x\n1:cpu:/x\n0::/x",
            {"cpu/x/cpu.cfs_quota_us": "80000", "cpu/x/cpu.cfs_period_us": "100000", "x/cpu.max": "max 100000"},
            0.8,
        ),
        ("2:cpuset:/", {"cpuset/cpu.max": "1 100"}, None),
        # files that say nothing
        ("0::/", {"cpu.max": "nonsense"}, None),
        ("0::/", {"cpu.max": "5 0"}, None),
    ],
)
def test_the_quota_is_that_of_the_control_groups(tmp_path, own, files, expected):
    (tmp_path / "own").write_text(own)
    for name, content in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert openmp.cpu_quota(tmp_path / "root", tmp_path / "own") == expected


def test_where_there_are_no_control_groups_there_is_no_quota(tmp_path):
    assert openmp.cpu_quota(tmp_path, tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    ("quota", "cores", "given", "expected"),
    [
        ("50000 100000", 2, None, "1"),  # two threads in half a core are slower than one
        ("150000 100000", 4, None, "2"),
        ("800000 100000", 2, None, "None"),  # more than the cores it may run on: OpenMP counts these itself
        ("max 100000", 2, None, "None"),
        ("50000 100000", 2, "3", "3"),
    ],
)
def test_threads_follow_the_quota_unless_their_number_is_set(tmp_path, quota, cores, given, expected):
    (tmp_path / "cpu.max").write_text(quota)
    (tmp_path / "own").write_text("0::/")
    source = (ROOT / "model" / "network" / "openmp.py").read_text()
    assert source.count('Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")') == 1
    source = source.replace("/sys/fs/cgroup", str(tmp_path)).replace("/proc/self/cgroup", str(tmp_path / "own"))
    program = (
        f"import os; os.sched_getaffinity = lambda pid: range({cores})\n"
        f"exec({source!r}, {{'__name__': 'openmp'}}); print(os.environ.get('OMP_NUM_THREADS'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    environment |= {"OMP_NUM_THREADS": given} if given else {}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected
