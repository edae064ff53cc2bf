"""The trainer on a network small enough for seconds: it learns, resumes exactly, and leaves what loads elsewhere."""

from __future__ import annotations

import base64
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from transformers import GPT2LMHeadModel

from model.errors import CheckpointError, ConfigError
from model.files.checkpoint import load_folder
from model.training import measures
from model.training import settings as settings_module
from model.training.batches import IGNORED, Corpus, make_batch, repeated_run
from model.training.card import write_card
from model.training.checkpoints import NAME, STABLE, load_checkpoint
from model.training.errors import TrainingDataError
from model.training.evaluate import evaluate
from model.training.export import export
from model.training.guidance import GuidedHeads, Targets
from model.training.habits import HABITS, Guided
from model.training.loss import next_token_loss
from model.training.optimizer import rate_factor
from model.training.run import Run, new_model
from model.training.settings import Settings, Stage, load_settings
from model.training.train import main, train

TINY = Path(settings_module.__file__).with_name("tiny.toml")
SHAPES = ((8, 32), (16, 16))
N_IDS = 257  # every single byte, and the start token


@pytest.fixture
def tiny(tmp_path: Path) -> Settings:
    """The tiny settings with a data folder of two small sources, in a vocabulary of single bytes."""
    data = tmp_path / "data"
    data.mkdir()
    lines = [base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(N_IDS - 1)]
    (data / "vocab.tiktoken").write_bytes(b"".join(lines))
    sources = {}
    for name, word in (("templates", "A robot must obey. "), ("novel", "Call me Ishmael; ")):
        ids = np.array([N_IDS - 1, *(word * 20).encode()] * 20, dtype=np.uint16)
        for part in ("train", "val"):
            np.save(data / f"{name}.{part}.npy", ids)
        counts = {"tokens": len(ids), "bytes": len(ids) - 20, "documents": 20}
        sources[name] = {"licence": "ours", "package": None, "version": None, "train": counts, "val": counts}
    (data / "data.json").write_text(json.dumps({"sources": sources}))
    plain = load_settings(TINY)
    shares = {"repeats": 0.25, "templates": 0.5, "novel": 0.25}
    return replace(
        plain,
        data=data,
        run=tmp_path / "run",
        model=replace(plain.model, d_vocab=N_IDS),
        stages=(Stage("mix", shares, SHAPES),),
    )


def trained(settings: Settings, steps: int) -> Run:
    run = Run(settings)
    run.resume()
    train(run, steps=steps)
    return run


def batch_of(settings: Settings, step: int, seed: int = 3):
    corpus = Corpus(settings.data, settings.start_id)
    return make_batch(corpus, settings.stages[0], settings.batch, seed=seed, step=step)


def test_batches_follow_from_seed_and_step_alone(tiny):
    first, again, other = batch_of(tiny, 7), batch_of(tiny, 7), batch_of(tiny, 8)
    assert np.array_equal(first.inputs, again.inputs)
    assert first.sources == again.sources
    assert first.inputs.shape == (16, 16)
    assert other.inputs.shape == (8, 32)
    assert not np.array_equal(first.inputs, batch_of(tiny, 7, seed=4).inputs)


def test_targets_are_the_next_tokens(tiny):
    batch = batch_of(tiny, 0)
    known = batch.targets[:, :-1] != IGNORED
    assert np.array_equal(batch.targets[:, :-1][known], batch.inputs[:, 1:][known])


def test_every_target_of_a_repeated_run_can_be_copied(tiny):
    for seed in range(50):
        inputs, targets = repeated_run(np.random.default_rng(seed), 32, N_IDS - 1, tiny.batch)
        window = np.append(inputs, targets[-1])
        places = np.flatnonzero(targets != IGNORED) + 1
        assert len(places)
        assert any(
            all(window[at] == window[at - period] for at in places) and places[0] - period > 0
            for period in range(1, 32)
        )
        assert N_IDS - 1 not in window  # the start token stands between documents, nowhere else


def test_windows_begin_at_documents_half_of_the_time(tiny):
    windows = [row for step in range(60) for row in batch_of(tiny, step).inputs]
    share = np.mean([row[0] == N_IDS - 1 for row in windows])
    assert 0.1 < share < 0.3  # half of three quarters, half of these with the start token


def test_missing_data_say_what_to_do(tiny):
    settings = replace(tiny, stages=(Stage("mix", {"poems": 1.0}, SHAPES),))
    with pytest.raises(TrainingDataError, match=r"poems\.train\.npy .* prepare the data"):
        trained(settings, 1)


def test_wrong_settings_are_refused(tmp_path):
    for old, new in (("n_ctx = 32", "n_ctx = 8"), ("clip = 1.0", "clop = 1.0"), ('"sinusoidal"', '"helical"')):
        path = tmp_path / "wrong.toml"
        path.write_text(TINY.read_text().replace(old, new))
        with pytest.raises(ConfigError):
            load_settings(path)


def test_config_of_the_embedded_model_is_valid():
    settings = load_settings()
    assert settings.model.n_ctx >= 256
    assert {guided.habit for guided in settings.stages[-1].guided} == set(HABITS)


