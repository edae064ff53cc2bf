"""Checkpoint folders: every layout that is read, and every way to be broken, with what its error names."""

from __future__ import annotations

import json
import pickle
import random
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from model.errors import CheckpointError, ConfigError, HeadlightError, TokenizerError
from model.files import hub
from model.files.checkpoint import EMBEDDED, EMBEDDED_FOLDER, load_folder, load_model, load_weights
from model.network.config import GPT2Config
from model.network.gpt2 import GPT2
from model.text.tokenizer import ASSETS
from model.trace.trace import run_trace
from tests.model.text.test_tokenizer import MERGES, VOCAB
from tests.models import (
    N_REDUCED,
    hugging_face_model,
    make_config,
    published_name,
    random_network,
    weights_of,
    write_checkpoint,
    write_vocabulary,
)

IDS = (3, 260, 7)


@pytest.fixture
def folder(tmp_path, network) -> Path:
    """A sound checkpoint, to be broken."""
    return write_checkpoint(tmp_path / "mine", network)


def _same(loaded: GPT2, network: GPT2) -> None:
    ours, theirs = loaded.state_dict(), network.state_dict()
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, theirs[name]), name
    # (Not to the last bit: how the kernels round depends on where in memory the weights lie.)
    np.testing.assert_allclose(run_trace(loaded, IDS).logits(2), run_trace(network, IDS).logits(2), atol=1e-5, rtol=0)


# --- what is read --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefixed", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_with_and_without_prefix_tied_and_untied(tmp_path, prefixed, tied):
    network = random_network(make_config(tied=tied))
    weights = weights_of(network)
    if prefixed:
        weights = {published_name(name): tensor for name, tensor in weights.items()}
    loaded = load_model(write_checkpoint(tmp_path / "mine", network, weights=weights))
    assert (loaded.name, loaded.source, loaded.folder) == ("mine", "folder", tmp_path / "mine")
    assert loaded.config == network.config
    _same(loaded.network, network)


def test_a_folder_given_as_text(folder, network, monkeypatch):
    _same(load_model(str(folder)).network, network)
    monkeypatch.setenv("HOME", str(folder.parent))
    _same(load_model("~/mine").network, network)


def test_a_name_of_its_own(folder):
    assert load_folder(folder, name="another").name == "another"
    assert load_folder(folder / "." / "").name == "mine"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_float_formats_are_widened_exactly(tmp_path, network, dtype):
    weights = {name: tensor.to(dtype) for name, tensor in weights_of(network).items()}
    loaded = load_folder(write_checkpoint(tmp_path, network, weights=weights)).network
    for name, tensor in loaded.state_dict().items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, weights[name].float()), name


