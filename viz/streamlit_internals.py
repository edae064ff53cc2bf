"""The private parts of Streamlit that Headlight touches, and all of them.

Each was read in Streamlit 1.67.0 and may be gone in another version; `tests/viz/test_streamlit_internals.py` fails
then.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import streamlit as st
from streamlit import net_util
from streamlit.components.v1 import declare_component
from streamlit.runtime.scriptrunner import get_script_run_ctx, script_runner
from streamlit.web import bootstrap, cli

READ_IN = "1.67.0"


def serve(app: str, options: list[str]) -> None:
    """Serve the app at the path `app` as `streamlit run` does, but so that nothing about this machine leaves it.

    `bootstrap.run` gets the app's absolute path, which Streamlit tells every browser: here it is the relative one.
    `net_util.get_external_ip` asks a web service for this machine's address when a page of another origin tries to
    connect: here no origin is allowed for having it.
    """
    run = bootstrap.run

    def run_by_name(path: str, *rest: Any) -> None:
        run(os.path.relpath(path), *rest)

    bootstrap.__dict__["run"] = run_by_name
    net_util.__dict__["get_external_ip"] = lambda: None
    cli.main(args=["run", app, *options], prog_name="headlight")


def led_by_history() -> bool:
    """Whether the browser's Back or Forward has led to the page that is being drawn."""
    run = get_script_run_ctx()
    return run is not None and run.is_history_navigation


def answer_collections(collect: Callable[[int], int]) -> None:
    """Have `collect` asked wherever Streamlit collects garbage, which it does after every run of a script."""
    vars(script_runner)["gc"] = SimpleNamespace(collect=collect)


def serve_folder(name: str, folder: Path) -> Callable[[str], str]:
    """Have Streamlit serve a folder's files; what is returned gives the address of one of them.

    Streamlit serves the folders of components of its first kind. No component is drawn.
    """
    served = declare_component(name, path=folder)

    def address(file: str) -> str:
        base = str(st.get_option("server.baseUrlPath") or "").strip("/")
        return f"{'/' + base if base else ''}/component/{served.name}/{file}"

    return address
