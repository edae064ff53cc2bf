"""`.gguf` files: every architecture and quantisation that is read, and every way to be broken."""

from __future__ import annotations

import re
import struct
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize, quantize

from model.errors import CheckpointError, ConfigError, HeadlightError
from model.files.checkpoint import load_model
from model.files.family import family_of
from model.files.gguf_file import GGUFTensors
from model.files.gguf_header import read_header
from model.files.gguf_quantisation import formats
from model.network.network import Network
from model.network.rotary import Rotary, rotate
from tests.gguf_files import write_gguf
from tests.gguf_vocabularies import byte_level
from tests.models import LLAMAS, N_REDUCED, hugging_face_model, make_config, random_llama, random_network

IDS = torch.tensor([3, 260, 7, 3, 260, 9])
LLAMA_3 = Rotary(500_000.0, "llama3", 8.0, 1.0, 4.0, 8192)
VOCABULARY = byte_level(n=N_REDUCED)
NETWORKS = ["gpt2", "untied gpt2", *LLAMAS]


def write(path: Path, network: Network, **changes: Any) -> Path:
    """Write `network` with a vocabulary."""
    return write_gguf(path, network, vocabulary=VOCABULARY, **changes)


def make(name: str) -> Network:
    """The network of that name, with weights that F16 holds exactly."""
    network: Network
    if "gpt2" in name:
        network = random_network(make_config(tied=name == "gpt2", n_heads=4, d_model=32, d_mlp=64))
    else:
        network = random_llama(**LLAMAS[name] | ({"positions": LLAMA_3} if name == "llama 3" else {}))
    for parameter in network.parameters():
        parameter.copy_(parameter.half().float())
    return network


def load(path: Path) -> Network:
    """The network in the file."""
    return load_model(path).network


@pytest.fixture
def file(tmp_path) -> Path:
    """A sound file, to be broken."""
    return write(tmp_path / "mine.gguf", make("llama"))


# --- what is read --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("kind", [GGMLQuantizationType.F32, GGMLQuantizationType.F16])
def test_equal_to_transformers(tmp_path, name, kind):
    network = make(name)
    loaded = load(write(tmp_path / "mine.gguf", network, kind=kind))
    assert loaded.config == network.config
    for parameter, ours in loaded.state_dict().items():
        assert torch.equal(ours, network.state_dict()[parameter]), parameter
    with torch.inference_mode():
        theirs = hugging_face_model(network)(IDS[None]).logits[0]
        ours = loaded.logits(loaded(IDS))
    assert (ours - theirs).abs().max() <= 1e-5 * theirs.abs().max()


def test_shapes_are_those_that_are_read(tmp_path):
    for name in ("gpt2", "llama", "qwen3"):
        tensors = GGUFTensors(write(tmp_path / f"{name}.gguf", make(name)))
        assert tensors.names
        assert {tensors.source(tensor) for tensor in tensors.names} == {f"{name}.gguf"}
        for tensor in tensors.names:
            assert tuple(tensors.read(tensor).shape) == tensors.shape(tensor)


def test_queries_turn_as_llama_cpp_turns_them(tmp_path):
    """llama.cpp turns numbers 2i and 2i + 1 of a head together; our layout must give the same scores."""
    network = make("llama")
    path = write(tmp_path / "mine.gguf", network)
    raw = {tensor.name: torch.from_numpy(tensor.data.copy()) for tensor in GGUFReader(path).tensors}
    x = torch.randn(5, 48, generator=torch.Generator().manual_seed(1))
    angles = network.config.positions.angles(torch.arange(5), 8)  # (pos, pair)

    def turned(weight: torch.Tensor) -> torch.Tensor:
        pairs = (x @ weight.T).reshape(5, -1, 4, 2)  # (pos, head, pair, 2)
        first, second = pairs.unbind(-1)
        cos, sin = angles.cos()[:, None], angles.sin()[:, None]
        return torch.stack((first * cos - second * sin, first * sin + second * cos), -1).flatten(2).transpose(0, 1)

    theirs = turned(raw["blk.0.attn_q.weight"]) @ turned(raw["blk.0.attn_k.weight"]).repeat_interleave(3, 0).mT

    tensors = GGUFTensors(path)
    names = [f"model.layers.0.self_attn.{part}_proj.weight" for part in "qk"]
    q, k = (network_heads(x @ tensors.read(name).T) for name in names)
    turn = network.config.positions.turn(torch.arange(5), 8)
    ours = rotate(q, turn) @ rotate(k, turn).repeat_interleave(3, 0).mT
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def network_heads(x: torch.Tensor) -> torch.Tensor:
    """(pos, head * 8) as (head, pos, 8)."""
    return x.unflatten(-1, (-1, 8)).transpose(0, 1)


