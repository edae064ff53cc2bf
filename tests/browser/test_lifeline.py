"""No process that a test started outlives the tests."""

from __future__ import annotations

import subprocess
import sys

from tests.browser.harness import ROOT
from tests.browser.lifeline import Lifeline

SLEEPER = "print('started', flush=True); import time; time.sleep(600)"
# Starts a sleeper that shares its output, then is killed as from outside.
KILLED = f"""
import os, signal, subprocess, sys
from tests.browser.lifeline import Lifeline
sleeper = subprocess.Popen([sys.executable, "-c", {SLEEPER!r}], start_new_session=True)
Lifeline(sleeper.pid)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_ends_when_the_tests_are_killed() -> None:
    """The output ends only once all who hold it have ended."""
    process = subprocess.run([sys.executable, "-c", KILLED], cwd=ROOT, stdout=subprocess.PIPE, timeout=120)
    assert process.returncode == -9


def test_a_process_is_let_be_once_its_lifeline_is_cut() -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE, start_new_session=True) as sleeper:
        assert sleeper.stdout is not None
        assert sleeper.stdout.readline() == b"started\n"
        Lifeline(sleeper.pid).cut()
        assert sleeper.poll() is None
        sleeper.kill()
