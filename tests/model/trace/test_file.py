"""The trace as a file: what is written is the trace, its size is known before, and the command writes the same."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load

from model import load_model
from model.__main__ import main
from model.changes.interventions import Changes, Off
from model.errors import SelectionError
from model.network.gpt2 import GPT2
from model.text.tokenizer import Tokenizer
from model.trace.file import AXES, PARTS, TraceFileError, contents_of, megabytes, read_trace, save_trace, write_trace
from model.trace.trace import Trace, run_trace
from tests.models import make_config, random_network, write_checkpoint
from tests.vocabularies import like_llama3, write_tokenizer

KEPT = ("resid_pre", "q", "k", "v", "z", "resid_mid", "resid_post")
PER_HEAD = ("attn_scores", "pattern", "result")
PER_LAYER = ("attn_out", "mlp_pre", "mlp_post", "mlp_out")

OF_GPT2 = set(AXES) - {"rot_q", "rot_k", "mlp_pre_linear"}


@pytest.fixture
def folder(tmp_path: Path, network: GPT2) -> Path:
    """The network as a checkpoint, with the vocabulary of 271 tokens."""
    return write_checkpoint(tmp_path / "tiny", network)


def expected(trace: Trace, name: str, layers: list[int]) -> np.ndarray:
    """The tensor `name`, put together from the trace's own methods."""
    if name in KEPT:
        return getattr(trace, name)[layers]
    if name in PER_HEAD:
        heads = range(trace.network.config.n_heads)
        return np.stack([[getattr(trace, name)(layer, head) for head in heads] for layer in layers])
    if name in PER_LAYER:
        return np.stack([getattr(trace, name)(layer) for layer in layers])
    return np.stack([trace.logits(pos) for pos in range(trace.n_pos)]) if name == "logits" else getattr(trace, name)


@pytest.mark.parametrize("layers", [[0, 1], [1]])
def test_what_is_read_back_is_the_trace(tmp_path: Path, trace: Trace, gpt2: Tokenizer, layers: list[int]) -> None:
    contents = contents_of(trace, layers=layers, parts=list(PARTS))
    tokens = gpt2.tokens(trace.ids)
    size = save_trace(tmp_path / "t.safetensors", contents, model="a “model”", tokens=tokens)
    arrays, metadata = read_trace(tmp_path / "t.safetensors")
    assert set(arrays) == OF_GPT2 == set(metadata["axes"])
    for name, array in arrays.items():
        assert array.dtype == np.float32
        assert array.shape == contents.shapes[name]
        np.testing.assert_array_equal(array, expected(trace, name, layers), err_msg=name)
    assert metadata["model"] == "a “model”"
    assert tuple(metadata["ids"]) == trace.ids
    assert metadata["tokens"] == [token.label for token in tokens]
    assert metadata["layers"] == layers
    assert metadata["axes"]["pattern"] == ["layer", "head", "query", "key"]
    assert contents.nbytes == sum(array.nbytes for array in arrays.values())
    assert 0 < size - contents.nbytes < 5000
    assert [file.name for file in tmp_path.iterdir()] == ["t.safetensors"]


def test_large_parts_are_left_out_and_every_piece_lets_others_go_first(trace: Trace, gpt2: Tokenizer) -> None:
    file, pauses = io.BytesIO(), []
    contents = contents_of(trace, parts=[])
    write_trace(file, contents, model="m", tokens=gpt2.tokens(trace.ids), between=lambda: pauses.append(1))
    arrays = load(file.getvalue())  # the format's own reader takes it
    assert set(arrays) == OF_GPT2 - {name for names in PARTS.values() for name in names}
    assert len(pauses) >= len(arrays)
    header = int.from_bytes(file.getvalue()[:8], "little")
    assert header % 8 == 0
    assert contents.nbytes + 8 + header == len(file.getvalue())
    assert "result" not in contents_of(trace).shapes


@pytest.mark.parametrize(
    ("layers", "parts", "said"),
    [
        ([2], [], "no layer 2; this model has layers 0 to 1"),
        ([-1], [], "no layer -1"),
        ([], [], "at least one"),
        ([0, 0], [], "each only once"),
        ([0], ["heads"], "no part 'heads'"),
    ],
)
def test_what_is_not_there_is_named(trace: Trace, layers: list[int], parts: list[str], said: str) -> None:
    with pytest.raises(SelectionError, match=said):
        contents_of(trace, layers=layers, parts=parts)


def test_a_file_that_cannot_be_written_or_read(
    tmp_path: Path, trace: Trace, gpt2: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents, tokens = contents_of(trace), gpt2.tokens(trace.ids)
    for path, said in ((tmp_path / "none" / "t", "cannot be written"), (tmp_path, "is a folder")):
        with pytest.raises(TraceFileError, match=said):
            save_trace(path, contents, model="m", tokens=tokens)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 10}))
    with pytest.raises(TraceFileError, match="Leave parts or layers out"):
        save_trace(tmp_path / "t", contents, model="m", tokens=tokens)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "no").write_bytes(b"not a trace")
    for path in (
        tmp_path / "no",
        tmp_path / "missing",
        write_checkpoint(tmp_path / "m", trace.network) / "model.safetensors",
    ):
        with pytest.raises(TraceFileError):
            read_trace(path)