def blocks(kind: GGMLQuantizationType) -> tuple[np.ndarray, np.ndarray]:
    """Six rows of bytes in the format `kind`, and what they stand for."""
    n_block, block_bytes = GGML_QUANT_SIZES[kind]
    numbers = np.random.default_rng(0).normal(size=(6, 256)).astype(np.float32)
    try:
        data = quantize(numbers, kind).view(np.uint8)
    except NotImplementedError:  # the package can only undo it: any bytes, but the exponents of halves stay low
        data = np.random.default_rng(0).integers(0, 60, (6, 256 // n_block * block_bytes), dtype=np.uint8)
    return data, dequantize(data, kind)


@pytest.mark.parametrize("kind", [GGMLQuantizationType(kind) for kind in formats()], ids=lambda kind: kind.name)
def test_every_quantisation_that_the_package_can_undo(tmp_path, kind):
    data, numbers = blocks(kind)
    path = write(tmp_path / "mine.gguf", make("llama"), raw={"blk.0.ffn_up.weight": (data, kind)})
    read = GGUFTensors(path).read("model.layers.0.mlp.up_proj.weight")
    assert read.dtype == torch.float32
    assert np.isfinite(numbers).all()
    assert len(np.unique(numbers)) > 2
    np.testing.assert_array_equal(read.numpy(), numbers)


def test_all_quantisations_of_the_package_are_known():
    assert {"F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q2_K", "Q4_K", "Q6_K", "IQ1_S", "IQ4_XS", "MXFP4"} <= {
        format.name for format in formats().values()
    }


@pytest.mark.parametrize("kind", [GGMLQuantizationType.Q8_0, GGMLQuantizationType.F16, GGMLQuantizationType.F32])
def test_which_quantisation_it_is(tmp_path, kind):
    network = random_network(make_config(n_heads=4, d_model=32, d_mlp=64))
    tensors = GGUFTensors(write(tmp_path / "mine.gguf", network, kind=kind))
    assert tensors.quantisation == ("Q8_0" if kind == GGMLQuantizationType.Q8_0 else "")
    exact = network.state_dict()["h.0.mlp.c_fc.weight"]
    read = tensors.read("h.0.mlp.c_fc.weight")
    assert (read - exact).abs().max() < 0.02 * exact.abs().max()


def test_nothing_of_the_file_stays_mapped(file):
    """Cut or overwritten later, it can neither end the process nor change a number."""
    loaded = load(file)
    before = loaded(IDS)
    with file.open("r+b") as stream:
        stream.write(b"\0" * 1000)
        stream.truncate(2000)
    assert str(file) not in Path("/proc/self/maps").read_text()
    assert torch.equal(loaded(IDS), before)


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_llama_3s_stretched_positions_are_found_from_the_factors(tmp_path, factor):
    positions = replace(LLAMA_3, factor=factor)
    network = random_llama(positions=positions, d_head=16)
    assert load(write(tmp_path / "mine.gguf", network)).config.positions == positions


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"", "is not a GGUF file"),
        (b"GG", "is not a GGUF file"),
        (b"PK\x03\x04" + b"\0" * 100, "is not a GGUF file"),
        (b"GGUF" + struct.pack("<I", 1) + b"\0" * 100, "version 1"),
        (b"GGUF" + struct.pack(">I", 3) + b"\0" * 100, "little-endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "is not complete"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "is not complete"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**62), "is not complete"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 0, 2**61), "is not complete"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 8, 2**61), "is not complete"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 9, 1), "is damaged"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"\xff" + struct.pack("<IQ", 10, 1), "is damaged"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<IQ", 99, 1), "is damaged"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 1, 0, 1) + b"t" + struct.pack("<I", 2**31), "is damaged"),
    ],
)
def test_what_is_no_gguf_file_is_named(tmp_path, start, message):
    path = tmp_path / "mine.gguf"
    path.write_bytes(start)
    with pytest.raises(CheckpointError, match=f"mine.gguf {message}|mine.gguf is of GGUF {message}|{message}"):
        read_header(path)


def test_a_file_cut_anywhere_is_a_named_error(tmp_path):
    whole = write(tmp_path / "whole.gguf", make("qwen3")).read_bytes()
    path = tmp_path / "mine.gguf"
    for length in [*range(0, 2000, 13), *range(2000, len(whole) - 200, 997), len(whole) - 129]:
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=r"mine\.gguf is (not complete|not a GGUF file)"):
            GGUFTensors(path)


