"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The README's examples in a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the README's command has written into."""
    command = next(block for block in blocks("sh") if "-m model trace" in block)
    words = shlex.split(command, comments=True)
    folder = tmp_path_factory.mktemp("readme")
    out = folder / words[-1]
    subprocess.run([sys.executable, *words[1:-1], str(out)], cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_an_example_runs(number: int, folder: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{blocks('python')[number]}"
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not done.stderr