def test_what_is_no_weight_is_ignored(tmp_path, network):
    """The causal mask that old checkpoints carry."""
    weights = weights_of(network)
    for layer in range(2):
        weights[f"h.{layer}.attn.bias"] = torch.ones(1, 1, 32, 32).tril()
        weights[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    _same(load_folder(write_checkpoint(tmp_path, network, weights=weights)).network, network)


def test_what_transformers_saves_is_read(tmp_path, network):
    hugging_face_model(network).save_pretrained(tmp_path)
    write_vocabulary(tmp_path / "vocab.tiktoken")
    _same(load_folder(tmp_path).network, network)


def test_a_loaded_network_is_ready_to_look_at_and_nothing_else(folder):
    network = load_folder(folder).network
    assert not network.training
    assert not any(parameter.requires_grad for parameter in network.parameters())


def test_the_number_of_parameters(folder, network, tmp_path):
    d, layers, mlp = 30, 2, 70
    block = 4 * d + (d * 3 * d + 3 * d) + (d * d + d) + (d * mlp + mlp) + (mlp * d + d)
    assert load_folder(folder).n_parameters == N_REDUCED * d + 32 * d + layers * block + 2 * d
    untied = random_network(make_config(tied=False))
    other = load_folder(write_checkpoint(tmp_path / "untied", untied))
    assert other.n_parameters == load_folder(folder).n_parameters + N_REDUCED * d


def test_the_embedded_model_is_the_default():
    loaded = load_model()
    assert (loaded.name, loaded.source, loaded.folder) == (EMBEDDED, "embedded", EMBEDDED_FOLDER)
    ids = loaded.tokenizer.encode("A robot must obey")
    assert loaded.tokenizer.decode(ids) == "A robot must obey"
    assert np.isfinite(run_trace(loaded.network, ids).logits(len(ids) - 1)).all()


def test_nothing_of_the_file_stays_mapped(folder):
    loaded = load_folder(folder)
    assert loaded.n_parameters
    assert str(folder) not in Path("/proc/self/maps").read_text()


def test_the_file_is_never_written_to(folder, network):
    before = (folder / "model.safetensors").read_bytes()
    loaded = load_folder(folder).network
    loaded.wte.weight.data.zero_()
    assert (folder / "model.safetensors").read_bytes() == before
    _same(load_folder(folder).network, network)


# --- vocabularies --------------------------------------------------------------------------------------------------


def test_the_vocabulary_beside_the_weights_is_used(folder):
    tokenizer = load_folder(folder).tokenizer
    assert tokenizer.n_vocab == N_REDUCED
    assert [token.label for token in tokenizer.tokens(tokenizer.encode(" robot"))] == ["·robot"]


def test_published_vocabulary_files_are_used(tmp_path):
    network = random_network(make_config(d_vocab=50_300, n_layers=1))
    folder = write_checkpoint(tmp_path, network, vocabulary=False)
    shutil.copy(ASSETS / "tiktoken" / VOCAB, folder / "vocab.json")
    shutil.copy(ASSETS / "tiktoken" / MERGES, folder / "merges.txt")
    loaded = load_folder(folder)
    assert loaded.tokenizer.n_vocab == 50_257
    assert loaded.tokenizer.encode(" robot") == (9379,)


def test_without_a_file_a_model_of_gpt2s_size_has_gpt2s_vocabulary(tmp_path):
    network = random_network(make_config(d_vocab=50_257, n_layers=1))
    loaded = load_folder(write_checkpoint(tmp_path, network, vocabulary=False))
    assert loaded.tokenizer.encode(" robot") == (9379,)


def test_an_unknown_vocabulary_without_a_file(tmp_path, network):
    folder = write_checkpoint(tmp_path / "mine", network, vocabulary=False)
    with pytest.raises(CheckpointError, match=rf"mine has {N_REDUCED} tokens.*expected tokenizer\.json, vocab\.json"):
        load_folder(folder)


def test_a_vocabulary_larger_than_the_model(tmp_path):
    network = random_network(make_config(d_vocab=200))
    folder = write_checkpoint(tmp_path / "mine", network)
    with pytest.raises(CheckpointError, match=rf"mine: the vocabulary has {N_REDUCED} tokens, but .* only 200 rows"):
        load_folder(folder)


def test_a_model_may_have_more_rows_than_its_vocabulary(tmp_path):
    network = random_network(make_config(d_vocab=N_REDUCED + 9))
    loaded = load_folder(write_checkpoint(tmp_path, network))
    assert loaded.tokenizer.token(N_REDUCED + 8).label == f"⟨{N_REDUCED + 8}⟩"


def test_a_broken_vocabulary(folder):
    (folder / "vocab.tiktoken").write_text("nothing")
    with pytest.raises(TokenizerError, match=r"vocab\.tiktoken cannot be read"):
        load_folder(folder)


# --- broken weights ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("wte.weight", None, r"has no tensor wte\.weight; .* shape \(271, 30\)"),
        ("h.1.attn.c_attn.bias", None, r"has no tensor h\.1\.attn\.c_attn\.bias; .* shape \(90,\)"),
        (
            "h.0.mlp.c_fc.weight",
            lambda tensor: tensor.T.contiguous(),
            r"h\.0\.mlp\.c_fc\.weight has the shape \(70, 30\); by config\.json it must be \(30, 70\)",
        ),
        ("wpe.weight", lambda tensor: tensor[:16].clone(), r"wpe\.weight has the shape \(16, 30\); .* \(32, 30\)"),
        ("ln_f.bias", lambda tensor: tensor[0].clone(), r"ln_f\.bias has the shape \(\); .* \(30,\)"),
        ("wte.weight", lambda tensor: tensor.to(torch.int64), r"wte\.weight holds I64 numbers; allowed are BF16, F16"),
        ("ln_f.weight", lambda tensor: tensor > 0, r"ln_f\.weight holds BOOL numbers; allowed are BF16, F16"),
    ],
)
def test_a_tensor_missing_misshapen_or_of_another_kind(tmp_path, network, name, change, message):
    weights = weights_of(network)
    tensor = weights.pop(name)
    if change is not None:
        weights[name] = change(tensor)
    folder = write_checkpoint(tmp_path, network, weights=weights)
    with pytest.raises(CheckpointError, match=r"model\.safetensors.*" + message):
        load_folder(folder)


