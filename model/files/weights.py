"""Puts the tensors of a checkpoint into a network and checks each. Pickle is never read."""

from __future__ import annotations

from dataclasses import replace
from gettext import gettext as _
from gettext import ngettext
from typing import Any, cast

import torch
from torch import Tensor, nn

from model.errors import CheckpointError, MemoryShortError
from model.files.family import family_of
from model.files.tensors import Tensors
from model.network import packed
from model.network.network import Network
from model.network.sizes import Config

_NAMED = 3
_HEAD, _EMBEDDING = "lm_head.weight", "wte.weight"


def assemble(tensors: Tensors, config: Config) -> tuple[Network, tuple[str, ...]]:
    """The network of `config` with weights from `tensors`, and sentences on what was assumed or left aside.

    A tied model may be stored by either of the two names of its embedding. If it has both and they differ, both are
    used, as in `transformers`. GPT-2 without any bias (nanoGPT's default) gets biases of 0.

    Raises:
        CheckpointError: a tensor is missing, has another shape, or values that are not finite. The message names it,
            and what was expected and found.
        MemoryShortError: the network would take more memory than is free.
    """
    family, notes = family_of(config.kind), list[str]()
    config, note = _tie(tensors, config)
    notes += note
    network = family.network(config)
    wanted = {name: tuple(parameter.shape) for name, parameter in network.named_parameters()}
    places = {name: family.published(name) for name in wanted}
    if config.tied and places[_EMBEDDING] not in tensors.names and _HEAD in tensors.names:
        places[_EMBEDDING] = _HEAD
    biases = {name for name in wanted if name.endswith(".bias")} if family.may_lack_biases else set()
    if biases and not any(places[name] in tensors.names for name in biases):
        notes.append(_("The file has no biases: they are 0."))
    else:
        biases = set()
    for name in (name for name in wanted if name not in biases):
        _check_shape(tensors, places[name], wanted[name])
    check_memory(sum(parameter.numel() for parameter in network.parameters()))
    state = {
        name: nn.Parameter(
            torch.zeros(shape) if name in biases else _read_finite(tensors, places[name]), requires_grad=False
        )
        for name, shape in wanted.items()
    }
    network.load_state_dict(state, assign=True)
    if unused := sorted(set(tensors.names) - set(places.values()) - ({_HEAD} if config.tied else set())):
        shown = ", ".join(unused[:_NAMED]) + (", …" if len(unused) > _NAMED else "")
        notes.append(
            ngettext(
                "{n:,} tensor of the file has no place in the network and is left aside: {names}.",
                "{n:,} tensors of the file have no place in the network and are left aside: {names}.",
                len(unused),
            ).format(n=len(unused), names=shown)
        )
    return network.eval().requires_grad_(False), tuple(notes)


def check_memory(n_parameters: int) -> None:
    """Raise unless a network of so many parameters fits into the free memory, where that is known.

    Raises:
        MemoryShortError: it does not.
    """
    needed, free = 4 * n_parameters, packed.free_memory()
    if free is not None and needed > free:
        raise MemoryShortError(
            _(
                "This model has {n:,} parameters and would take {needed:,.1f} GB of memory; {free:,.1f} GB are free. "
                "Close other programs, or open a smaller model."
            ).format(n=n_parameters, needed=needed / 1e9, free=free / 1e9)
        )


def _tie(tensors: Tensors, config: Config) -> tuple[Config, list[str]]:
    """`config` as the file has it: a tied model whose output embedding differs from its input embedding is not tied."""
    embedding = family_of(config.kind).published(_EMBEDDING)
    if not config.tied or not {_HEAD, embedding} <= set(tensors.names):
        return config, []
    shapes = {tensors.shape(name) for name in (_HEAD, embedding)}
    if len(shapes) > 1 or torch.equal(tensors.read(_HEAD), tensors.read(embedding)):
        return config, []
    untied = cast(Config, replace(cast(Any, config), tied=False))
    said = _(
        "config.json says that input and output embedding are one (tie_word_embeddings), but the file has an "
        "lm_head.weight of its own: it is used."
    )
    return untied, [said]


def _check_shape(tensors: Tensors, name: str, shape: tuple[int, ...]) -> None:
    if name not in tensors.names:
        raise CheckpointError(
            _("{file} has no tensor {tensor}; this config.json asks for it, with the shape {shape}.").format(
                file=tensors.source(name), tensor=name, shape=shape
            )
        )
    if (found := tensors.shape(name)) != shape:
        raise CheckpointError(
            _("{file}: {tensor} has the shape {found}; by config.json it must be {shape}.").format(
                file=tensors.source(name), tensor=tensors.stored_as(name), found=found, shape=shape
            )
        )


def _read_finite(tensors: Tensors, name: str) -> Tensor:
    tensor = tensors.read(name)
    # A finite sum proves that all numbers are finite; only otherwise is each looked at.
    if not tensor.sum().isfinite() and not (finite := tensor.isfinite()).all():
        where = tuple(int(i) for i in (~finite).nonzero()[0])
        raise CheckpointError(
            _("{file}: {tensor} holds {value} at {place}; it must be finite.").format(
                file=tensors.source(name), tensor=tensors.stored_as(name), value=float(tensor[where]), place=where
            )
        )
    return tensor
