"""Loads weights from a `.safetensors` file into a network and checks each tensor. Pickle is never read.

The file is memory-mapped: fp32 weights stay on disk until a pass reads them, and no second copy is made. Other float
formats are converted to fp32, since all arithmetic is fp32.
"""

from __future__ import annotations

import re
from gettext import gettext as _
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from model.errors import CheckpointError
from model.files.family import family_of
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
    family = family_of(config.kind)
    network = family.network(config)
    wanted = {name: tuple(parameter.shape) for name, parameter in network.named_parameters()}
    try:
        with safe_open(path, framework="pt") as file:
            names = {_plain(name): name for name in file.keys() if not _BUFFERS.search(name)}  # noqa: SIM118
            state = {name: _checked(file, path, family.published(name), names, wanted[name]) for name in wanted}
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            _(
                "{name} is not a complete .safetensors file ({error}). It may be truncated; download or copy it "
                "again. Other formats (pytorch_model.bin) are not read, since loading them can run foreign code."
            ).format(name=path.name, error=error)
        ) from error
    network.load_state_dict(state, assign=True)
    return network.eval().requires_grad_(False)


def _plain(name: str) -> str:
    return name.removeprefix(_PREFIX)


def _checked(file: Any, path: Path, name: str, names: dict[str, str], shape: tuple[int, ...]) -> nn.Parameter:
    if name not in names:
        raise CheckpointError(
            _("{file} has no tensor {tensor}; this config.json asks for it, with the shape {shape}.").format(
                file=path.name, tensor=name, shape=shape
            )
        )
    stored = file.get_slice(names[name])
    if tuple(stored.get_shape()) != shape:
        raise CheckpointError(
            _("{file}: {tensor} has the shape {found}; by config.json it must be {shape}.").format(
                file=path.name, tensor=names[name], found=tuple(stored.get_shape()), shape=shape
            )
        )
    if stored.get_dtype() not in _DTYPES:
        raise CheckpointError(
            _("{file}: {tensor} holds {dtype} numbers; allowed are {dtypes}.").format(
                file=path.name, tensor=names[name], dtype=stored.get_dtype(), dtypes=", ".join(sorted(_DTYPES))
            )
        )
    tensor: Tensor = file.get_tensor(names[name]).to(torch.float32)
    # A finite sum proves that all numbers are finite; only otherwise is each looked at.
    if not tensor.sum().isfinite() and not (finite := tensor.isfinite()).all():
        where = tuple(int(i) for i in (~finite).nonzero()[0])
        raise CheckpointError(
            _("{file}: {tensor} holds {value} at {place}; it must be finite.").format(
                file=path.name, tensor=names[name], value=float(tensor[where]), place=where
            )
        )
    return nn.Parameter(tensor, requires_grad=False)
