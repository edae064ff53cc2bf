"""Tensors of `.safetensors` files, one or several with an index, read into private memory.

Nothing of a file stays mapped: a file that is cut short or overwritten while the app runs changes nothing, and cannot
end the process (a page of a mapping that is gone is a SIGBUS).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from gettext import gettext as _
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from model.errors import CheckpointError
from model.files.tensors import Tensors

WEIGHTS_FILE, INDEX_FILE = "model.safetensors", "model.safetensors.index.json"
_DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
# What wrappers of a network put before its names when it is saved.
_PREFIXES = re.compile(r"^(?:(?:transformer|module|_orig_mod)\.)+")
# The published checkpoints contain the causal mask as buffers, and rotary frequencies.
_BUFFERS = re.compile(r"(h\.\d+\.attn\.(masked_)?bias|rotary_emb\.inv_freq)$")


class SafetensorsFiles(Tensors):
    """The tensors of these files together, without the prefixes that wrappers add, and without buffers.

    Raises:
        CheckpointError: a file is damaged, or two tensors have the same name but for a prefix.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._where: dict[str, tuple[Path, str, dict[str, Any], int]] = {}
        self._first = ""
        for file in files:
            self._first = self._first or file.name
            header, start = _header(file)
            for stored, entry in header.items():
                if _BUFFERS.search(stored):
                    continue
                name = _PREFIXES.sub("", stored)
                if name in self._where:
                    raise CheckpointError(
                        _("{file} has {tensor} twice, as {one} and as {other}; keep one of them.").format(
                            file=file.name, tensor=name, one=self._where[name][1], other=stored
                        )
                    )
                self._where[name] = (file, stored, entry, start)

    @property
    def names(self) -> Collection[str]:
        return self._where.keys()

    def source(self, name: str) -> str:
        return self._where[name][0].name if name in self._where else self._first

    def stored_as(self, name: str) -> str:
        return self._where[name][1]

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._where[name][2]["shape"])

    def read(self, name: str) -> Tensor:
        """The tensor in fp32, in memory of its own.

        Raises:
            CheckpointError: its numbers are of another kind, or the file has become shorter.
        """
        file, stored, entry, start = self._where[name]
        if entry["dtype"] not in _DTYPES:
            raise CheckpointError(
                _("{file}: {tensor} holds {dtype} numbers; allowed are {dtypes}.").format(
                    file=file.name, tensor=stored, dtype=entry["dtype"], dtypes=", ".join(sorted(_DTYPES))
                )
            )
        first, last = entry["data_offsets"]
        numbers = torch.empty(last - first, dtype=torch.uint8)
        try:
            with file.open("rb") as opened:
                opened.seek(start + first)
                n_read = opened.readinto(numbers.numpy().data)
        except OSError as error:
            raise _incomplete(file, error) from error
        if n_read < len(numbers):
            raise _incomplete(file, EOFError(_("it ends within {tensor}").format(tensor=stored)))
        return numbers.view(_DTYPES[entry["dtype"]]).reshape(entry["shape"]).to(torch.float32)


def open_folder(folder: Path) -> SafetensorsFiles:
    """The tensors of a model folder: `model.safetensors`, or the shards that `model.safetensors.index.json` names.

    Raises:
        CheckpointError: there are none, a shard is missing or damaged, or a tensor is not where the index says.
    """
    if (folder / WEIGHTS_FILE).is_file():
        return SafetensorsFiles([folder / WEIGHTS_FILE])
    if (folder / INDEX_FILE).is_file():
        return _open_shards(folder)
    others = [path.name for path in sorted(folder.glob("*.bin")) + sorted(folder.glob("*.pt"))]
    if others:
        raise CheckpointError(
            _(
                "{folder} has no {file}; {other} is not read, since that can run foreign code. "
                "`python -m model convert` makes a folder of it that is."
            ).format(folder=folder.name, file=WEIGHTS_FILE, other=others[0])
        )
    raise CheckpointError(_("{folder} has no {file}.").format(folder=folder.name, file=WEIGHTS_FILE))


def read_index(folder: Path) -> dict[str, str]:
    """The shard of each tensor, as the index says.

    Raises:
        CheckpointError: the index is damaged.
    """
    try:
        weight_map = json.loads((folder / INDEX_FILE).read_text("utf-8"))["weight_map"]
        found = {str(name): str(shard) for name, shard in weight_map.items()}
        if not found or any(Path(shard).name != shard for shard in found.values()):
            raise ValueError(_("it must name a file of this folder for each tensor"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(
            _("{file} of {folder} cannot be read ({error!r}).").format(file=INDEX_FILE, folder=folder.name, error=error)
        ) from error
    return found


def _open_shards(folder: Path) -> SafetensorsFiles:
    weight_map = read_index(folder)
    shards = sorted(set(weight_map.values()))
    if missing := [shard for shard in shards if not (folder / shard).is_file()]:
        raise CheckpointError(
            _("{folder} lacks {shard}, one of {n} files that {index} names; download or copy it too.").format(
                folder=folder.name, shard=missing[0], n=len(shards), index=INDEX_FILE
            )
        )
    tensors = SafetensorsFiles(folder / shard for shard in shards)
    for name, shard in weight_map.items():
        plain = _PREFIXES.sub("", name)
        if not _BUFFERS.search(name) and (plain not in tensors.names or tensors.source(plain) != shard):
            raise CheckpointError(
                _(
                    "{shard} has no tensor {tensor}, which {index} says it has; the files do not belong together."
                ).format(shard=shard, tensor=name, index=INDEX_FILE)
            )
    return tensors


def _header(file: Path) -> tuple[dict[str, dict[str, Any]], int]:
    """What each tensor is and where it lies, and where the numbers begin; checked by the library of the format."""
    try:
        with safe_open(file, framework="pt"):
            pass  # opening checks sizes, offsets and kinds
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            header = json.loads(opened.read(size))
    except (SafetensorError, OSError, ValueError, RecursionError) as error:
        raise _incomplete(file, error) from error
    header.pop("__metadata__", None)
    return header, 8 + size


def _incomplete(file: Path, error: Exception) -> CheckpointError:
    return CheckpointError(
        _(
            "{name} is not a complete .safetensors file ({error}). It may be truncated; download or copy it "
            "again. Other formats (pytorch_model.bin) are not read, since loading them can run foreign code."
        ).format(name=file.name, error=error)
    )
