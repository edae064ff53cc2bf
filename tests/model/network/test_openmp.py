"""Idle threads sleep unless the user says otherwise, and torch hears of it in time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
