"""What is installed is what was chosen: every pin stands in a lock, and every file in a lock has its sum."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOCKED = ("requirements.txt", "requirements-dev.txt")


def pins(text: str) -> dict[str, set[str]]:
    """The versions of each package; a lock may have two of one, for two versions of Python."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE):
        found.setdefault(re.sub(r"[_.]", "-", name.lower()), set()).add(version)
    return found


@pytest.mark.parametrize("file", LOCKED)
def test_every_pin_stands_in_the_lock(file: str) -> None:
    asked = pins((ROOT / file).read_text("utf-8"))
    locked = pins((ROOT / file).with_suffix(".lock").read_text("utf-8"))
    asked.pop("torch", None)  # its CPU-only wheels are other files than those of the same version elsewhere
    assert {name: locked.get(name) for name in asked} == asked, "run `make lock`"


@pytest.mark.parametrize("file", LOCKED)
def test_every_file_in_a_lock_has_its_sum(file: str) -> None:
    text = (ROOT / file).with_suffix(".lock").read_text("utf-8")
    entries = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(entries) > 50
    assert [entry.split()[0] for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []


def test_what_is_locked_has_a_known_licence() -> None:
    told = (ROOT / "THIRD_PARTY.md").read_text("utf-8")
    not_here = {"colorama", "httpx2-jsfetch"}  # for Windows and for browsers; Headlight is for neither
    packages = pins((ROOT / "requirements.lock").read_text("utf-8")).keys() - not_here
    assert [name for name in packages if not re.search(rf"\b{re.escape(name)}\b", told)] == []
