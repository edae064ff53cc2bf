"""Loads weights from a `.safetensors` file into a network and checks each tensor. Pickle is never read.

The file is memory-mapped: fp32 weights stay on disk until a pass reads them, and no second copy is made. Other float
formats are converted to fp32, since all arithmetic is fp32.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from gettext import gettext as _
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from model.errors import CheckpointError
from model.files.family import family_of
from model.files.tensors import Tensors
from model.network.network import Network
from model.network.sizes import Config

_DTYPES = {"F64", "F32", "F16", "BF16"}
# The published checkpoints contain the causal mask as buffers.
_BUFFERS = re.compile(r"h\.\d+\.attn\.(masked_)?bias$")
_PREFIX = "transformer."


def load_weights(path: Path, config: Config) -> Network:
    """The network of `config` with the weights in `path` (names and layout of the family's published checkpoints).

    Names may have the `transformer.` prefix. Tensors that the network does not have are ignored.

    Raises:
        CheckpointError: the file is missing, truncated or not safetensors; a tensor is missing, has another shape or
            number format, or values that are not finite. The message names the tensor, and what was expected and found.
    """
    try:
        with safe_open(path, framework="pt") as file:
            return assemble(_Safetensors(file, path.name), config)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            _(
                "{name} is not a complete .safetensors file ({error}). It may be truncated; download or copy it "
                "again. Other formats (pytorch_model.bin) are not read, since loading them can run foreign code."
            ).format(name=path.name, error=error)
        ) from error


def assemble(tensors: Tensors, config: Config) -> Network:
    """The network of `config` with weights from `tensors`, which have the family's published names.

    Raises:
        CheckpointError: a tensor is missing, has another shape, or values that are not finite.
    """
    family = family_of(config.kind)
    network = family.network(config)
    wanted = network.named_parameters()
    state = {name: _checked(tensors, family.published(name), tuple(weight.shape)) for name, weight in wanted}
    network.load_state_dict(state, assign=True)
    return network.eval().requires_grad_(False)


class _Safetensors(Tensors):
    """The tensors of a `.safetensors` file, without prefixes and buffers."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name
        self._names = {_plain(name): name for name in file.keys() if not _BUFFERS.search(name)}  # noqa: SIM118

    @property
    def names(self) -> Collection[str]:
        return self._names.keys()

    def source(self, name: str) -> str:
        return self._name

    def stored_as(self, name: str) -> str:
        return self._names[name]

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._file.get_slice(self._names[name]).get_shape())

    def read(self, name: str) -> Tensor:
        dtype = self._file.get_slice(self._names[name]).get_dtype()
        if dtype not in _DTYPES:
            raise CheckpointError(
                _("{file}: {tensor} holds {dtype} numbers; allowed are {dtypes}.").format(
                    file=self._name, tensor=self._names[name], dtype=dtype, dtypes=", ".join(sorted(_DTYPES))
                )
            )
        tensor: Tensor = self._file.get_tensor(self._names[name]).to(torch.float32)
        return tensor


def _plain(name: str) -> str:
    return name.removeprefix(_PREFIX)


def _checked(tensors: Tensors, name: str, shape: tuple[int, ...]) -> nn.Parameter:
    if name not in tensors.names:
        raise CheckpointError(
            _("{file} has no tensor {tensor}; this config.json asks for it, with the shape {shape}.").format(
                file=tensors.source(name), tensor=name, shape=shape
            )
        )
    file, found, stored_as = tensors.source(name), tensors.shape(name), tensors.stored_as(name)
    if found != shape:
        raise CheckpointError(
            _("{file}: {tensor} has the shape {found}; by config.json it must be {shape}.").format(
                file=file, tensor=stored_as, found=found, shape=shape
            )
        )
    tensor = tensors.read(name)
    # A finite sum proves that all numbers are finite; only otherwise is each looked at.
    if not tensor.sum().isfinite() and not (finite := tensor.isfinite()).all():
        where = tuple(int(i) for i in (~finite).nonzero()[0])
        raise CheckpointError(
            _("{file}: {tensor} holds {value} at {place}; it must be finite.").format(
                file=file, tensor=stored_as, value=float(tensor[where]), place=where
            )
        )
    return nn.Parameter(tensor, requires_grad=False)
