"""The Hugging Face hub, played by a small server on this machine."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
import torch
from huggingface_hub import constants
from huggingface_hub.utils._xet_progress_reporting import XetDownloadProgressReporter

from model.errors import CheckpointError, ConfigError
from model.files import hub
from model.files.checkpoint import load_model
from tests.model.files.test_layouts import shards
from tests.models import make_config, random_network, weights_of, write_checkpoint

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "someone/tiny"


@dataclass
class FakeHub:
    """Repositories by name, each a dict of files; and what was asked of it."""

    repos: dict[str, dict[str, bytes]] = field(default_factory=dict)
    gets: list[str] = field(default_factory=list)
    n_requests: int = 0
    status: int = 200  # another one is the answer to everything

    def answer(self, request: BaseHTTPRequestHandler, *, with_body: bool) -> None:
        self.n_requests += 1
        repo, _, rest = request.path.strip("/").partition("/resolve/main/")
        if with_body and rest:  # the client asks for more than files; that is its own affair
            self.gets.append(f"{repo}/{rest}")
        body = self.repos.get(repo, {}).get(rest)
        status = self.status if self.status != 200 else 200 if body is not None else 404
        request.send_response(status)
        if status == 404:
            request.send_header("X-Error-Code", "EntryNotFound" if repo in self.repos else "RepoNotFound")
        if status in (401, 403):
            request.send_header("X-Error-Code", "GatedRepo")
        request.send_header("X-Repo-Commit", COMMIT)
        body = body or b""
        request.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
        request.send_header("Content-Length", str(len(body) if status == 200 else 0))
        request.end_headers()
        if with_body and status == 200:
            request.wfile.write(body)


def _point_to(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")


def _pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """From now on nobody sleeps; returns the list of the seconds somebody would have slept."""
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    return pauses


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """A hub with nothing on it, and an empty cache on this side."""
    state = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            state.answer(self, with_body=False)

        def do_GET(self):
            state.answer(self, with_body=True)

        def log_message(self, format: str, *args: object):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "AGENT_HARNESSES_PATH", str(tmp_path / "harnesses.json"))
    _point_to(monkeypatch, f"http://127.0.0.1:{server.server_port}")
    yield state
    server.shutdown()
    server.server_close()
    thread.join()
    huggingface_hub.close_session()


@pytest.fixture
def files(tmp_path) -> dict[str, bytes]:
    """A checkpoint of a megabyte, with GPT-2's vocabulary size and so no vocabulary files."""
    network = random_network(make_config(d_vocab=50_257, n_layers=1, n_heads=1, d_model=6))
    folder = write_checkpoint(tmp_path / "made", network, vocabulary=False)
    return {name: (folder / name).read_bytes() for name in ("config.json", "model.safetensors")}


def test_download_and_look(fake, files):
    fake.repos[REPO] = files
    size = sum(map(len, files.values()))
    assert hub.download_size(REPO) == size > 1_000_000
    assert fake.gets == []

    reports = []
    folder = hub.download(REPO, lambda done, total: reports.append((done, total, threading.get_ident())))
    weights = len(files["model.safetensors"])
    assert reports[-1][:2] == (weights, weights)
    assert [done for done, _, _ in reports] == sorted(done for done, _, _ in reports)
    assert {thread for _, _, thread in reports} == {threading.get_ident()}
    assert folder == hub.local_folder(REPO)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files

    loaded = load_model(REPO)
    assert (loaded.name, loaded.source, loaded.folder) == (REPO, "hub", folder)
    assert loaded.tokenizer.encode(" robot") == (9379,)


def test_what_is_here_is_not_fetched_again(fake, files):
    fake.repos[REPO] = files
    hub.download(REPO)
    assert sorted(fake.gets) == [f"{REPO}/{name}" for name in files]
    fake.gets.clear()
    assert hub.download_size(REPO) == 0
    assert hub.download(REPO) == hub.local_folder(REPO)
    assert fake.gets == []


def test_a_vocabulary_of_its_own_comes_along(fake, files):
    vocabulary = {"vocab.json": b'{"a": 0}', "merges.txt": b"#version: 0.2\n"}
    fake.repos[REPO] = {**files, **vocabulary}
    assert hub.download_size(REPO) == sum(len(body) for body in fake.repos[REPO].values())
    folder = hub.download(REPO)
    assert {name: (folder / name).read_bytes() for name in vocabulary} == vocabulary


def test_the_models_that_are_here(fake, files):
    fake.repos["distilgpt2"] = files
    assert hub.local_models() == []
    hub.download("distilgpt2")
    assert hub.local_models() == ["distilgpt2"]


def test_weights_alone_missing_is_not_here(fake, files):
    fake.repos[REPO] = files
    (hub.download(REPO) / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=rf"{REPO} is not on this computer"):
        hub.local_folder(REPO)


@pytest.mark.parametrize("ask", [hub.download_size, hub.download])
def test_a_repository_that_is_not_there(fake, ask):
    with pytest.raises(CheckpointError, match=r"no public model called someone/nothing"):
        ask("someone/nothing")


@pytest.mark.parametrize("ask", [hub.download_size, hub.download])
@pytest.mark.parametrize("missing", ["model.safetensors", "config.json"])
def test_a_repository_without_safetensors_or_config(fake, files, ask, missing):
    fake.repos[REPO] = {"pytorch_model.bin": b"..", **{n: body for n, body in files.items() if n != missing}}
    with pytest.raises(CheckpointError, match=rf"{REPO} has no config\.json or no \.safetensors weights"):
        ask(REPO)


@pytest.mark.parametrize("ask", [hub.download_size, hub.download])
def test_a_gated_repository(fake, files, ask):
    fake.repos[REPO], fake.status = files, 403
    with pytest.raises(CheckpointError, match=rf"no public model called {REPO}"):
        ask(REPO)


