"""The header of a `.gguf` file: its metadata, and where each tensor lies.

It is read here and not by `gguf.GGUFReader`: that one maps the file into memory (a file that is cut meanwhile ends the
whole process), believes every length it finds, and takes seconds for a large vocabulary. Here nothing is mapped, and no
length is believed that the file cannot hold. Source: the GGUF specification (ggml, docs/gguf.md), versions 2 and 3.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from gettext import gettext as _
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from model.errors import CheckpointError

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_FLOAT, _BOOL, _STRING, _ARRAY = 6, 7, 8, 9
_MOST_DIMENSIONS = 4


@dataclass(frozen=True)
class StoredTensor:
    """A tensor as it lies in the file, from `offset` on; `kind` is ggml's number of its format."""

    shape: tuple[int, ...]
    kind: int
    offset: int


@dataclass(frozen=True)
class Header:
    """`metadata` by the names of the specification; `tensors` by llama.cpp's names; `size` of the file in bytes."""

    metadata: Mapping[str, Any]
    tensors: Mapping[str, StoredTensor]
    size: int


def read_header(path: Path) -> Header:
    """Read the header of `path`.

    Raises:
        CheckpointError: it cannot be read, is no GGUF file, of another version, cut or damaged.
    """
    try:
        with path.open("rb") as file:
            return _Reader(file, path.name).header()
    except OSError as error:
        raise CheckpointError(
            _("{name} cannot be read ({reason}).").format(name=path.name, reason=error.strerror)
        ) from error


def cut(name: str) -> CheckpointError:
    """The error for a file that is shorter than its header says."""
    return CheckpointError(
        _(
            "{name} is not complete: it ends before the data that its header promises. Download or copy it again."
        ).format(name=name)
    )


class _Reader:
    """Takes one value after the other; `left` is how many bytes there are still."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        self._size = self._left = os.fstat(file.fileno()).st_size

    def header(self) -> Header:
        magic = self._file.read(len(_MAGIC))
        self._left -= len(magic)
        if magic != _MAGIC:
            raise CheckpointError(
                _("{name} is not a GGUF file: it does not start with the letters GGUF.").format(name=self._name)
            )
        if (version := self._number("I")) not in _VERSIONS:
            raise CheckpointError(
                _("{name} is of GGUF version {version}; read are versions {versions}, in little-endian order.").format(
                    name=self._name, version=version, versions=_(" and ").join(map(str, _VERSIONS))
                )
            )
        n_tensors, n_values = self._number("Q"), self._number("Q")
        metadata = {}
        for _each in range(n_values):
            key = self._text()
            metadata[key] = self._value(self._number("I"))
        found = {self._text(): self._tensor() for _each in range(n_tensors)}
        alignment = metadata.get("general.alignment", 32)
        if type(alignment) is not int or alignment < 1 or len(found) != n_tensors:
            raise self._damaged()
        start = math.ceil((self._size - self._left) / alignment) * alignment
        tensors = {name: StoredTensor(shape, kind, start + offset) for name, (shape, kind, offset) in found.items()}
        return Header(metadata, tensors, self._size)

    def _take(self, n: int) -> bytes:
        self._left -= n
        taken = self._file.read(n) if self._left >= 0 else b""
        if len(taken) < n:
            raise cut(self._name)
        return taken

    def _number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self._take(struct.calcsize(f"<{code}")))[0]

    def _text(self) -> str:
        try:
            return self._take(int.from_bytes(self._take(8), "little")).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._damaged() from error

    def _value(self, kind: int) -> Any:
        if kind == _FLOAT:  # the decimal number that was written: 1e-05, not 9.999999747378752e-06
            return float(str(np.float32(self._number("f"))))
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind == _STRING:
            return self._text()
        if kind != _ARRAY:
            raise self._damaged()
        kind, length = self._number("I"), self._number("Q")
        if kind == _STRING:
            return [self._text() for _each in range(length)]
        if kind not in _NUMBERS:  # an array of arrays is in no file of the supported architectures
            raise self._damaged()
        numbers = np.dtype(f"<{_NUMBERS[kind]}" if kind != _BOOL else np.bool_)
        return np.frombuffer(self._take(length * numbers.itemsize), numbers).tolist()

    def _tensor(self) -> tuple[tuple[int, ...], int, int]:
        n_dimensions = self._number("I")
        if n_dimensions > _MOST_DIMENSIONS:
            raise self._damaged()
        shape = tuple(reversed([self._number("Q") for _each in range(n_dimensions)]))  # the fastest stands first there
        return shape, self._number("I"), self._number("Q")

    def _damaged(self) -> CheckpointError:
        return CheckpointError(
            _("{name} is damaged: its header makes no sense near byte {place:,}. Download or copy it again.").format(
                name=self._name, place=self._size - self._left
            )
        )