def test_any_wrong_byte_in_the_header_is_a_named_error_or_harmless(file):
    """No other exception than ours, whatever stands in the header."""
    sound = bytearray(file.read_bytes())
    end = min(stored.offset for stored in read_header(file).tensors.values())
    random = np.random.default_rng(0)
    for place in range(0, end, 7):
        broken = bytearray(sound)
        broken[place] = int(random.integers(256))
        file.write_bytes(broken)
        with suppress(HeadlightError):
            tensors = GGUFTensors(file)
            family_of(tensors.config()["model_type"]).read_config(tensors.config())


def test_a_file_that_is_cut_between_header_and_tensor_is_named(file):
    tensors = GGUFTensors(file)
    file.write_bytes(file.read_bytes()[:-500])
    with pytest.raises(CheckpointError, match="is not complete"):
        [tensors.read(name) for name in tensors.names]
    file.unlink()
    with pytest.raises(CheckpointError, match="cannot be read"):
        tensors.read("lm_head.weight")


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"general__architecture": "falcon"}, ConfigError, "architecture 'falcon'; supported are gpt2, llama"),
        ({"_expert_count": 8}, ConfigError, "mixture of experts"),
        ({"split__count": 2}, CheckpointError, "one part of a model"),
        ({"_block_count": None}, ConfigError, r"llama\.block_count = None"),
        ({"_attention__head_count": 0}, ConfigError, r"head_count = 0"),
        ({"_attention__head_count_kv": [2, 1]}, ConfigError, "the same for all layers"),
        ({"_context_length": "long"}, ConfigError, "context_length = 'long'"),
        ({"_rope__scaling__type": "yarn"}, ConfigError, "yarn"),
        ({"_rope__dimension_count": 4}, ConfigError, "only a part"),
        ({"_attention__value_length": 4}, ConfigError, "value_length"),
    ],
)
def test_what_the_network_does_not_do_is_refused(tmp_path, changes, error, message):
    path = write(tmp_path / "mine.gguf", make("llama"), **changes)
    with pytest.raises(error, match=message):
        load(path)


def test_the_same_number_for_every_layer_is_one_number(tmp_path):
    network = make("llama")
    loaded = load(write(tmp_path / "mine.gguf", network, _attention__head_count_kv=[2, 2]))
    assert loaded.config == network.config


@pytest.mark.parametrize(
    ("tensors", "error", "message"),
    [
        ({"token_embd.weight": None}, CheckpointError, "no tensor token_embd.weight"),
        ({"blk.0.ffn_gate_inp.weight": torch.ones(2, 2)}, CheckpointError, "no place for"),
        ({"blk.2.attn_q.weight": torch.ones(48, 48)}, CheckpointError, "no place for"),
        ({"blk.0.attn_q_norm.weight": torch.ones(8)}, CheckpointError, "no place for"),
        ({"blk.0.ffn_up.weight": None}, CheckpointError, "no tensor model.layers.0.mlp.up_proj.weight"),
        ({"blk.0.ffn_up.weight": torch.ones(48, 70)}, CheckpointError, r"blk.0.ffn_up.*\(48, 70\).*must be \(70, 48\)"),
        ({"blk.0.attn_norm.weight": torch.full((48,), torch.nan)}, CheckpointError, "blk.0.attn_norm.*holds nan at"),
        ({"blk.x.attn_q.weight": torch.ones(2, 2)}, CheckpointError, "no place for"),
        ({"rope_freqs.weight": torch.tensor([1.0, 1.0, 2.0, 8.0])}, ConfigError, "not Llama 3's"),
        ({"rope_freqs.weight": torch.ones(3)}, ConfigError, "not Llama 3's"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(tmp_path, tensors, error, message):
    path = write(tmp_path / "mine.gguf", make("llama"), tensors=tensors)
    with pytest.raises(error, match=message):
        load(path)


@pytest.mark.parametrize(
    ("kind", "name"), [(GGMLQuantizationType.Q8_K, "Q8_K"), (GGMLQuantizationType.I8, "I8"), (77, "77")]
)
def test_an_unknown_quantisation_is_named(file, kind, name):
    place = re.search(rb"blk\.1\.ffn_up\.weight", data := file.read_bytes())
    assert place is not None
    at = place.end() + 4 + 2 * 8
    file.write_bytes(data[:at] + struct.pack("<I", kind) + data[at + 4 :])
    with pytest.raises(CheckpointError, match=rf"blk\.1\.ffn_up\.weight has the format {name}, which.*Q4_K"):
        GGUFTensors(file)


def test_rows_that_are_no_whole_blocks_are_named(file):
    place = re.search(rb"blk\.1\.ffn_up\.weight", data := file.read_bytes())
    assert place is not None
    at = place.end() + 4 + 2 * 8
    file.write_bytes(data[:at] + struct.pack("<I", GGMLQuantizationType.Q4_K) + data[at + 4 :])
    with pytest.raises(CheckpointError, match="Q4_K needs rows of whole blocks of 256"):
        GGUFTensors(file)
