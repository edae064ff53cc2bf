"""The models of a running app: by name, few in memory, and never by a path."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub import constants

from model.errors import CheckpointError, ConfigError
from model.files import checkpoint, hub, smollm2
from model.files import library as module
from model.files.checkpoint import EMBEDDED, EMBEDDED_FOLDER
from model.files.library import Entry, ModelLibrary
from model.network import packed
from model.network.gpt2 import GPT2
from model.trace.trace import run_trace
from tests.gguf_files import write_gguf
from tests.gguf_vocabularies import byte_level
from tests.models import N_REDUCED, random_llama, random_network, weights_of, write_checkpoint


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A folder with three models, which HEADLIGHT_MODELS names; nothing installed, and no hub models."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "no cache"))
    monkeypatch.setattr(smollm2, "smollm2_file", lambda: None)
    for seed, name in enumerate(("a", "b", "c")):
        write_checkpoint(tmp_path / "shelf" / name, random_network(seed=seed))
    (tmp_path / "shelf" / "empty").mkdir()
    monkeypatch.setenv("HEADLIGHT_MODELS", str(tmp_path / "shelf"))
    return tmp_path / "shelf"


@pytest.fixture
def loads(monkeypatch):
    """The names of the models that were read from disk."""
    names = []
    load_folder = checkpoint.load_folder

    def counted(folder, *, name=None, source="folder"):
        names.append(name)
        return load_folder(folder, name=name, source=source)

    monkeypatch.setattr(module, "load_folder", counted)
    return names


def test_entries(shelf):
    assert ModelLibrary().entries() == [Entry(EMBEDDED, "embedded"), *(Entry(name, "folder") for name in "abc")]


def test_without_folders_there_is_the_embedded_model(shelf, monkeypatch):
    for value in ("", "/nowhere/at/all", "~nobody-of-that-name"):
        monkeypatch.setenv("HEADLIGHT_MODELS", value)
        assert ModelLibrary().entries() == [Entry(EMBEDDED, "embedded")]
    assert ModelLibrary().get(EMBEDDED).source == "embedded"


def test_a_model_is_loaded_once(shelf, loads):
    models = ModelLibrary()
    assert models.get("a") is models.get("a")
    assert loads == ["a"]
    assert models.get("a").folder == shelf / "a"


def test_at_most_two_are_in_memory_and_the_oldest_is_let_go(shelf, loads):
    gone: list[GPT2] = []
    models = ModelLibrary(max_loaded=2, on_unload=gone.append)
    a, b = models.get("a"), models.get("b")
    models.get("a")
    c = models.get("c")
    assert gone == [b.network]
    assert models.get("a") is a
    assert models.get("c") is c
    models.get("b")
    assert gone == [b.network, a.network]
    assert loads == ["a", "b", "c", "b"]


def test_a_model_in_use_stays_usable_after_it_is_let_go(shelf):
    models = ModelLibrary(max_loaded=1)
    a = models.get("a")
    before = a.network(torch.tensor([1, 2]))
    models.get("b")
    assert torch.equal(a.network(torch.tensor([1, 2])), before)


@pytest.mark.parametrize("name", ["..", "../shelf/a", "./a", "a/.", "/etc", "", "~", "empty", "d"])
def test_a_name_is_never_a_path(shelf, name, monkeypatch):
    monkeypatch.chdir(shelf)
    with pytest.raises(CheckpointError):
        ModelLibrary().get(name)
    with pytest.raises(CheckpointError):
        ModelLibrary().get(str(shelf / "a"))


def test_a_damaged_model_leaves_the_others_as_they_are(shelf):
    models = ModelLibrary()
    a = models.get("a")
    (shelf / "b" / "config.json").write_text("{}")
    with pytest.raises(ConfigError):
        models.get("b")
    assert models.get("a") is a


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.tiktoken", "notes.txt"])
@pytest.mark.parametrize(
    "error", [None, RuntimeError("Symlink loop"), OSError(40, "Too many levels of symbolic links")]
)
def test_a_link_that_leads_back_to_itself_is_a_named_error(shelf, monkeypatch, name, error):
    """What Python raises for a loop depends on its version; from 3.13 on a loop may pass, and its file is missing."""
    path = shelf / "a" / name
    path.unlink(missing_ok=True)
    path.symlink_to(shelf / "a" / "other")
    (shelf / "a" / "other").symlink_to(path)
    if error is not None:
        resolve = Path.resolve

        def raising(path: Path, strict: bool = False) -> Path:
            if path.name in (name, "other"):
                raise error
            return resolve(path, strict)

        monkeypatch.setattr(Path, "resolve", raising)
    elif sys.version_info >= (3, 13):
        pytest.skip("this Python raises nothing")
    with pytest.raises(CheckpointError, match=r"^a/\S+ is a link that cannot be followed"):
        ModelLibrary().get("a")


def test_a_folder_that_cannot_be_listed_is_a_named_error(shelf, monkeypatch):
    def denied(folder: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", denied)
    with pytest.raises(CheckpointError, match=r"a cannot be read \(Permission denied\)"):
        ModelLibrary().get("a")


# --- .gguf files ----------------------------------------------------------------------------------------------------


def write_file(path: Path, **changes: Any) -> Path:
    """A Llama as a `.gguf` file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_gguf(path, random_llama(), vocabulary=byte_level(n=N_REDUCED), **changes)