@pytest.mark.parametrize("ask", [hub.download_size, hub.download])
@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_hub_in_trouble_is_not_asked_again_and_again(fake, files, monkeypatch, ask, status):
    fake.repos[REPO], fake.status = files, status
    pauses = _pauses(monkeypatch)
    with pytest.raises(CheckpointError, match=rf"{REPO} could not be downloaded: the hub cannot be reached"):
        ask(REPO)
    assert pauses == []  # the client waits before it asks again
    assert fake.n_requests <= 3, fake.n_requests


@pytest.mark.parametrize("ask", [hub.download_size, hub.download])
def test_no_connection_is_told_at_once(fake, monkeypatch, ask):
    with socket.socket() as nobody:  # bound and not listening: whoever connects is refused
        nobody.bind(("127.0.0.1", 0))
        _point_to(monkeypatch, f"http://127.0.0.1:{nobody.getsockname()[1]}")
        pauses = _pauses(monkeypatch)
        with pytest.raises(CheckpointError, match=r"gpt2 could not be downloaded: the hub cannot be reached"):
            ask("gpt2")
        assert pauses == []


@pytest.mark.parametrize("ask", [hub.download_size, hub.download])
def test_hugging_faces_offline_switch(fake, files, monkeypatch, ask):
    fake.repos[REPO] = files
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    huggingface_hub.close_session()
    with pytest.raises(CheckpointError, match=r"HF_HUB_OFFLINE is set"):
        ask(REPO)
    assert fake.gets == []


def test_offline_a_model_that_is_here_is_shown(fake, files, monkeypatch):
    fake.repos[REPO] = files
    hub.download(REPO)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    huggingface_hub.close_session()
    assert load_model(REPO).config.d_vocab == 50_257


def test_of_the_clients_two_counts_what_was_written_is_reported():
    """From the hub's own store the client counts bytes on the wire and bytes written, in threads of its own."""
    count = hub._Count()
    reporter = XetDownloadProgressReporter(
        reconstruction_desc="", total=1_000, log_level=0, name="any", tqdm_class=hub._counting_bar(count)
    )
    assert count.now() == (0, 1_000)
    for written, received in ((0, 400), (300, 700), (1_000, 700)):
        reporter.update_progress(
            SimpleNamespace(
                total_bytes_completed=written,
                total_transfer_bytes_completed=received,
                total_bytes_completion_rate=None,
                total_transfer_bytes_completion_rate=None,
                total_bytes=1_000,
            )
        )
        assert count.now() == (written, 1_000)
    reporter.close()


def test_an_exception_of_the_listener_is_passed_on(fake, files):
    fake.repos[REPO] = files

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hub.download(REPO, stop)


@pytest.mark.parametrize("ask", [hub.download_size, hub.download, hub.local_folder])
@pytest.mark.parametrize(
    "name", ["", "../../etc", "a/b/c", "..", "a..b", "a--b", "/etc", "a/", "-a", "a-", "gpt2.git", "a b", "é", "x" * 97]
)
def test_invalid_names_are_refused_before_anything_is_asked(fake, ask, name):
    with pytest.raises(CheckpointError, match=r"is neither a folder here nor a hub name"):
        ask(name)
    assert fake.gets == []
    assert not Path(constants.HF_HUB_CACHE).exists()


def test_a_full_disk_is_named(fake, files, monkeypatch):
    fake.repos[REPO] = files

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", full)
    with pytest.raises(CheckpointError, match=r"could not be downloaded or stored: .*No space left on device"):
        hub.download(REPO)


def test_weights_that_do_not_fit_the_config_are_refused_after_the_download(fake, files):
    fake.repos[REPO] = {**files, "config.json": json.dumps({**json.loads(files["config.json"]), "n_layer": 2}).encode()}
    hub.download(REPO)
    with pytest.raises(CheckpointError, match=r"has no tensor h\.1\.ln_1\.weight"):
        load_model(REPO)


def test_of_another_architecture_the_weights_are_not_fetched(fake, files):
    fake.repos[REPO] = {**files, "config.json": b'{"model_type": "mamba"}'}
    with pytest.raises(ConfigError, match="'mamba' model"):
        hub.download(REPO)
    assert not any(name.endswith("model.safetensors") for name in fake.gets)
    with pytest.raises(CheckpointError, match="is not on this computer"):
        load_model(REPO)


def test_shards_are_fetched_by_their_index_with_the_tokenizer(fake, files, tmp_path):
    network = random_network()
    folder = shards(tmp_path / "sharded", network)
    (folder / "tokenizer_config.json").write_text("{}")
    fake.repos[REPO] = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(CheckpointError, match="is not on this computer"):
        hub.local_folder(REPO)
    size, seen = hub.download_size(REPO), []
    hub.download(REPO, lambda done, total: seen.append((done, total)))
    weights = sum(len(body) for name, body in fake.repos[REPO].items() if name.startswith("model"))
    assert seen[-1] == (weights, weights)
    assert [done for done, _total in seen] == sorted(done for done, _total in seen)
    assert size >= weights - len(fake.repos[REPO]["model.safetensors.index.json"])
    assert torch.equal(load_model(REPO).network.wte.weight, network.wte.weight)
    assert (hub.local_folder(REPO) / "tokenizer_config.json").is_file()
    (hub.local_folder(REPO) / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(CheckpointError, match="is not on this computer"):
        hub.local_folder(REPO)


def test_the_files_of_this_test_are_sound(files):
    assert torch.isfinite(weights_of(random_network())["wte.weight"]).all()
    assert json.loads(files["config.json"])["vocab_size"] == 50_257
