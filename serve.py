"""Serve Headlight: `python serve.py`, followed by any of Streamlit's options (`--server.port=8600`).

The same as `streamlit run app.py`, except that it sends nothing about this machine anywhere, and returns freed memory
to the system.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

from viz.streamlit_internals import serve

APP = "app.py"
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # glibc's malloc.h


def main(options: list[str]) -> None:
    """Serve the app until it is told to stop."""
    give_memory_back()
    os.chdir(Path(__file__).parent)  # here Streamlit finds app.py and .streamlit/config.toml
    serve(APP, options)


def give_memory_back() -> None:
    """Have glibc return the memory of large arrays as soon as they are freed; other allocators are left alone.

    By default glibc keeps freed memory in a pool for each thread, and Streamlit draws every page in a new thread. Also
    limit torch's kernels to the most recent text lengths: they keep compiled code for each, about a megabyte.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, 256 * 1024)
        mallopt(_ARENA_MAX, 2)


if __name__ == "__main__":
    main(sys.argv[1:])
