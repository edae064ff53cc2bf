"""The app without a browser: its script run as Streamlit runs it, its elements looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.models import make_config, random_network, write_checkpoint

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def open_app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., AppTest]]:
    """`open_app(text=..., layer=...)`: the app as opened from a link with these parameters.

    Beside the embedded model it knows `tiny` (2 layers of 3 heads, 32 tokens) and `broken` (its weights are cut short).
    """
    for name in ("tiny", "broken"):
        write_checkpoint(tmp_path / name, random_network(make_config()))
    weights = tmp_path / "broken" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    monkeypatch.setenv("HEADLIGHT_MODELS", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("viz.session.DRAW_SECONDS", 0.0)  # no browser draws here
    monkeypatch.setenv("HEADLIGHT_PACK", "off")  # the tests compute with plain weights, too: equal to the bit

    def open_with(page: str | None = None, **params: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        for name, value in params.items():
            app.query_params[name] = value
        app.run()
        return app.switch_page(f"viz/pages/{page}.py").run() if page else app

    yield open_with
    st.cache_resource.clear()