def test_a_changed_pass_says_so(tmp_path: Path, network: GPT2, trace: Trace, gpt2: Tokenizer) -> None:
    changed = run_trace(network, trace.ids, changes=Changes(off=(Off(0, 2, "zero"),)))
    save_trace(tmp_path / "t", contents_of(changed), model="m", tokens=gpt2.tokens(trace.ids))
    arrays, metadata = read_trace(tmp_path / "t")
    assert metadata["changes"]["off"] == [[0, 2, "zero"]]
    np.testing.assert_array_equal(arrays["z"][0, 2], 0)


def test_sizes_in_words() -> None:
    assert [megabytes(n) for n in (0, 12_000, 950_000, 99_400_000, 1_234_000_000)] == [
        "0.01 MB", "0.01 MB", "0.9 MB", "99.4 MB", "1,234 MB",
    ]  # fmt: skip


def test_the_command_writes_the_same_file(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "t.safetensors"
    options = [
        "--model",
        str(folder),
        "--out",
        str(out),
        "--layers",
        "1,0-0",
        "--no-logits",
        "--result",
        "--start-token",
    ]
    assert main(["trace", "the robot", *options]) == 0
    arrays, metadata = read_trace(out)
    said = capsys.readouterr()
    assert said.out == ""
    assert f"tiny, {len(metadata['ids'])} tokens, 2 of 2 layers: 0." in said.err
    assert metadata["tokens"][-1] == "·robot"
    assert metadata["layers"] == [1, 0]
    assert set(arrays) == OF_GPT2 - {"logits"}
    again = run_trace(load_model(folder).network, tuple(metadata["ids"]))
    np.testing.assert_array_equal(arrays["pattern"], expected(again, "pattern", [1, 0]))


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["the", "--layers", "7"], 1, "There is no layer 7"),
        (["", "--no-mlp"], 1, "type at least one character"),
        (["the", "--model", "/no/such/folder"], 1, "neither a folder"),
        (["the", "--out", "/no/such/folder/t"], 1, "cannot be written"),
        (["the", "--layers", "a"], 2, "is no list of layers"),
        (["the", "--layers", "1-0"], 2, "runs backwards; write 0-1"),
        ([], 2, "TEXT"),
    ],
)
def test_a_mistake_is_one_clear_line(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, said: str
) -> None:
    given = ["trace", "--model", str(folder), "--out", str(tmp_path / "t"), *options]
    try:
        assert main(given) == code
    except SystemExit as stopped:
        assert stopped.code == code  # noqa: PT017 - what argparse does with what it cannot read
    lines = capsys.readouterr().err.strip().splitlines()
    assert said in lines[-1]
    assert code == 2 or len([line for line in lines if line.startswith("python -m model:")]) == 1
    assert not (tmp_path / "t").exists()


def test_of_a_text_too_long_the_first_tokens_are_traced_and_that_is_said(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "the " * 40, "--model", str(folder), "--out", str(tmp_path / "t"), "--start-token"]) == 0
    model = load_model(folder)
    ids = model.tokenizer.encode("the " * 40, start_token=True)
    first, then = capsys.readouterr().err.strip().splitlines()
    assert first == f"The text has {len(ids):,} tokens; {folder.name} reads 32: the first 32 are traced."
    assert "32 tokens" in then
    arrays, metadata = read_trace(tmp_path / "t")
    assert metadata["ids"] == list(ids[:32])
    np.testing.assert_array_equal(arrays["z"], run_trace(model.network, ids[:32]).z)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], ["<|begin_of_text|>", "the", "<", "|"]),
        (["--no-start-token"], ["the", "<", "|"]),
        (["--no-start-token", "--special"], ["the", "<|eot_id|>"]),
    ],
)
def test_the_start_token_is_the_models_own_choice_and_special_tokens_are_read_when_asked_for(
    tmp_path: Path, options: list[str], shown: list[str]
) -> None:
    tokenizer = like_llama3()
    network = random_network(make_config(d_vocab=tokenizer.get_vocab_size()))
    folder = write_tokenizer(write_checkpoint(tmp_path / "llama", network, vocabulary=False), tokenizer)
    out = tmp_path / "t"
    assert main(["trace", "the<|eot_id|>", "--model", str(folder), "--out", str(out), *options]) == 0
    assert read_trace(out)[1]["tokens"][: len(shown)] == shown


def test_help_names_the_tensors(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["trace", "--help"])
    said = capsys.readouterr().out
    assert all(name in said for name in AXES)