def test_the_files_of_a_folder_are_models(shelf):
    write_file(shelf / "b.gguf")
    write_file(shelf / "small.Q8_0.gguf")
    (shelf / "loop.gguf").symlink_to(shelf / "loop.gguf")
    models = ModelLibrary()
    files = [Entry("b (2)", "file"), Entry("small.Q8_0", "file")]
    assert models.entries() == [Entry(EMBEDDED, "embedded"), *(Entry(name, "folder") for name in "abc"), *files]
    assert models.get("small.Q8_0") is models.get("small.Q8_0")
    assert models.get("small.Q8_0").source == "file"
    assert models.get("b (2)").folder == shelf / "b.gguf"


def test_a_file_is_opened_by_its_path(shelf, tmp_path):
    models = ModelLibrary()
    opened = models.open_folder(write_file(tmp_path / "else" / "mine.gguf"))
    assert (opened.name, opened.source) == ("mine", "file")
    assert models.get("mine") is opened
    assert Entry("mine", "file") in models.entries()
    with pytest.raises(CheckpointError, match="neither a folder here nor a hub name"):
        ModelLibrary().get("mine.gguf/")


def test_the_installed_file_is_the_installed_model(shelf, tmp_path, monkeypatch):
    file = write_file(tmp_path / "site-packages" / "model.Q4_1.gguf")
    monkeypatch.setattr(smollm2, "smollm2_file", lambda: file)
    models = ModelLibrary()
    assert models.entries()[1] == Entry(smollm2.NAME, "installed")
    assert models.open_folder(file) is models.get(smollm2.NAME)
    assert models.get(smollm2.NAME).source == "installed"
    write_file(shelf / f"{smollm2.NAME}.gguf")
    assert Entry(f"{smollm2.NAME} (2)", "file") in models.entries()


def test_a_file_that_is_a_link_out_of_the_folders_is_refused(shelf, tmp_path):
    (shelf / "far.gguf").symlink_to(write_file(tmp_path / "else" / "mine.gguf"))
    with pytest.raises(CheckpointError, match="leads out of the folders"):
        ModelLibrary().get("mine")


# --- folders that are opened ---------------------------------------------------------------------------------------


def test_an_opened_folder_is_known_by_its_name(shelf, tmp_path):
    models = ModelLibrary()
    write_checkpoint(tmp_path / "else" / "mine", random_network(seed=5))
    opened = models.open_folder(tmp_path / "else" / "mine")
    assert opened.name == "mine"
    assert models.get("mine") is opened
    assert Entry("mine", "folder") in models.entries()
    with pytest.raises(CheckpointError):
        ModelLibrary().get("mine")


def test_a_name_that_is_taken_gets_a_number(shelf, tmp_path):
    models = ModelLibrary(max_loaded=9)
    for place in ("one", "two"):
        write_checkpoint(tmp_path / place / "a", random_network(seed=7))
        write_checkpoint(tmp_path / place / EMBEDDED, random_network(seed=7))
    assert models.open_folder(tmp_path / "one" / "a").name == "a (2)"
    assert models.open_folder(tmp_path / "two" / "a").name == "a (3)"
    assert models.open_folder(tmp_path / "one" / EMBEDDED).name == f"{EMBEDDED} (2)"
    assert models.open_folder(tmp_path / "one" / "a").name == "a (2)"
    assert models.open_folder(shelf / "a").name == "a"
    assert models.get("a").folder == shelf / "a"
    assert models.get("a (3)").folder == tmp_path / "two" / "a"
    assert models.get(EMBEDDED).source == "embedded"


def test_a_folder_that_is_there_already_is_not_there_twice(shelf, tmp_path, monkeypatch):
    models = ModelLibrary()
    (tmp_path / "link").symlink_to(EMBEDDED_FOLDER)
    for path in (EMBEDDED_FOLDER, f"{EMBEDDED_FOLDER}/../{EMBEDDED}", tmp_path / "link"):
        assert models.open_folder(path) is models.get(EMBEDDED)
    write_checkpoint(tmp_path / "else" / "mine", random_network(seed=5))
    (tmp_path / "mine").symlink_to(tmp_path / "else" / "mine")
    assert {models.open_folder(path).name for path in (tmp_path / "mine", tmp_path / "else" / "mine")} == {"mine"}
    monkeypatch.setattr(hub, "local_models", lambda: ["gpt2"])
    monkeypatch.setattr(hub, "local_folder", lambda name: tmp_path / "cached" / "0123abc")
    write_checkpoint(tmp_path / "cached" / "0123abc", random_network(seed=6))
    assert models.open_folder(tmp_path / "cached" / "0123abc") is models.get("gpt2")
    assert [entry.name for entry in models.entries()] == [EMBEDDED, "mine", "a", "b", "c", "gpt2"]
    monkeypatch.setenv("HEADLIGHT_MODELS", str(EMBEDDED_FOLDER.parent))
    assert [entry.name for entry in ModelLibrary().entries()] == [EMBEDDED, "gpt2"]


