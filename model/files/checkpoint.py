"""Finds, verifies and loads a model by name: the embedded one, a folder, or a Hugging Face hub repository."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from gettext import gettext as _
from pathlib import Path
from typing import Literal

from model.errors import CheckpointError
from model.files import hub, smollm2
from model.files.family import CONFIG_FILE, family_of, read_config, read_raw_config
from model.files.gguf_file import SUFFIX, GGUFTensors
from model.files.safetensors_file import open_folder as open_tensors
from model.files.vocabulary import check_fit, read_vocabulary
from model.files.weights import assemble
from model.network.network import Network
from model.network.sizes import Config
from model.text.tokenizer import ASSETS, Tokenizer

EMBEDDED = "headlight-mini"
EMBEDDED_FOLDER = ASSETS / "models" / EMBEDDED

Source = Literal["embedded", "installed", "folder", "file", "hub"]


@dataclass(frozen=True)
class LoadedModel:
    """A network and its tokenizer. Shared between threads and never changed. `folder` may be a `.gguf` file."""

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
    """Load the embedded model, a folder in Hugging Face's layout, a `.gguf` file, or a hub model such as `gpt2`.

    Nothing is downloaded: a hub model must already be on this computer (see `model.files.hub.download`).

    Raises:
        CheckpointError: there is no such model here, or its weights are damaged.
        ConfigError: `config.json` does not describe a GPT-2.
        TokenizerError: its vocabulary cannot be read.
    """
    if str(name_or_path) == EMBEDDED:
        return load_folder(EMBEDDED_FOLDER, name=EMBEDDED, source="embedded")
    if name_or_path == smollm2.NAME:
        return load_folder(smollm2.installed_file(), name=smollm2.NAME, source="installed")
    if isinstance(name_or_path, Path) or find_folder(name_or_path) or is_gguf(Path(name_or_path)):
        return load_folder(existing_model(name_or_path))
    return load_folder(hub.local_folder(name_or_path), name=name_or_path, source="hub")


def existing_model(path: str | Path) -> Path:
    """The folder or `.gguf` file at `path`; `~` is expanded.

    Raises:
        CheckpointError: there is none.
    """
    if (found := find_folder(path)) is not None:
        return found
    with suppress(OSError, ValueError, RuntimeError):
        if is_gguf(file := Path(path).expanduser()) and file.is_file():
            return file
    raise CheckpointError(
        _("There is no folder and no .gguf file {path}; of a folder, give the one that holds {config_file}.").format(
            path=path, config_file=CONFIG_FILE
        )
    )


def is_gguf(path: Path) -> bool:
    """Whether `path` is named like a GGUF file."""
    return path.suffix == SUFFIX


def find_folder(path: str | Path) -> Path | None:
    """The folder at `path`, or the one of the `config.json` at `path`; None if there is none. `~` is expanded."""
    try:
        folder = Path(path).expanduser()
        folder = folder.parent if folder.name == CONFIG_FILE and folder.is_file() else folder
        return folder if str(path) and folder.is_dir() else None
    except (OSError, ValueError, RuntimeError):  # too long, a NUL character, an unknown user
        return None


def load_folder(folder: Path, *, name: str | None = None, source: Source = "folder") -> LoadedModel:
    """Load a folder in Hugging Face's layout, or a `.gguf` file; `name` is its name on screen (by default its own).

    Raises: as `load_model`.
    """
    if is_gguf(folder):
        return _load_gguf(folder, name, "file" if source == "folder" else source)
    config = read_config(folder)
    tokenizer, assumed = read_vocabulary(folder, config.d_vocab)
    network, notes = load_weights(folder, config)
    said = (*_config_notes(folder, config), *notes, *assumed)
    return LoadedModel(name or folder.resolve().name, source, folder, network, tokenizer, said)


def _config_notes(folder: Path, config: Config) -> tuple[str, ...]:
    """What the config says twice, and not alike."""
    n_ctx = read_raw_config(folder).get("n_ctx")
    if config.kind != "gpt2" or not isinstance(n_ctx, int) or n_ctx >= config.n_ctx:
        return ()
    return (
        _(
            "config.json gives two lengths: n_positions {n_positions:,} is used, as in transformers; n_ctx {n_ctx:,} "
            "is shorter, and may be all that the model was trained on."
        ).format(n_positions=config.n_ctx, n_ctx=n_ctx),
    )


def load_weights(folder: Path, config: Config) -> tuple[Network, tuple[str, ...]]:
    """The network of `config` with the weights in `folder`, and notes on them (`model.files.weights.assemble`).

    Raises:
        CheckpointError: they are missing or damaged, or do not fit the memory.
    """
    return assemble(open_tensors(folder), config)


def _load_gguf(file: Path, name: str | None, source: Source) -> LoadedModel:
    # Imported only here: the embedded model is on the screen sooner without the `tokenizers` library.
    from model.files.gguf_tokenizer import read_vocabulary as read_gguf_vocabulary
    from model.text.hugging_face import HuggingFaceTokenizer

    tensors = GGUFTensors(file)
    raw = tensors.config()
    family = family_of(raw["model_type"])
    config = family.read_config(raw)
    vocabulary = read_gguf_vocabulary(tensors.metadata, file.name)
    tokenizer = HuggingFaceTokenizer(
        vocabulary.tokenizer, start_id=vocabulary.start_id, end_ids=vocabulary.end_ids, starts=vocabulary.starts
    )
    check_fit(file.name, tokenizer, config.d_vocab)
    network, notes = assemble(tensors, config)
    tensors.check_all_used({family.published(name) for name, _weight in network.named_parameters()})
    return LoadedModel(name or file.stem, source, file, network, tokenizer, (*tensors.notes, *notes))
