"""A whole trace in one `.safetensors` file, which any tool of that format reads.

Tensors have TransformerLens' names and lie in fp32 with the axes that `AXES` names; `layer` counts the layers that were
asked for. The rest stands in the file's metadata, each value as JSON: `model`, `ids`, `tokens` (as they are shown),
`layers`, `axes`, and `changes` if the pass was a changed one. The file is written piece by piece, so it may be larger
than memory.

The format: a length (8 bytes, little-endian), that many bytes of JSON, then the numbers without gaps.
Source: the specification of safetensors 0.8 (huggingface/safetensors).
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from gettext import gettext as _
from io import BufferedIOBase
from itertools import product, starmap
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from model.errors import HeadlightError, SelectionError
from model.text.tokenizer import Token
from model.trace.trace import Trace

_RESID, _HEADS, _MLP = ("layer", "pos", "d_model"), ("layer", "head", "pos", "d_head"), ("layer", "pos", "d_mlp")
_PAIRS, _GROUPS = ("layer", "head", "query", "key"), ("layer", "kv_head", "pos", "d_head")
AXES: dict[str, tuple[str, ...]] = {
    "embed": ("pos", "d_model"),
    "pos_embed": ("pos", "d_model"),
    "resid_pre": _RESID,
    "q": _HEADS,
    "k": _GROUPS,
    "v": _GROUPS,
    "rot_q": _HEADS,
    "rot_k": _GROUPS,
    "attn_scores": _PAIRS,
    "pattern": _PAIRS,
    "z": _HEADS,
    "result": ("layer", "head", "pos", "d_model"),
    "attn_out": _RESID,
    "resid_mid": _RESID,
    "mlp_pre": _MLP,
    "mlp_pre_linear": _MLP,
    "mlp_post": _MLP,
    "mlp_out": _RESID,
    "resid_post": _RESID,
    "logits": ("pos", "d_vocab"),
}
"""Every tensor that a file can hold, in the order of computation, with its axes. `attn_scores` are before the mask.

`pos_embed` is there where positions are embedded, `rot_q` and `rot_k` where they turn queries and keys,
`mlp_pre_linear` where the MLP has a gate; `kv_head` counts the heads that groups of query heads share."""
PARTS = {
    "patterns": ("attn_scores", "pattern"),
    "mlp": ("mlp_pre", "mlp_pre_linear", "mlp_post"),
    "logits": ("logits",),
    "result": ("result",),
}
"""The large tensors, which can be left out, by the name of the option."""
USUAL_PARTS = ("patterns", "mlp", "logits")
"""All but `result`, which is `z` times rows of a weight matrix, and with many heads the largest of all."""


class TraceFileError(HeadlightError):
    """A trace file that cannot be written, or a file that is not a trace."""


@dataclass(frozen=True)
class Contents:
    """What a file of `trace` will hold: these `layers` and, beside what every file holds, these `parts` of `PARTS`.

    Raises:
        SelectionError: no layer, one that the model does not have or one twice; a part with an unknown name.
    """

    trace: Trace
    layers: tuple[int, ...]
    parts: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.layers or len(set(self.layers)) < len(self.layers):
            raise SelectionError(_("Name at least one of the model's layers, and each only once."))
        for layer in self.layers:
            self.trace.network.block(layer)
        if unknown := [part for part in self.parts if part not in PARTS]:
            raise SelectionError(
                _("A trace file has no part {part!r}; its parts are {parts}.").format(
                    part=unknown[0], parts=", ".join(PARTS)
                )
            )

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The tensors, each with its shape."""
        config = self.trace.network.config
        sizes = {name: getattr(config, name) for name in ("d_model", "d_head", "d_mlp", "d_vocab")}
        sizes |= dict.fromkeys(("pos", "query", "key"), self.trace.n_pos)
        sizes |= {"layer": len(self.layers), "head": config.n_heads, "kv_head": config.n_kv_heads}
        left_out = {name for part, names in PARTS.items() if part not in self.parts for name in names}
        left_out |= {"pos_embed"} if config.rotary else {"rot_q", "rot_k"}
        left_out |= set() if config.gated else {"mlp_pre_linear"}
        return {name: tuple(sizes[axis] for axis in axes) for name, axes in AXES.items() if name not in left_out}

    @property
    def nbytes(self) -> int:
        """Bytes of the tensors; the file is a few kilobytes larger."""
        return sum(4 * math.prod(shape) for shape in self.shapes.values())