def test_models_of_equal_names_in_two_folders_are_both_there(shelf, tmp_path, monkeypatch):
    write_checkpoint(tmp_path / "other" / "a", random_network(seed=7))
    write_checkpoint(tmp_path / "other" / EMBEDDED, random_network(seed=7))
    monkeypatch.setenv("HEADLIGHT_MODELS", f"{shelf}:{tmp_path / 'other'}")
    models = ModelLibrary()
    assert [entry.name for entry in models.entries()] == [EMBEDDED, "a", "b", "c", "a (2)", f"{EMBEDDED} (2)"]
    assert models.get("a").folder == shelf / "a"
    assert models.get("a (2)").folder == tmp_path / "other" / "a"
    assert models.get(EMBEDDED).source == "embedded"


def test_opening_again_reads_again(shelf, tmp_path):
    gone: list[GPT2] = []
    models = ModelLibrary(on_unload=gone.append)
    first = models.open_folder(shelf / "a")
    new = random_network(seed=11)
    (shelf / "a" / "model.safetensors").unlink()
    write_checkpoint(shelf / "a", new)
    second = models.open_folder(shelf / "a")
    assert gone == [first.network]
    assert torch.equal(second.network.wte.weight, new.wte.weight)
    assert models.get("a") is second


@pytest.mark.parametrize("path", ["nothing", "a\0b", "~nobody-of-that-name", "x" * 5_000, ""])
def test_opening_what_is_no_folder(shelf, path):
    models = ModelLibrary()
    with pytest.raises(CheckpointError, match="There is no folder"):
        models.open_folder(path)
    assert len(models.entries()) == 4


def test_a_folder_that_cannot_be_loaded_is_not_remembered(shelf):
    models = ModelLibrary()
    with pytest.raises(CheckpointError, match=r"empty has no config\.json"):
        models.open_folder(shelf / "empty")
    assert [entry.name for entry in models.entries()] == [EMBEDDED, "a", "b", "c"]


def test_sessions_at_once_load_a_model_once(shelf, loads):
    models, start = ModelLibrary(), threading.Barrier(6)

    def ask(_: int):
        start.wait()
        return models.get("a")

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(ask, range(6)))
    assert loads == ["a"]
    assert all(model is found[0] for model in found)


@pytest.mark.parametrize("how", ["get", "open_folder"])
def test_who_has_a_model_does_not_wait_for_another_to_load(shelf, monkeypatch, how):
    models, begun, go_on = ModelLibrary(), threading.Event(), threading.Event()
    a, load_folder = models.get("a"), module.load_folder

    def slow(folder, *, name=None, source="folder"):
        begun.set()
        assert go_on.wait(10)
        return load_folder(folder, name=name, source=source)

    monkeypatch.setattr(module, "load_folder", slow)
    with ThreadPoolExecutor(2) as pool:
        b = pool.submit(getattr(models, how), "b" if how == "get" else shelf / "b")
        try:
            assert begun.wait(10)
            assert pool.submit(models.get, "a").result(timeout=5) is a
            assert not b.done()
        finally:
            go_on.set()
        assert b.result() is models.get("b")


# --- packing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", ["on", "off"])
def test_loaded_weights_are_packed_as_the_setting_says(shelf, monkeypatch, setting):
    monkeypatch.setenv(packed.VARIABLE, setting)
    projection = ModelLibrary().get("a").network.h[0].mlp.c_fc
    assert (projection.packed is not None) == (setting == "on" and packed.can_pack(projection.weight))


def test_large_weights_are_packed_while_the_model_is_used_already(shelf, monkeypatch):
    monkeypatch.setenv(packed.VARIABLE, "on")
    monkeypatch.setattr(module, "_PACKED_AT_ONCE", 0)
    go_on, done, pack = threading.Event(), threading.Event(), GPT2.pack

    def waiting(self):
        assert go_on.wait(10)
        pack(self)
        done.set()

    monkeypatch.setattr(GPT2, "pack", waiting)
    network = ModelLibrary().get("a").network
    plain = run_trace(network, [1, 2, 3])
    assert network.h[0].mlp.c_fc.packed is None
    go_on.set()
    assert done.wait(10)
    np.testing.assert_allclose(run_trace(network, [1, 2, 3]).z, plain.z, atol=1e-5, rtol=1e-5)


def test_a_half_width_checkpoint_is_packed_as_widened(tmp_path, monkeypatch):
    monkeypatch.setenv(packed.VARIABLE, "on")
    half = {name: tensor.half() for name, tensor in weights_of(random_network()).items()}
    network = ModelLibrary().open_folder(write_checkpoint(tmp_path / "half", random_network(), weights=half)).network
    plain = GPT2(network.config)
    plain.load_state_dict({name: tensor.float() for name, tensor in half.items()}, assign=True)
    expected = run_trace(plain.requires_grad_(False), [1, 2, 3])
    np.testing.assert_allclose(run_trace(network, [1, 2, 3]).z, expected.z, atol=1e-5, rtol=1e-5)
