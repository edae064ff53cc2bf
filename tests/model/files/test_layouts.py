"""Layouts found in the wild: each tiny checkpoint opens with the numbers of `transformers`, or is refused by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from model.__main__ import main
from model.errors import CheckpointError, ConfigError, MemoryShortError
from model.files.checkpoint import LoadedModel, load_folder
from model.files.convert import convert
from model.files.safetensors_file import INDEX_FILE
from model.network import packed
from model.network.network import Network
from model.trace.trace import run_trace
from tests.models import (
    LLAMAS,
    hugging_face_model,
    make_config,
    published_name,
    random_llama,
    random_network,
    weights_of,
    write_checkpoint,
)

IDS = (3, 260, 7, 44, 3)


def logits_of(model: LoadedModel) -> np.ndarray:
    return run_trace(model.network, IDS).logits(4)


def assert_same(model: LoadedModel, network: Network) -> None:
    np.testing.assert_allclose(logits_of(model), run_trace(network, IDS).logits(4), atol=1e-5, rtol=0)


def by_transformers(folder: Path) -> np.ndarray:
    import transformers

    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        return theirs(torch.tensor([IDS])).logits[0, 4].numpy()


def shards(folder: Path, network: Network, n: int = 3, **weight_map: str) -> Path:
    """The checkpoint in `n` files and an index; `weight_map` replaces what it says."""
    weights = weights_of(network)
    write_checkpoint(folder, network)
    (folder / "model.safetensors").unlink()
    names = [f"model-{i + 1:05}-of-{n:05}.safetensors" for i in range(n)]
    where = {name: names[i % n] for i, name in enumerate(weights)}
    for shard in names:
        save_file({name: weights[name] for name in weights if where[name] == shard}, folder / shard)
    (folder / INDEX_FILE).write_text(json.dumps({"metadata": {}, "weight_map": {**where, **weight_map}}))
    return folder


# --- families --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LLAMAS)
def test_every_family_opens_from_its_published_layout(tmp_path: Path, kind: str) -> None:
    network = random_llama(**LLAMAS[kind])
    folder = write_checkpoint(tmp_path / "mine", network)
    model = load_folder(folder)
    assert model.config == network.config
    assert model.notes == ()
    np.testing.assert_allclose(logits_of(model), by_transformers(folder), atol=2e-5, rtol=0)


def test_what_transformers_saves_of_a_llama_is_read(tmp_path: Path) -> None:
    network = random_llama(tied=True)
    hugging_face_model(network).save_pretrained(tmp_path)
    write_checkpoint(tmp_path / "vocabulary", network)
    (tmp_path / "vocabulary" / "vocab.tiktoken").rename(tmp_path / "vocab.tiktoken")
    assert_same(load_folder(tmp_path), network)


# --- names and ties --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "_orig_mod.module.", "module.transformer."])
def test_prefixes_of_wrappers_are_taken_off(tmp_path: Path, prefix: str) -> None:
    network = random_network()
    weights = {prefix + name: tensor for name, tensor in weights_of(network).items()}
    model = load_folder(write_checkpoint(tmp_path / "mine", network, weights=weights))
    assert_same(model, network)
    assert model.notes == ()


def test_a_name_that_is_there_twice_but_for_its_prefix_is_refused(tmp_path: Path) -> None:
    network = random_network()
    weights = weights_of(network)
    weights["module.ln_f.bias"] = weights["ln_f.bias"] + 1
    with pytest.raises(CheckpointError, match=r"has ln_f\.bias twice"):
        load_folder(write_checkpoint(tmp_path / "mine", network, weights=weights))


@pytest.mark.parametrize("network", [random_network(), random_llama(tied=True)], ids=["gpt2", "llama"])
def test_a_tied_model_stored_by_its_output_alone(tmp_path: Path, network: Network) -> None:
    weights = weights_of(network)
    name = "wte.weight" if "wte.weight" in weights else "model.embed_tokens.weight"
    weights["lm_head.weight"] = weights.pop(name)
    model = load_folder(write_checkpoint(tmp_path / "mine", network, weights=weights))
    assert_same(model, network)
    assert model.config.tied


def test_a_tied_model_with_another_output_uses_it_and_says_so(tmp_path: Path) -> None:
    network = random_network()
    weights = {published_name(name): tensor for name, tensor in weights_of(network).items()}
    weights["lm_head.weight"] = weights["transformer.wte.weight"].flip(0).clone()
    folder = write_checkpoint(tmp_path / "mine", network, weights=weights)
    model = load_folder(folder)
    np.testing.assert_allclose(logits_of(model), by_transformers(folder), atol=1e-5, rtol=0)
    assert np.abs(logits_of(model) - run_trace(network, IDS).logits(4)).max() > 1
    assert not model.config.tied
    assert any("lm_head.weight of its own" in note for note in model.notes)


def test_a_tied_model_with_a_copy_of_its_embedding_is_tied(tmp_path: Path) -> None:
    network = random_network()
    weights = weights_of(network)
    weights["lm_head.weight"] = weights["wte.weight"].clone()
    model = load_folder(write_checkpoint(tmp_path / "mine", network, weights=weights))
    assert model.config.tied
    assert model.notes == ()


# --- biases, other tensors, sizes ------------------------------------------------------------------------------------


def test_without_any_bias_they_are_0_and_that_is_said(tmp_path: Path) -> None:
    network = random_network()
    weights = {name: tensor for name, tensor in weights_of(network).items() if not name.endswith("bias")}
    model = load_folder(write_checkpoint(tmp_path / "mine", network, weights=weights))
    for name, parameter in network.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
    assert_same(model, network)
    assert model.notes == ("The file has no biases: they are 0.",)


def test_some_biases_missing_is_damage(tmp_path: Path) -> None:
    network = random_network()
    weights = weights_of(network)
    del weights["h.0.mlp.c_fc.bias"]
    with pytest.raises(CheckpointError, match=r"has no tensor h\.0\.mlp\.c_fc\.bias"):
        load_folder(write_checkpoint(tmp_path / "mine", network, weights=weights))


def test_a_qwen2_without_its_biases_is_damaged(tmp_path: Path) -> None:
    network = random_llama(**LLAMAS["qwen2"])
    weights = {name: tensor for name, tensor in weights_of(network).items() if not name.endswith("bias")}
    with pytest.raises(CheckpointError, match=r"has no tensor model\.layers\.0\.self_attn\.q_proj\.bias"):
        load_folder(write_checkpoint(tmp_path / "mine", network, weights=weights))


def test_tensors_without_a_place_are_named(tmp_path: Path) -> None:
    network = random_network()
    weights = weights_of(network) | {f"value_head.{i}": torch.zeros(2) for i in range(5)}
    weights["h.0.attn.bias"] = torch.ones(1, 1, 32, 32)  # the causal mask of old files
    (note,) = load_folder(write_checkpoint(tmp_path / "mine", network, weights=weights)).notes
    assert note.startswith("5 tensors of the file have no place")
    assert "value_head.0, value_head.1, value_head.2, …" in note


def test_sizes_by_their_other_names(tmp_path: Path) -> None:
    network = random_network()
    folder = write_checkpoint(tmp_path / "mine", network)
    raw = json.loads((folder / "config.json").read_text())
    others = {"n_embd": "hidden_size", "n_head": "num_attention_heads", "n_layer": "num_hidden_layers"}
    for name, other in {**others, "n_positions": "max_position_embeddings"}.items():
        raw[other] = raw.pop(name)
    (folder / "config.json").write_text(json.dumps(raw))
    np.testing.assert_allclose(logits_of(load_folder(folder)), by_transformers(folder), atol=1e-5, rtol=0)


def test_a_shorter_n_ctx_is_said(tmp_path: Path) -> None:
    model = load_folder(write_checkpoint(tmp_path / "mine", random_network(), n_ctx=16))
    assert model.config.n_ctx == 32
    assert "n_ctx 16 is shorter" in model.notes[0]
    assert load_folder(write_checkpoint(tmp_path / "other", random_network(), n_ctx=32)).notes == ()


# --- shards ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", [random_network(), random_llama()], ids=["gpt2", "llama"])
def test_shards_are_read_by_their_index(tmp_path: Path, network: Network) -> None:
    model = load_folder(shards(tmp_path / "mine", network))
    assert_same(model, network)
    assert model.notes == ()


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    folder = shards(tmp_path / "mine", random_network())
    (folder / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"mine lacks model-00002-of-00003\.safetensors, one of 3 files"):
        load_folder(folder)


def test_a_tensor_in_no_shard_is_named(tmp_path: Path) -> None:
    folder = shards(tmp_path / "mine", random_network(), **{"h.9.mlp.weight": "model-00001-of-00003.safetensors"})
    with pytest.raises(CheckpointError, match=r"model-00001-of-00003\.safetensors has no tensor h\.9\.mlp\.weight"):
        load_folder(folder)


@pytest.mark.parametrize(
    "index", ["{", "[]", '{"weight_map": 3}', '{"weight_map": {}}', '{"weight_map": {"a": "../x"}}']
)
def test_a_damaged_index_is_named(tmp_path: Path, index: str) -> None:
    folder = shards(tmp_path / "mine", random_network())
    (folder / INDEX_FILE).write_text(index)
    with pytest.raises(CheckpointError, match=r"model\.safetensors\.index\.json of mine cannot be read"):
        load_folder(folder)


# --- memory and files that change ------------------------------------------------------------------------------------


def test_a_model_that_does_not_fit_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_checkpoint(tmp_path / "mine", random_network())
    needed = sum(4 * parameter.numel() for parameter in random_network().parameters())
    monkeypatch.setattr(packed, "free_memory", lambda: needed - 1)
    with pytest.raises(MemoryShortError, match=r"would take 0\.0 GB of memory; 0\.0 GB are free"):
        load_folder(folder)
    monkeypatch.setattr(packed, "free_memory", lambda: needed)
    load_folder(folder)
    monkeypatch.setattr(packed, "free_memory", lambda: None)  # unknown: nothing is refused
    load_folder(folder)


# In a process of its own: if the file were mapped, a truncated one would end the process (SIGBUS).
_CHANGED = """
import os, sys
from pathlib import Path
import numpy as np
from model import load_model, run_trace
model = load_model(sys.argv[1])
before = run_trace(model.network, (3, 260, 7)).logits(2).copy()
path = next(Path(sys.argv[1]).glob("*.safetensors"))
if sys.argv[2] == "truncated":
    os.truncate(path, 100)
else:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(os.urandom(size))
after = run_trace(model.network, (3, 260, 7)).logits(2)
assert np.array_equal(before, after)
print("alive")
"""


@pytest.mark.parametrize("how", ["truncated", "overwritten"])
def test_a_file_that_changes_while_the_app_runs_changes_nothing(tmp_path: Path, how: str) -> None:
    folder = write_checkpoint(tmp_path / "mine", random_network())
    done = subprocess.run([sys.executable, "-c", _CHANGED, folder, how], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr


# --- PyTorch's own format --------------------------------------------------------------------------------------------


def nano_gpt(file: Path, network: Network, *, bias: bool) -> None:
    """A checkpoint as nanoGPT's train.py writes it: compiled, Linear weights (out, in), the embedding twice."""
    c, state = network.config, {}
    for name, tensor in weights_of(network).items():
        linear = name.endswith(".weight") and (".c_" in name)
        state[f"_orig_mod.transformer.{name}"] = tensor.t().contiguous() if linear else tensor
    state["_orig_mod.lm_head.weight"] = state["_orig_mod.transformer.wte.weight"]
    if not bias:
        state = {name: tensor for name, tensor in state.items() if not name.endswith("bias")}
    sizes = {"n_layer": c.n_layers, "n_head": c.n_heads, "n_embd": c.d_model, "block_size": c.n_ctx, "bias": bias}
    model_args = {**sizes, "vocab_size": c.d_vocab, "dropout": 0.0}
    torch.save({"model": state, "model_args": model_args, "iter_num": 7, "config": {}, "best_val_loss": 1.0}, file)


