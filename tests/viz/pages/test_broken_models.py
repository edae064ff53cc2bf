"""A folder of broken checkpoints: each is named, the running model is kept, and memory stays as it was."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from tests.models import make_config, random_network, weights_of, write_checkpoint
from tests.viz.decode import strip_data

MOST_MB = 48


def _weights(**changes: Any) -> Callable[[Path], None]:
    """A checkpoint some of whose tensors are others; None takes one away."""

    def write(folder: Path) -> None:
        network = random_network(make_config())
        weights = weights_of(network)
        for name, change in changes.items():
            name = name.replace("__", ".")
            tensor = weights.pop(name)
            if change is not None:
                weights[name] = change(tensor)
        write_checkpoint(folder, network, weights=weights)

    return write


def _file(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """A checkpoint whose weights' file has other content."""

    def write(folder: Path) -> None:
        path = write_checkpoint(folder, random_network(make_config())) / "model.safetensors"
        path.write_bytes(change(path.read_bytes()))

    return write


def _config(**changes: Any) -> Callable[[Path], None]:
    """A checkpoint whose config.json says something else."""
    return lambda folder: (write_checkpoint(folder, random_network(make_config()), **changes), None)[1]


def _mamba(folder: Path) -> None:
    write_checkpoint(folder, random_network(make_config()))
    (folder / "config.json").write_text(json.dumps({"model_type": "mamba", "hidden_size": 4096}))


def _link_out(folder: Path) -> None:
    write_checkpoint(folder, random_network(make_config()))
    outside = folder.parents[1] / "outside.safetensors"
    (folder / "model.safetensors").rename(outside)
    (folder / "model.safetensors").symlink_to(outside)


def _folder_link_out(folder: Path) -> None:
    write_checkpoint(folder.parents[1] / "elsewhere" / folder.name, random_network(make_config()))
    folder.symlink_to(folder.parents[1] / "elsewhere" / folder.name)


def _first_row_nan(tensor: torch.Tensor) -> torch.Tensor:
    tensor[0] = float("nan")
    return tensor


def _terabyte(whole: bytes) -> bytes:
    header = {"wte.weight": {"dtype": "F32", "shape": [10**6, 250_000], "data_offsets": [0, 10**12]}}
    return struct.pack("<Q", len(json.dumps(header))) + json.dumps(header).encode() + whole[:64]


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "truncated": (_file(lambda whole: whole[: len(whole) // 2]), "not a complete"),
    "empty": (_file(lambda whole: b""), "not a complete"),
    "missing tensor": (_weights(h__1__attn__c_attn__weight=None), "no tensor h.1.attn.c_attn.weight"),
    "wrong shape": (_weights(wpe__weight=lambda tensor: tensor[:7].clone()), "wpe.weight has the shape (7, 30)"),
    "not numbers": (_weights(h__0__mlp__c_fc__weight=_first_row_nan), "h.0.mlp.c_fc.weight holds nan"),
    "wrong dtype": (_weights(ln_f__weight=lambda tensor: tensor.to(torch.int32)), "ln_f.weight holds I32"),
    "header of 1 TB": (_file(lambda whole: struct.pack("<Q", 10**12) + whole[8:]), "not a complete"),
    "tensor of 1 TB": (_file(_terabyte), "not a complete"),
    "heads that do not divide": (_config(n_head=7), "cannot be split into 7 heads"),
    "huge": (_config(n_embd=99_999, n_head=1, vocab_size=9_999_999), "must be"),
    "mamba": (_mamba, "'mamba' model"),
    "linked weights": (_link_out, "leads out of the folders"),
    "linked folder": (_folder_link_out, "leads out of the folders"),
    "pickle": (_file(lambda whole: pickle.dumps({"wte.weight": [1.0]})), "not a complete"),
}


@pytest.fixture
def shelf(open_app: Callable[..., AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    models = tmp_path / "shelf"
    models.mkdir()
    write_checkpoint(models / "sound", random_network(make_config()))
    for name, (write, _) in BROKEN.items():
        write(models / name)
    monkeypatch.setenv("HEADLIGHT_MODELS", str(models))
    return open_app


def _most_memory_mb() -> float:
    return int(Path("/proc/self/status").read_text("utf-8").split("VmHWM:")[1].split()[0]) / 1024


def test_each_is_named_the_running_model_stays_and_no_memory_is_taken(shelf: Callable[..., AppTest]) -> None:
    app = shelf(text="a robot must obey", model="sound", layer="1", head="2")
    assert app.query_params["model"] == "sound"
    Path("/proc/self/clear_refs").write_text("5")  # the most memory so far is counted from now on
    before = _most_memory_mb()
    for name, (_, told) in BROKEN.items():
        app.selectbox(key="model_box").set_value(name).run()
        assert not app.exception, name
        assert not app.error, name
        warnings = [warning.value.replace("\\", "") for warning in app.warning]
        named = f"{name} cannot be shown, so sound is."
        assert any(warning.startswith(named) and told in warning for warning in warnings), (name, warnings)
        assert app.query_params["model"] == "sound", name
        assert strip_data(app)["heads"] == ["L1H2"], name
    assert _most_memory_mb() - before < MOST_MB
