"""Take it with you: everything that the model computed on the text, in one file."""

from __future__ import annotations

import io
import shlex
from functools import partial

import streamlit as st

from model.trace.file import PARTS, USUAL_PARTS, Contents, contents_of, megabytes, write_trace
from model.trace.turns import ANYONE, Turns
from viz.figures.export import file_name
from viz.shell.say import remark, say
from viz.state.shared import turns
from viz.state.view import View
from viz.text.catalogue import N_, _
from viz.text.markdown import as_text

MOST_BYTES = 100_000_000
"""A larger file is not offered for download, since it would be held in this app's memory."""
_LONGEST_TEXT = 300  # characters of a text that is written into the command
_PART_NAMES = {
    "patterns": N_("Scores and weights, {size}"),
    "mlp": N_("MLP, hidden values, {size}"),
    "logits": N_("Logits, {size}"),
    "result": N_("Each head's result, {size}"),
}


@st.fragment
def take_away(view: View) -> None:
    """A small menu that offers the trace of the view's text as a file, made only when asked for, with its size."""
    menu = st.popover(
        _("Take it with you"), icon=":material/download:", type="tertiary", key="take_away", on_change="rerun"
    )
    if menu.open:
        with menu:
            _trace_menu(view)


def _trace_menu(view: View) -> None:
    say(
        "**The whole trace of this text in one file**: embeddings, residual stream, q, k, v and z of every head, "
        "what attention and MLP add, by TransformerLens’ names, as fp32 in `.safetensors`."
    )
    trace = view.trace
    without = contents_of(trace, parts=()).nbytes

    def named(part: str) -> str:
        return _(_PART_NAMES[part], size=megabytes(contents_of(trace, parts=[part]).nbytes - without))

    parts = st.pills(
        _("Large parts"),
        list(PARTS),
        selection_mode="multi",
        default=list(USUAL_PARTS),
        format_func=named,
        key="trace_parts",
        persist_state="session",
    )
    contents = contents_of(trace, parts=parts)
    size = megabytes(contents.nbytes)
    if contents.nbytes <= MOST_BYTES:
        name = file_name("trace", [view.model.name.removeprefix("headlight-")])
        st.download_button(
            _("Trace, {size}", size=size),
            data=partial(_file, contents, view, turns()),
            file_name=f"{name}.safetensors",
            mime="application/octet-stream",
            icon=":material/download:",
            key="trace_file",
            on_click="ignore",
        )
        remark("Or, in Headlight’s folder, with a command:")
    else:
        st.warning(
            _(
                "{size} in all: more than the {most} that can be downloaded here. Leave parts out, or write the file "
                "with this command in Headlight’s folder:",
                size=size,
                most=megabytes(MOST_BYTES),
            )
        )
    st.code(command(view, parts), language="sh", wrap_lines=True)
    if view.model.source in ("folder", "file"):
        remark("{model} stands for the path of the model’s folder or file.", model=as_text(view.model.name))


def command(view: View, parts: list[str]) -> str:
    """The command that writes the same file. It has a folder's name only: its path must not leave this machine."""
    long = len(view.focus.text) > _LONGEST_TEXT
    words = [".venv/bin/python", "-m", "model", "trace", "-" if long else view.focus.text, "--model", view.model.name]
    words += [f"--no-{part}" for part in USUAL_PARTS if part not in parts]
    words += [f"--{part}" for part in PARTS if part in parts and part not in USUAL_PARTS]
    if view.start_token != view.model.tokenizer.starts:
        words += ["--start-token" if view.start_token else "--no-start-token"]
    words += ["--special"] if view.focus.special else []
    words += ["--out", "trace.safetensors"]
    return shlex.join(words) + (" < text.txt" if long else "")


def _file(contents: Contents, view: View, queue: Turns) -> bytes:
    file = io.BytesIO()
    with queue.turn(ANYONE) as turn:
        between = partial(queue.give_way, turn)
        write_trace(file, contents, model=view.model.name, tokens=view.tokens, between=between)
    return file.getvalue()
