"""Projections in the layout of oneDNN's kernels: the same numbers, read from memory up to three times as fast.

The time of a short pass is the time to read the weights. PyTorch offers oneDNN's layout only through private names;
where these are missing, or a weight is not fp32 on the CPU, nothing is packed and the plain product is used. A packed
projection is a copy and takes as much memory as the weight itself.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

VARIABLE = "HEADLIGHT_PACK"
"""`on`, `off`, or `auto` (the default): pack where that takes at most a quarter of the free memory."""

_SHARE = 0.25
_FEWEST_ROWS = 4  # oneDNN is slower for fewer rows than for four, so fewer are padded with zeros
_MEMINFO, _CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


class PackedLinear:
    """`x @ weight.T + bias` for one weight, equal to the plain product; `serves` says whether it may be used."""

    def __init__(self, weight: Float[Tensor, "d_out d_in"], bias: Float[Tensor, " d_out"] | None, of: Tensor) -> None:
        """Pack `weight`, which is the parameter `of` or its transpose; once `of` changes, `serves` is False."""
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous())
        self._bias, self._of, self._state = bias, of, (of._version, of.data_ptr())
        self._d_out = weight.shape[0]

    def serves(self, x: Tensor, of: Tensor, bias: Tensor | None = None) -> bool:
        """Whether `x` is suitable, the parameters are those that were packed, and no gradient is needed."""
        return (
            of is self._of
            and (of._version, of.data_ptr()) == self._state
            and bias is self._bias
            and x.dtype is torch.float32
            and x.device.type == "cpu"
            and x.numel() > 0
            and not (torch.is_grad_enabled() and (x.requires_grad or of.requires_grad))
            and not torch.is_autocast_enabled("cpu")
        )

    def __deepcopy__(self, memo: dict[int, object]) -> PackedLinear:
        """Itself: it never changes, and it does not serve the parameters of a copied network, which are others."""
        return self

    def __call__(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        """The product; call it only where `serves` is True."""
        rows = x.reshape(-1, x.shape[-1])
        n_rows = len(rows)
        if n_rows < _FEWEST_ROWS:
            rows = F.pad(rows, (0, 0, 0, _FEWEST_ROWS - n_rows))
        out = torch.ops.mkldnn._linear_pointwise.default(rows, self._weight, self._bias, "none", [], "")
        return out[:n_rows].reshape(*x.shape[:-1], self._d_out)


def can_pack(weight: Tensor) -> bool:
    """Whether this PyTorch can pack, and whether the weight is fp32, on the CPU and needs no gradient."""
    return (
        weight.device.type == "cpu"
        and weight.dtype is torch.float32
        and not weight.requires_grad
        and not weight.is_inference()
        and torch.backends.mkldnn.is_available()
        and all(hasattr(torch.ops.mkldnn, name) for name in ("_reorder_linear_weight", "_linear_pointwise"))
    )


def wanted(n_bytes: int) -> bool:
    """Whether to pack weights of `n_bytes`, by `HEADLIGHT_PACK` and the memory that is free now.

    Where the free memory is unknown, `auto` means off. Any other value means `auto`.
    """
    setting = os.environ.get(VARIABLE, "auto").strip().lower()
    if setting in ("on", "off"):
        return setting == "on"
    free = free_memory()
    return free is not None and n_bytes <= _SHARE * free


def free_memory() -> int | None:
    """Bytes that can still be allocated, by the machine or by the container's lower limit; None: unknown."""
    try:
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
        free = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    try:
        limit, used = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return free if limit == "max" else max(0, min(free, int(limit) - int(used)))
    except (OSError, ValueError):  # no container limit is readable
        return free
