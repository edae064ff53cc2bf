"""Ends a process that tests started once they themselves are gone, however they ended."""

from __future__ import annotations

import subprocess
import sys

# Reads until the pipe closes, which the operating system does when the process that holds its other end is gone.
_WATCH = """
import os, signal, sys
if not sys.stdin.read():
    os.killpg(int(sys.argv[1]), signal.SIGKILL)
"""


class Lifeline:
    """Kills a process group when the current process ends without having called `cut`."""

    def __init__(self, group: int) -> None:
        self._watcher = subprocess.Popen(
            [sys.executable, "-ISc", _WATCH, str(group)], stdin=subprocess.PIPE, text=True, start_new_session=True
        )

    def cut(self) -> None:
        """Let the group be: it has ended."""
        if self._watcher.poll() is None:
            self._watcher.communicate("ended")
