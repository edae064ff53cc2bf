"""The models that a running app offers, a few of them in memory."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from gettext import gettext as _
from pathlib import Path

from model.errors import CheckpointError
from model.files import hub, smollm2
from model.files.checkpoint import (
    EMBEDDED,
    EMBEDDED_FOLDER,
    LoadedModel,
    Source,
    existing_model,
    find_folder,
    is_gguf,
    load_folder,
    load_model,
)
from model.files.family import CONFIG_FILE
from model.files.gguf_file import SUFFIX
from model.network import packed
from model.network.network import Network

FOLDERS_VARIABLE = "HEADLIGHT_MODELS"
_PACKED_AT_ONCE = 64_000_000  # bytes: larger models are packed in the background while the first page is drawn


@dataclass(frozen=True)
class Entry:
    """A model that can be chosen by name."""

    name: str
    source: Source


class ModelLibrary:
    """Models by name. At most `max_loaded` are in memory; `on_unload` is called with each network that is dropped.

    Weights are packed after loading as `HEADLIGHT_PACK` says (see `model.network.packed`).

    A name is never a path: only models in the folders of `HEADLIGHT_MODELS`, opened with `open_folder`, or in Hugging
    Face's cache can be reached.
    """

    def __init__(self, max_loaded: int = 2, on_unload: Callable[[Network], None] = lambda network: None) -> None:
        self._max_loaded, self._on_unload = max_loaded, on_unload
        self._loaded: OrderedDict[str, LoadedModel] = OrderedDict()
        self._opened: dict[str, Path] = {}
        self._loading: dict[str, threading.Lock] = {}
        self._opening = threading.Lock()
        self._lock = threading.Lock()  # held briefly, never while a model loads

    def entries(self) -> list[Entry]:
        """All models that `get` can load now, the embedded one first."""
        installed = [Entry(smollm2.NAME, "installed")] if smollm2.smollm2_file() else []
        folders = [Entry(name, "file" if is_gguf(path) else "folder") for name, path in self._folders().items()]
        return [Entry(EMBEDDED, "embedded"), *installed, *folders, *(Entry(name, "hub") for name in hub.local_models())]

    def holds(self, name: str) -> bool:
        """Whether the model called `name` is in memory, so that `get` returns at once."""
        with self._lock:
            return name in self._loaded

    def get(self, name: str) -> LoadedModel:
        """The model called `name`, loaded if it is not in memory.

        Raises:
            CheckpointError: there is no such model, or its weights are damaged.
            ConfigError, TokenizerError: one of its other files is damaged.
        """
        with self._lock:
            if model := self._found(name):
                return model
            loading = self._loading.setdefault(name, threading.Lock())
        with loading:
            try:
                with self._lock:
                    if model := self._found(name):
                        return model
                model = self._load(name)
                with self._lock:
                    self._keep(model)
            finally:
                with self._lock:
                    self._loading.pop(name, None)
            _pack(model)
            return model

    def open_folder(self, path: Path | str) -> LoadedModel:
        """Load the folder or `.gguf` file `path` and add it under its own name, or under the name it already has.

        Raises: as `get`.
        """
        folder = existing_model(path).resolve()
        if (known := _known_name(folder)) is not None:
            return self.get(known)
        with self._opening:  # one at a time, so that two folders of the same name get different names
            name = _free_name(folder, self._folders())
            model = load_folder(folder, name=name)
            with self._lock:
                self._opened[name] = folder
                self._keep(model)
            _pack(model)
            return model

    def _found(self, name: str) -> LoadedModel | None:
        if name in self._loaded:
            self._loaded.move_to_end(name)
        return self._loaded.get(name)

    def _load(self, name: str) -> LoadedModel:
        folders = self._folders()
        if name in folders:
            if name not in self._opened:
                _check_inside(folders[name], _parents())
            return load_folder(folders[name], name=name)
        if name in (EMBEDDED, smollm2.NAME):
            return load_model(name)
        return load_folder(hub.local_folder(name), name=name, source="hub")

    def _keep(self, model: LoadedModel) -> None:
        if model.name in self._loaded:  # its files may have changed since
            self._on_unload(self._loaded.pop(model.name).network)
        self._loaded[model.name] = model
        while len(self._loaded) > self._max_loaded:
            self._on_unload(self._loaded.popitem(last=False)[1].network)

    def _folders(self) -> dict[str, Path]:
        found: dict[str, Path] = dict(self._opened)
        for parent in _parents():
            for config in sorted(parent.glob(f"*/{CONFIG_FILE}")):
                folder = config.parent.resolve()
                if folder != EMBEDDED_FOLDER.resolve():
                    found[_free_name(folder, found)] = folder
            for file in filter(Path.is_file, sorted(parent.glob(f"*{SUFFIX}"))):
                found[_free_name(file.resolve(), found)] = file.resolve()
        return found


def _pack(model: LoadedModel) -> None:
    n_bytes = model.network.packable_bytes
    if packed.wanted(n_bytes):
        packing = threading.Thread(target=model.network.pack, name=f"packing {model.name}", daemon=True)
        packing.start()
        if n_bytes <= _PACKED_AT_ONCE:
            packing.join()


def _parents() -> list[Path]:
    """The folders that contain model folders."""
    named = filter(None, os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep))
    return [find_folder(parent) or Path(parent) for parent in named]


def _check_inside(folder: Path, parents: list[Path]) -> None:
    """Raise if a link leads out of the model folders: a name in an address must not open anything outside of them."""
    try:
        files = [] if is_gguf(folder) else list(folder.iterdir())
    except OSError as error:
        raise CheckpointError(
            _("{folder} cannot be read ({reason}).").format(folder=folder.name, reason=error.strerror)
        ) from error
    for path in (folder, *files):
        try:
            inside = any(path.resolve().is_relative_to(parent.resolve()) for parent in parents)
        except (OSError, RuntimeError) as error:  # a loop is a RuntimeError up to Python 3.12
            raise CheckpointError(
                _("{path} is a link that cannot be followed; remove it, or put the file itself there.").format(
                    path=_below(folder, path)
                )
            ) from error
        if not inside:
            raise CheckpointError(
                _(
                    "{path} is a link that leads out of the folders in {variable}; put the files themselves there, or "
                    "add the folder it leads to."
                ).format(path=_below(folder, path), variable=FOLDERS_VARIABLE)
            )


def _below(folder: Path, path: Path) -> str:
    """`path`, the folder itself or a file in it, without the places above the folder."""
    return folder.name if path == folder else f"{folder.name}/{path.name}"


def _known_name(folder: Path) -> str | None:
    """The name of the model in `folder` if it is the embedded one, installed, or in Hugging Face's cache, else None."""
    if folder == EMBEDDED_FOLDER.resolve():
        return EMBEDDED
    if (file := smollm2.smollm2_file()) and folder == file.resolve():
        return smollm2.NAME
    return next((name for name in hub.local_models() if hub.local_folder(name).resolve() == folder), None)


def _free_name(folder: Path, taken: dict[str, Path]) -> str:
    """The name that `folder` has in `taken`, or else its own, with a number if another model has that name."""
    for name, known in taken.items():
        if known == folder:
            return name
    own = folder.stem if is_gguf(folder) else folder.name
    name, number = own, 1
    while name in (EMBEDDED, smollm2.NAME, *hub.SUGGESTED) or name in taken:
        number += 1
        name = f"{own} ({number})"
    return name
