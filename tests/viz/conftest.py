"""The app without a browser: its script is run as Streamlit runs it, and its elements are inspected."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from model.files import checkpoint
from model.network.network import Network
from model.network.sizes import Config
from tests.models import make_config, random_network, write_checkpoint
from tests.viz.navigation import go_to

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def _read_once() -> Iterator[None]:
    """What is the same for every test is read once: the embedded weights, and which installed packages have components
    for Streamlit, for which each AppTest looks anew."""
    read, embedded = checkpoint.load_weights, functools.cache(checkpoint.load_weights)

    def load_weights(folder: Path, config: Config) -> tuple[Network, tuple[str, ...]]:
        return (embedded if folder == checkpoint.EMBEDDED_FOLDER else read)(folder, config)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "load_weights", load_weights)
        scan = functools.cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the models `tiny` and `broken`, for tests to copy."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for name in ("tiny", "broken"):
        write_checkpoint(folder / name, random_network(make_config()))
    weights = folder / "broken" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    return folder


@pytest.fixture
def open_app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, checkpoints: Path) -> Iterator[Callable[..., AppTest]]:
    """`open_app(text=..., layer=...)`: the app as opened from a link with these parameters.

    Beside the embedded model it knows `tiny` (2 layers of 3 heads, 32 tokens) and `broken` (its weights are cut short).
    """
    shutil.copytree(checkpoints, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("HEADLIGHT_MODELS", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("viz.state.turn.DRAW_SECONDS", 0.0)  # no browser draws here
    monkeypatch.setenv("HEADLIGHT_PACK", "off")  # the tests compute with plain weights, too: equal to the bit

    def open_with(page: str | None = None, **params: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
        for name, value in params.items():
            app.query_params[name] = value
        return go_to(app, page) if page else app.run()

    yield open_with
    st.cache_resource.clear()
