"""Finds, verifies and loads a model by name: the embedded one, a folder, or a Hugging Face hub repository."""

from __future__ import annotations

from dataclasses import dataclass
from gettext import gettext as _
from pathlib import Path
from typing import Literal

from model.errors import CheckpointError
from model.files import hub
from model.files.family import CONFIG_FILE, read_config
from model.files.vocabulary import read_vocabulary
from model.files.weights import load_weights
from model.network.network import Network
from model.network.sizes import Config
from model.text.tokenizer import ASSETS, Tokenizer

EMBEDDED = "headlight-mini"
EMBEDDED_FOLDER = ASSETS / "models" / EMBEDDED
WEIGHTS_FILE = "model.safetensors"

Source = Literal["embedded", "folder", "hub"]


@dataclass(frozen=True)
class LoadedModel:
    """A network and its tokenizer. Shared between threads and never changed."""

    name: str
    source: Source
    folder: Path
    network: Network
    tokenizer: Tokenizer
    notes: tuple[str, ...] = ()
    """Sentences on what was assumed when it was read."""

    @property
    def config(self) -> Config:
        """The network's sizes."""
        return self.network.config

    @property
    def n_parameters(self) -> int:
        """The number of learnt parameters; a tied output embedding counts once."""
        return sum(parameter.numel() for parameter in self.network.parameters())


def load_model(name_or_path: str | Path = EMBEDDED) -> LoadedModel:
    """Load the embedded model, a folder with `config.json` + `model.safetensors`, or a hub model such as `gpt2`.

    Nothing is downloaded: a hub model must already be on this computer (see `model.files.hub.download`).

    Raises:
        CheckpointError: there is no such model here, or its weights are damaged.
        ConfigError: `config.json` does not describe a GPT-2.
        TokenizerError: its vocabulary cannot be read.
    """
    if str(name_or_path) == EMBEDDED:
        return load_folder(EMBEDDED_FOLDER, name=EMBEDDED, source="embedded")
    if (folder := find_folder(name_or_path)) is not None:
        return load_folder(folder)
    if isinstance(name_or_path, Path):
        raise CheckpointError(
            _("There is no folder {path}; give the folder that holds {config_file}.").format(
                path=name_or_path, config_file=CONFIG_FILE
            )
        )
    return load_folder(hub.local_folder(name_or_path), name=name_or_path, source="hub")


def find_folder(path: str | Path) -> Path | None:
    """The folder at `path`, or the one of the `config.json` at `path`; None if there is none. `~` is expanded."""
    try:
        folder = Path(path).expanduser()
        folder = folder.parent if folder.name == CONFIG_FILE and folder.is_file() else folder
        return folder if str(path) and folder.is_dir() else None
    except (OSError, ValueError, RuntimeError):  # too long, a NUL character, an unknown user
        return None


def load_folder(folder: Path, *, name: str | None = None, source: Source = "folder") -> LoadedModel:
    """Load a folder in Hugging Face's GPT-2 layout; `name` is its name on screen (by default the folder's).

    Raises: as `load_model`.
    """
    config = read_config(folder)
    if not (folder / WEIGHTS_FILE).is_file():
        others = [path.name for pattern in ("*.bin", "*.index.json") for path in sorted(folder.glob(pattern))]
        message = _("{folder} has no {file}.")
        if others:
            message = _("{folder} has no {file}; {other} is not read: the weights must be in one .safetensors file.")
        raise CheckpointError(message.format(folder=folder.name, file=WEIGHTS_FILE, other=others[:1] and others[0]))
    tokenizer, notes = read_vocabulary(folder, config.d_vocab)
    network = load_weights(folder / WEIGHTS_FILE, config)
    return LoadedModel(name or folder.resolve().name, source, folder, network, tokenizer, notes)