@pytest.mark.parametrize(("value", "shown"), [(float("nan"), "nan"), (float("inf"), "inf"), (-float("inf"), "-inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_number_that_is_none(tmp_path, network, value, shown, dtype):
    weights = {name: tensor.to(dtype) for name, tensor in weights_of(network).items()}
    weights["h.1.mlp.c_proj.weight"][3, 5] = value
    folder = write_checkpoint(tmp_path, network, weights=weights)
    with pytest.raises(
        CheckpointError, match=rf"h\.1\.mlp\.c_proj\.weight holds {shown} at \(3, 5\); it must be finite"
    ):
        load_folder(folder)


def test_large_numbers_whose_sum_overflows_are_sound(tmp_path, network):
    weights = weights_of(network)
    weights["ln_f.bias"][:] = 3e38
    folder = write_checkpoint(tmp_path, network, weights=weights)
    assert load_folder(folder).network.ln_f.bias[7] == torch.tensor(3e38)


def test_the_error_names_the_tensor_as_the_file_does(tmp_path, network):
    weights = {published_name(name): tensor for name, tensor in weights_of(network).items()}
    weights["transformer.ln_f.bias"] = torch.zeros(29)
    folder = write_checkpoint(tmp_path, network, weights=weights)
    with pytest.raises(CheckpointError, match=r"transformer\.ln_f\.bias has the shape \(29,\)"):
        load_folder(folder)


def _header(size: int, header: bytes = b"") -> bytes:
    return struct.pack("<Q", size) + header


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda whole: whole[: len(whole) // 2], id="cut short"),
        pytest.param(lambda whole: whole[:-1], id="one byte short"),
        pytest.param(lambda whole: whole[:20], id="cut in the header"),
        pytest.param(lambda whole: b"", id="empty"),
        pytest.param(lambda whole: whole + b"\0", id="one byte more"),
        pytest.param(lambda whole: pickle.dumps({"wte.weight": [1.0]}), id="a pickle"),
        pytest.param(lambda whole: b"PK\x03\x04" + b"\0" * 100, id="a torch archive"),
        pytest.param(lambda whole: b"<html>not found</html>", id="a web page"),
        pytest.param(lambda whole: _header(10**12, b"{}"), id="a header of 1 TB"),
        pytest.param(lambda whole: _header(2**64 - 1, b"{}"), id="a header of 16 EB"),
        pytest.param(lambda whole: _header(2, b"[]"), id="a header that is a list"),
        pytest.param(lambda whole: _header(60_000, b"[" * 60_000), id="a header of brackets"),
        pytest.param(
            lambda whole: _header(
                79, b'{"wte.weight":{"dtype":"F32","shape":[271,30],"data_offsets":[0,1000000000]}}  '
            ),
            id="a tensor of 1 GB that is not there",
        ),
    ],
)
def test_a_file_that_is_no_whole_safetensors(folder, broken):
    path = folder / "model.safetensors"
    path.write_bytes(broken(path.read_bytes()))
    with pytest.raises(CheckpointError, match=r"model\.safetensors is not a complete \.safetensors file"):
        load_folder(folder)


def test_no_damage_of_the_header_escapes_as_another_error(folder, network):
    """Two hundred files with a few bytes of the header changed: each loads, or is refused by name."""
    path, rng = folder / "model.safetensors", random.Random(0)
    refused: list[str] = []
    whole = path.read_bytes()
    size = struct.unpack("<Q", whole[:8])[0]
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(8 + size)] = rng.randrange(256)
        path.unlink()  # an earlier mapping keeps its own file
        path.write_bytes(damaged)
        try:
            load_weights(folder, network.config)
        except CheckpointError as error:
            refused.append(str(error))
    assert len(refused) > 150
    assert all("model.safetensors" in message for message in refused)


def test_no_file_at_all(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"^mine has no model\.safetensors\.$"):
        load_folder(folder)


def test_pickled_weights_are_never_run(folder):
    """A pickle that would leave a file behind if anything opened it."""
    trap = folder / "sprung"

    class Trap:
        def __reduce__(self):
            return (Path.touch, (trap,))

    for name in ("model.safetensors", "pytorch_model.bin"):
        (folder / name).write_bytes(pickle.dumps(Trap()))
    with pytest.raises(CheckpointError):
        load_folder(folder)
    assert not trap.exists()
    pickle.loads((folder / "pytorch_model.bin").read_bytes())
    assert trap.exists()


# --- broken config.json --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (None, CheckpointError, r"mine has no config\.json"),
        ("", ConfigError, r"config\.json in mine cannot be read as JSON"),
        ('{"model_type": "gpt2"', ConfigError, r"config\.json in mine cannot be read as JSON"),
        ("[" * 100_000, ConfigError, r"config\.json in mine cannot be read as JSON"),
        ("[1, 2]", ConfigError, r"config\.json in mine must hold an object, not list"),
        ("null", ConfigError, r"config\.json in mine must hold an object, not NoneType"),
        ('{"model_type": "mamba", "hidden_size": 4096}', ConfigError, r"'mamba' model; supported are gpt2, llama"),
        ("{}", ConfigError, r"None model; supported are gpt2"),
    ],
)
def test_a_config_that_is_none(folder, content, error, message):
    (folder / "config.json").unlink()
    if content is not None:
        (folder / "config.json").write_text(content)
    with pytest.raises(error, match=message):
        load_folder(folder)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"n_head": 7}, ConfigError, r"30 \(n_embd\) cannot be split into 7 heads"),
        ({"n_layer": 3}, CheckpointError, r"has no tensor h\.2\.ln_1\.weight"),
        (
            {"n_embd": 33},
            CheckpointError,
            r"wte\.weight has the shape \(271, 30\); by config\.json it must be \(271, 33\)",
        ),
        ({"n_embd": 99_999, "n_head": 1}, CheckpointError, r"must be \(271, 99999\)"),
        ({"n_inner": 71}, CheckpointError, r"h\.0\.mlp\.c_fc\.weight has the shape \(30, 70\); .* \(30, 71\)"),
        ({"n_positions": 1_000_000}, CheckpointError, r"wpe\.weight has the shape \(32, 30\); .* \(1000000, 30\)"),
        ({"n_layer": 10**15}, ConfigError, r"n_layer = 1000000000000000"),
        ({"vocab_size": 10**15}, ConfigError, r"vocab_size = 1000000000000000"),
        ({"tie_word_embeddings": False}, CheckpointError, r"has no tensor lm_head\.weight"),
    ],
)
def test_a_config_that_does_not_fit_the_weights(tmp_path, network, changes, error, message):
    with pytest.raises(error, match=message):
        load_folder(write_checkpoint(tmp_path, network, **changes))