@pytest.mark.parametrize("bias", [True, False])
def test_nano_gpts_checkpoint_becomes_a_folder(tmp_path: Path, bias: bool) -> None:
    network = random_network(make_config(d_mlp=120, tanh_gelu=False))
    if not bias:
        for name, parameter in network.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
    nano_gpt(tmp_path / "ckpt.pt", network, bias=bias)
    write_checkpoint(tmp_path / "vocabulary", network)
    (tmp_path / "vocabulary" / "vocab.tiktoken").rename(tmp_path / "vocab.tiktoken")
    assert main(["convert", str(tmp_path / "ckpt.pt"), str(tmp_path / "out")]) == 0
    model = load_folder(tmp_path / "out")
    assert model.config == network.config
    assert_same(model, network)


def test_pytorch_model_bin_becomes_a_folder(tmp_path: Path) -> None:
    network = random_llama()
    write_checkpoint(tmp_path / "old", network)
    (tmp_path / "old" / "model.safetensors").unlink()
    torch.save(weights_of(network), tmp_path / "old" / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin is not read.*python -m model convert"):
        load_folder(tmp_path / "old")
    convert(tmp_path / "old" / "pytorch_model.bin", tmp_path / "new")
    assert_same(load_folder(tmp_path / "new"), network)


class Trap:
    """Leaves a file behind if anything builds it."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("sprung"),))


def test_what_cannot_be_converted_is_named_and_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"model": Trap(), "model_args": {}}, "trap.pt")
    Path("text.pt").write_text("no checkpoint")
    torch.save([1, 2], "list.pt")
    torch.save({"model": {"a": torch.ones(2)}, "model_args": {"n_layer": 1}}, "short.pt")
    Path("full").mkdir()
    Path("full/x").touch()
    cases = {
        "trap.pt": "not a PyTorch file of tensors alone",
        "text.pt": "not a PyTorch file of tensors alone",
        "none.pt": "There is no file",
        "list.pt": "holds list, not named tensors",
        "short.pt": "model_args lacks a size",
    }
    for name, message in cases.items():
        with pytest.raises(CheckpointError, match=message):
            convert(Path(name), Path("out"))
    with pytest.raises(CheckpointError, match="is there already"):
        convert(Path("list.pt"), Path("full"))
    torch.save({"a": torch.ones(2)}, "bare.pt")
    with pytest.raises(CheckpointError, match=r"has no config\.json"):
        convert(Path("bare.pt"), Path("out"))
    (tmp_path / "config.json").write_text('{"model_type": "mamba"}')
    with pytest.raises(ConfigError, match="'mamba' model"):
        convert(Path("bare.pt"), Path("out"))
    assert not Path("sprung").exists()
    assert not Path("out").exists()
