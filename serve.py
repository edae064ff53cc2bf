"""Serve Headlight: `python serve.py`, with any of Streamlit's options behind it (`--server.port=8600`).

The same as `streamlit run app.py`, but that nothing about this machine leaves it. Streamlit would tell every browser
the app's whole path, and would ask a web service for this machine's address when a page of another origin tries to
connect.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from streamlit import net_util
from streamlit.web import bootstrap, cli

APP = "app.py"
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # glibc's malloc.h


def main(options: list[str]) -> None:
    """Serve the app until it is told to stop."""
    give_memory_back()
    os.chdir(Path(__file__).parent)  # where the app's path is just its name, and .streamlit/config.toml is found
    run = bootstrap.run

    def run_by_name(path: str, *rest: Any) -> None:
        run(os.path.relpath(path), *rest)

    bootstrap.__dict__["run"] = run_by_name
    net_util.__dict__["get_external_ip"] = _unknown
    cli.main(args=["run", APP, *options], prog_name="headlight")


def give_memory_back() -> None:
    """Have glibc return what large arrays took as soon as they go; elsewhere the allocator stays as it is.

    By itself it keeps freed memory in a pool of each thread's, and Streamlit draws every page in a new thread. And have
    torch's kernels forget all but the latest lengths of text: they keep code of their own for each, a megabyte or so.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, 256 * 1024)
        mallopt(_ARENA_MAX, 2)


def _unknown() -> None:
    """This machine's address as others see it: no origin is allowed for having it."""


if __name__ == "__main__":
    main(sys.argv[1:])