def contents_of(trace: Trace, *, layers: Sequence[int] | None = None, parts: Sequence[str] = USUAL_PARTS) -> Contents:
    """What a file of `trace` will hold, by default all layers.

    Raises: as `Contents`.
    """
    every = range(trace.network.config.n_layers) if layers is None else layers
    return Contents(trace, tuple(every), tuple(parts))


def save_trace(path: Path | str, contents: Contents, *, model: str, tokens: Sequence[Token]) -> int:
    """Write the file and return its size in bytes. An existing file is replaced once the new one is complete.

    `model` and `tokens` go into the metadata: the model's name, and the tokens as they are shown.

    Raises:
        TraceFileError: the folder does not exist or may not be written to, or the disk is full.
    """
    path = Path(path)
    if path.is_dir():
        raise TraceFileError(_("{path} is a folder; name a file.").format(path=path))
    partial = path.with_name(f"{path.name}.partial")
    try:
        free = shutil.disk_usage(path.parent).free
        if free < contents.nbytes:
            raise TraceFileError(
                _(
                    "{path} needs {size}; {folder} has {free} left. Leave parts or layers out, or choose another "
                    "folder."
                ).format(path=path, size=megabytes(contents.nbytes), folder=path.parent, free=megabytes(free))
            )
        with partial.open("wb") as file:
            write_trace(file, contents, model=model, tokens=tokens)
        os.replace(partial, path)
        return path.stat().st_size
    except OSError as error:
        raise TraceFileError(
            _("{path} cannot be written: {error}.").format(path=path, error=error.strerror or error)
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def write_trace(
    file: BufferedIOBase,
    contents: Contents,
    *,
    model: str,
    tokens: Sequence[Token],
    between: Callable[[], object] = lambda: None,
) -> None:
    """Write the file's bytes, computing one layer's (or head's) share at a time.

    `between` is called after each share, to let others use the model.
    """
    header: dict[str, Any] = {"__metadata__": _metadata(contents, model, tokens)}
    start = 0
    for name, shape in contents.shapes.items():
        end = start + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # aligns the numbers, so that a mapped file needs no copy
    file.write(len(text).to_bytes(8, "little") + text)
    for name in contents.shapes:
        for array in _arrays(name, contents):
            file.write(np.ascontiguousarray(array, "<f4").data)
            between()


def read_trace(path: Path | str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The tensors of a file by their names, and its metadata.

    Raises:
        TraceFileError: there is no such file, it is damaged, or it is no trace.
    """
    try:
        with safe_open(path, framework="np") as file:
            metadata = {name: json.loads(value) for name, value in (file.metadata() or {}).items() if name != "format"}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise TraceFileError(
            _("{path} cannot be read as a trace file: {error}.").format(path=path, error=error)
        ) from error
    if missing := {"model", "ids", "tokens", "layers", "axes"} - set(metadata):
        raise TraceFileError(
            _("{path} is not a trace file: its metadata lacks {missing}.").format(
                path=path, missing=", ".join(sorted(missing))
            )
        )
    return arrays, metadata


def megabytes(nbytes: int) -> str:
    """A size as text, such as `3.2 MB`; below 1 MB with two decimals."""
    size = nbytes / 1e6
    return f"{size:,.0f} MB" if size >= 99.5 else f"{size:.1f} MB" if size >= 0.95 else f"{max(size, 0.01):.2f} MB"


def _metadata(contents: Contents, model: str, tokens: Sequence[Token]) -> dict[str, str]:
    said = {
        "model": model,
        "ids": list(contents.trace.ids),
        "tokens": [token.label for token in tokens],
        "layers": list(contents.layers),
        "axes": {name: list(AXES[name]) for name in contents.shapes},
    }
    if changes := contents.trace.changes:  # then these are not the numbers of the model as it is
        said["changes"] = asdict(changes)
    return {"format": "pt", **{name: json.dumps(value, ensure_ascii=False) for name, value in said.items()}}


def _arrays(name: str, contents: Contents) -> Iterator[np.ndarray]:
    """The pieces of a tensor in the order in which they lie in the file."""
    trace, axes = contents.trace, AXES[name]
    source: np.ndarray | Callable[..., np.ndarray] = getattr(trace, name)
    if isinstance(source, np.ndarray):
        yield from (source[layer] for layer in contents.layers) if "layer" in axes else [source]
    elif "layer" not in axes:  # the logits
        yield from map(source, range(trace.n_pos))
    elif "head" in axes:
        yield from starmap(source, product(contents.layers, range(trace.network.config.n_heads)))
    else:
        yield from map(source, contents.layers)