@pytest.mark.parametrize("n_rows", [3, 700])
def test_chunked_loss_is_cross_entropy_with_its_gradients(tiny, n_rows):
    model = new_model(tiny.model, 0, "random", 0.02)
    generator = torch.Generator().manual_seed(0)
    resid = torch.randn(1, n_rows, tiny.model.d_model, generator=generator, requires_grad=True)
    targets = torch.randint(0, N_IDS, (1, n_rows), generator=generator)
    targets[0, ::3] = IGNORED
    mean, losses, counts = next_token_loss(model, resid, targets, torch.float32, int((targets != IGNORED).sum()))
    mean.backward()
    found = resid.grad, model.wte.weight.grad
    resid.grad, model.wte.weight.grad = None, None
    expected = F.cross_entropy(model.logits(resid).flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
    expected.backward()
    assert mean.item() == pytest.approx(expected.item(), rel=1e-5)
    assert len(losses) == int(counts.sum()) == int((targets != IGNORED).sum())
    torch.testing.assert_close(found, (resid.grad, model.wte.weight.grad), rtol=1e-4, atol=1e-6)


def test_a_short_run_lowers_the_loss_clearly(tiny):
    run = Run(tiny)
    losses = [run.step()[0] for _ in range(60)]
    assert np.mean(losses[-10:]) < 0.75 * np.mean(losses[:5])
    assert run.progress.tokens == 60 * 256
    assert sum(run.progress.tokens_by_source.values()) == run.progress.tokens


def test_a_resumed_run_equals_an_uninterrupted_one(tiny, tmp_path):
    whole = trained(replace(tiny, run=tmp_path / "whole"), 12)
    trained(tiny, 5)
    resumed = trained(tiny, 7)
    assert resumed.progress.step == whole.progress.step == 12
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(weight, resumed.model.state_dict()[name]), name
    assert len((tiny.run / "log.csv").read_text().splitlines()) == 2  # the head and step 10, once


def test_queries_and_keys_get_steps_of_their_own_size(tiny):
    run = Run(tiny)
    attention = run.model.get_parameter("h.0.attn.c_attn.weight")
    before = attention.detach().clone()
    run.step()
    queries, keys, values = (attention - before).detach().chunk(3, dim=1)
    sizes = [float(part.norm()) for part in (queries, keys, values)]
    assert min(sizes) > 0.5 * max(sizes)  # as one matrix, the values would take nearly all of it


def test_a_guided_head_learns_to_look_one_token_back(tiny):
    guided = replace(tiny.stages[0], guided=(Guided(0, 1, "previous"),), guidance=1.0)
    run = Run(replace(tiny, stages=(guided,)), workers=2)
    for _ in range(80):
        run.step()
    rows = measures.repeated_random(0, 4, 8, N_IDS - 1)
    scores = measures.head_scores(run.model, rows)["previous_token"]
    assert measures.best_head(scores)[0] == "L0H1"
    assert scores[0, 1] > 0.5


def test_targets_of_the_habits():
    """1 2 3 1 2 3 1 5, then a pronoun at 7 for the word at 5; the last target is unknown."""
    inputs = torch.tensor([[1, 2, 3, 1, 2, 3, 1, 5]])
    next_tokens = torch.tensor([[IGNORED, IGNORED, IGNORED, 2, 3, 1, 5, IGNORED]])
    targets = Targets(inputs, next_tokens, torch.tensor([[0, 0, 0, 0, 0, 0, 0, 2]]))
    wanted = {habit: targets.of(habit)[0].nonzero().tolist() for habit in HABITS}
    assert wanted["previous"] == [[pos, pos - 1] for pos in range(1, 8)]
    assert wanted["induction"] == [[3, 1], [4, 2], [5, 3]]  # not 6: what followed a 1 before is not what follows now
    assert wanted["antecedent"] == [[7, 5]]


def test_guidance_costs_the_surprise_at_the_targets():
    """With all scores equal the weight is even over the keys that a query may see."""
    heads = GuidedHeads((Guided(0, 0, "previous"), Guided(1, 0, "antecedent")), (1.0, 1.0))
    for name in ("h.0.q", "h.0.k", "h.1.q", "h.1.k"):
        heads.tap(name, torch.zeros(1, 1, 4, 8))
    ids = torch.zeros(1, 4, dtype=torch.long)
    none = heads.loss(Targets(ids, ids, ids))
    assert float(none) == pytest.approx(np.log([2, 3, 4]).mean())
    linked = heads.loss(Targets(ids, ids, torch.tensor([[0, 0, 0, 3]])))
    assert float(linked - none) == pytest.approx(np.log(4))


def test_links_are_cut_like_the_text_they_belong_to(tiny):
    ids = np.load(tiny.data / "templates.train.npy")
    np.save(tiny.data / "templates.train.links.npy", np.where(ids == ord("m"), 8, 0).astype(np.int16))
    batch = batch_of(tiny, 1)
    templates = np.array([source == "templates" for source in batch.sources])
    assert templates.any()
    assert not templates.all()
    assert np.array_equal(batch.antecedent[templates] == 8, batch.inputs[templates] == ord("m"))
    assert not batch.antecedent[~templates].any()
    np.save(tiny.data / "templates.train.links.npy", np.zeros(3, np.int16))
    with pytest.raises(TrainingDataError, match="3 links"):
        batch_of(tiny, 1)


@pytest.mark.parametrize(
    ("entry", "says"),
    [({"layer": 2, "head": 0, "habit": "previous"}, "L2H0"), ({"layer": 0, "head": 0, "habit": "next"}, "no habit")],
)
def test_impossible_guidance_is_refused(entry, says, tmp_path):
    raw = tomllib.loads(TINY.read_text())
    raw["stage"][0]["guided"] = [entry]
    with pytest.raises(ValueError, match=says):
        settings_module.parse_settings(raw)


def test_parts_side_by_side_learn_the_same(tiny, tmp_path):
    one, two = Run(tiny), Run(replace(tiny, run=tmp_path / "two"), workers=2)
    for _ in range(3):
        assert one.step()[0] == pytest.approx(two.step()[0], rel=1e-4)
    for name, weight in one.model.state_dict().items():
        torch.testing.assert_close(weight, two.model.state_dict()[name], rtol=1e-2, atol=1e-3)


def test_decay_ends_the_run_and_keeps_the_state_before(tiny):
    run = trained(tiny, 4)
    train(run, decay_tokens=5 * 256)
    assert run.progress.finished
    assert run.progress.step == 9
    assert load_checkpoint(tiny.run / STABLE).progress.step == 4
    assert trained(tiny, 3).progress.step == 9  # nothing is left to train


def test_rate_warms_up_stays_and_decays():
    assert rate_factor(0, 10, None) == pytest.approx(0.1)
    assert rate_factor(10, 10, None) == rate_factor(100_000, 10, None) == 1.0
    assert rate_factor(100, 10, 0.25) == pytest.approx(0.75)
    assert rate_factor(100, 10, 1.5) == 0.0


def test_a_stage_ends_when_its_tokens_are_used_up(tiny):
    settings = replace(
        tiny,
        stages=(Stage("repeats", {"repeats": 1.0}, SHAPES, until_induction=2.0, max_tokens=1), *tiny.stages),
        pace=replace(tiny.pace, measure_steps=3),
    )
    run = trained(settings, 3)
    assert (run.progress.stage, run.progress.stage_tokens) == (1, 0)


def test_checkpoints_of_other_sizes_and_damaged_ones_are_refused(tiny):
    trained(tiny, 1)
    with pytest.raises(CheckpointError, match="other sizes"):
        Run(replace(tiny, model=replace(tiny.model, n_layers=1))).resume()
    (tiny.run / NAME).write_bytes(b"no checkpoint")
    with pytest.raises(CheckpointError, match="no checkpoint of this trainer"):
        Run(tiny).resume()


def test_another_vocabulary_is_refused(tiny):
    trained(tiny, 1)
    (tiny.data / "vocab.tiktoken").write_bytes(b"QQ== 0\n")
    with pytest.raises(TrainingDataError, match="vocabulary"):
        trained(tiny, 1)


def test_export_loads_in_transformers_with_equal_logits(tiny, tmp_path):
    trained(tiny, 5)
    folder = tmp_path / "exported"
    export(tiny, folder)
    ours = load_folder(folder)
    theirs = GPT2LMHeadModel.from_pretrained(folder, dtype=torch.float32).eval()
    ids = torch.arange(1, 31)[None]
    with torch.no_grad():
        logits = ours.network.logits(ours.network(ids))
        torch.testing.assert_close(logits, theirs(ids).logits, rtol=0, atol=1e-5)
    assert ours.tokenizer.decode(ours.tokenizer.encode("A robot")) == "A robot"


def test_evaluation_and_card_of_an_exported_model(tiny, tmp_path):
    long_enough = replace(tiny, model=replace(tiny.model, n_ctx=256))
    trained(long_enough, 2)
    folder = tmp_path / "exported"
    export(long_enough, folder)
    found = evaluate(load_folder(folder), tiny.data, n_sentences=8)
    assert found["validation_loss"] == pytest.approx(np.log(N_IDS), abs=1.5)
    assert set(found["validation_by_source"]) == {"templates", "novel"}
    assert set(found["heads"]) == {"L0H0", "L0H1", "L1H0", "L1H1"}
    assert 0 <= found["coreference_accuracy"] <= 1
    assert len(found["completions"]["texts"]) == 10
    (folder / "evaluation.json").write_text(json.dumps(found))
    write_card(folder)
    card = (folder / "README.md").read_text()
    assert "**no, missed**" in card
    assert "provisional" in card


def test_the_command_trains_and_goes_on(tiny, tmp_path, capsys):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY.read_text().replace(".training/tiny", str(tmp_path / "command")))
    assert main(["--config", str(path), "--minutes", "0.005"]) == 0
    assert main(["--config", str(path), "--minutes", "0.005"]) == 0
    assert "Going on from step" in capsys.readouterr().out
