"""The command line: `python -m model`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from gettext import gettext as _
from gettext import ngettext
from pathlib import Path

from model.errors import HeadlightError, TextError
from model.files.checkpoint import EMBEDDED, load_model
from model.files.convert import convert
from model.trace.file import PARTS, USUAL_PARTS, contents_of, megabytes, save_trace
from model.trace.trace import run_trace

_TRACE = """\
Run a model over a text and write everything it computed into one .safetensors file.
Of a text longer than the model's context, the tokens that fit are traced.

Always in it: embed, pos_embed, resid_pre, q, k, v, z, attn_out, resid_mid, mlp_out, resid_post;
of models with rotary positions rot_q and rot_k in place of pos_embed.
Unless left out: attn_scores (before the mask), pattern, mlp_pre, mlp_post, logits; mlp_pre_linear
of models whose MLP has a gate.
If asked for: result, what each head alone adds to the residual stream.
All are fp32, by TransformerLens' names. The metadata holds, as JSON, the model's name, the token
ids, the tokens as they are shown, the layers, and the axes of each tensor."""
_READ = """\
to read it:
  from safetensors.numpy import load_file
  pattern = load_file("trace.safetensors")["pattern"]  # (layer, head, query, key)"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 on success, 1 after a one-line error message."""
    parser = argparse.ArgumentParser(prog="python -m model", description="GPT-2 with every step open to look at.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_trace(commands.add_parser(
        "trace",
        help="write what a model computes on a text into a .safetensors file",
        description=_TRACE,
        epilog=_READ,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ))  # fmt: skip
    to_convert = commands.add_parser(
        "convert",
        help="make a folder that opens of nanoGPT's ckpt.pt or of pytorch_model.bin",
        description="Read a checkpoint in PyTorch's format, tensors only, and write a folder that the app opens.",
    )
    to_convert.add_argument("file", type=Path, metavar="FILE", help="ckpt.pt, or pytorch_model.bin beside config.json")
    to_convert.add_argument("folder", type=Path, metavar="FOLDER", help="the folder to write; new or empty")
    given = parser.parse_args(arguments)
    try:
        if "file" in given:
            n_parameters = convert(given.file, given.folder)
            said = _("{n:,} parameters written into {folder}").format(n=n_parameters, folder=given.folder)
            sys.stderr.write(f"{said}\n")
        else:
            _trace(given)
    except HeadlightError as error:
        sys.stderr.write(f"python -m model: {' '.join(str(error).split())}\n")
        return 1
    return 0


def _add_trace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="the text; from standard input if it is -")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write; replaced if there")
    parser.add_argument(
        "--model",
        default=EMBEDDED,
        metavar="M",
        help="a folder, a .gguf file, a hub model that is on this computer (gpt2, ...), or %(default)s, the default",
    )
    parser.add_argument("--layers", type=_layers, metavar="L", help="only these layers, such as 0,3-5 (default: all)")
    for part in USUAL_PARTS:
        parser.add_argument(
            f"--no-{part}",
            dest="left_out",
            action="append_const",
            const=part,
            default=[],
            help=f"leave out {' and '.join(PARTS[part])}",
        )
    parser.add_argument("--result", action="store_true", help="also result: large, and z and the weights make it again")
    parser.add_argument(
        "--start-token",
        action=argparse.BooleanOptionalAction,
        help="put the model's start token in front of the text (default: where the model was trained with it)",
    )
    parser.add_argument("--special", action="store_true", help="read special tokens in the text, such as <|endoftext|>")


def _layers(text: str) -> list[int]:
    """`0,3-5` as the numbers it names."""
    layers: list[int] = []
    for part in text.split(","):
        if not (span := re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", part)):
            raise argparse.ArgumentTypeError(
                _("{given!r} is no list of layers; write for example 0,3-5").format(given=text)
            )
        first, last = int(span[1]), int(span[2] or span[1])
        if last < first:
            wrong = _("{given} runs backwards; write {last}-{first}").format(given=part.strip(), last=last, first=first)
            raise argparse.ArgumentTypeError(wrong)
        layers += range(first, last + 1)
    return layers


def _standard_input() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise TextError(
            _("The text on standard input is not {encoding}; convert it first.").format(encoding=error.encoding)
        ) from error


def _trace(given: argparse.Namespace) -> None:
    text = _standard_input() if given.text == "-" else given.text
    model = load_model(given.model)
    if given.start_token and model.tokenizer.start_id is None:
        raise TextError(_("{name} has no start token; leave --start-token out.").format(name=model.name))
    start = model.tokenizer.starts if given.start_token is None else given.start_token
    n_ctx, whole = model.config.n_ctx, model.tokenizer.encode(text, start_token=start, special=given.special)
    ids = whole[:n_ctx]
    if len(whole) > n_ctx:
        cut = _("The text has {n:,} tokens; {name} reads {n_ctx:,}: the first {n_ctx:,} are traced.")
        sys.stderr.write(f"{cut.format(n=len(whole), name=model.name, n_ctx=n_ctx)}\n")
    trace = run_trace(model.network, ids)
    parts = [part for part in USUAL_PARTS if part not in given.left_out] + ["result"] * given.result
    contents = contents_of(trace, layers=given.layers, parts=parts)
    save_trace(given.out, contents, model=model.name, tokens=model.tokenizer.tokens(ids))
    said = ngettext(
        "{name}, {n:,} token, {layers} of {n_layers} layers: {size} written into {file}",
        "{name}, {n:,} tokens, {layers} of {n_layers} layers: {size} written into {file}",
        len(ids),
    )
    size, n_layers = megabytes(contents.nbytes), model.config.n_layers
    said = said.format(
        name=model.name, n=len(ids), layers=len(contents.layers), n_layers=n_layers, size=size, file=given.out
    )
    sys.stderr.write(f"{said}\n")


if __name__ == "__main__":
    raise SystemExit(main())
