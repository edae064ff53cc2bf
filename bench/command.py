"""What the benches' command lines share: options, the file they write, and measurements in processes of their own."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.clock import RUNS


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """A parser with `--out` and `--runs`, described by the first line of a module's docstring."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--runs", type=int, default=RUNS)
    return parser


def write(out: Path | None, found: dict[str, Any]) -> None:
    """Write the figures as JSON where a file is named."""
    if out:
        out.write_text(json.dumps(found, indent=1) + "\n")


def child(module: str, *arguments: object, **environment: str) -> Any:
    """Run a bench in a process of its own; the JSON on its last line of output."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[2:])} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