def test_a_config_that_is_no_text(folder):
    (folder / "config.json").write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(ConfigError, match=r"config\.json in mine cannot be read as JSON"):
        load_folder(folder)


# --- names ---------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(CheckpointError, match=r"There is no folder .*nothing"):
        load_model(tmp_path / "nothing")


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../../etc",
        "/nowhere/at/all",
        "a/b/c",
        "a b",
        "a--b",
        "a..b",
        "gpt2.git",
        "a-",
        "-a",
        "é",
        "a\x00b",
        "~nobody-of-that-name/x",
        "https://huggingface.co/gpt2",
        "x" * 5_000,
        "<b>",
        "C:\\models\\gpt2",
    ],
)
def test_names_of_nothing(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError):
        load_model(name)


def test_load_model_asks_nothing_of_the_network(tmp_path, monkeypatch):
    """Not even for a hub model that is not here: it says how to get it."""
    import huggingface_hub

    def no_network(*args, **kwargs):
        raise AssertionError("load_model asked the network")

    monkeypatch.setattr("httpx2.Client.send", no_network)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", no_network)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    told = r'gpt2-xl is not on this computer.*model\.files\.hub\.download\("gpt2-xl"\)'
    with pytest.raises(CheckpointError, match=told):
        load_model("gpt2-xl")
    assert hub.local_models() == []


def test_every_error_is_one_that_a_caller_expects():
    for kind in (CheckpointError, ConfigError, TokenizerError):
        assert issubclass(kind, HeadlightError)


def test_config_json_of_the_tests_is_read_back(folder, network):
    assert GPT2Config.from_hugging_face(json.loads((folder / "config.json").read_text())) == network.config
