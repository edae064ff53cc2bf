"""Every family: equal to `transformers` on the same weights, and everything that is derived from a pass holds."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from model.changes.interventions import Changes, Link, Off
from model.errors import ConfigError
from model.heads.all_heads import measure_head, measure_heads
from model.heads.search import mean_weights_to
from model.heads.thumbnails import thumbnails
from model.logits.direct import direct_logits
from model.logits.generation import cache_of, largest_number, multiplications, read_again, read_next, step_difference
from model.network.llama import Llama
from model.network.llama_config import LlamaConfig
from model.network.rotary import Rotary
from model.steps.block import block_steps, steps_of, sum_table
from model.steps.three_steps import head_projections, score, sum_values
from model.trace.file import contents_of, read_trace, save_trace
from model.trace.trace import Trace, run_trace
from tests.models import LLAMAS, hugging_face_model, make_llama, random_llama, random_network

TOLERANCE = 1e-5  # in proportion to the largest number that is compared
IDS = tuple(torch.randint(0, 271, (20,), generator=torch.manual_seed(3)).tolist())


@dataclass(frozen=True)
class Case:
    """A network of ours and its trace, and what `transformers` returns for the same weights."""

    network: Llama
    trace: Trace
    theirs: Any


@pytest.fixture(scope="module", params=LLAMAS)
def case(request: pytest.FixtureRequest) -> Case:
    network = random_llama(**LLAMAS[request.param])
    with torch.no_grad():
        theirs = hugging_face_model(network)(torch.tensor([IDS]), output_attentions=True, output_hidden_states=True)
    return Case(network, run_trace(network, IDS), theirs)


def close(ours: Any, theirs: Any, what: str = "") -> None:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape, what
    assert np.abs(ours - theirs).max() <= TOLERANCE * max(1.0, np.abs(theirs).max()), what


def test_logits(case: Case) -> None:
    close([case.trace.logits(pos) for pos in range(len(IDS))], case.theirs.logits[0])


def test_every_attention_weight(case: Case) -> None:
    for layer, weights in enumerate(case.theirs.attentions):
        for head in range(case.network.config.n_heads):
            close(case.trace.pattern(layer, head), weights[0, head], f"L{layer}H{head}")
    for query in (0, 7, 19):
        close(case.trace.rows(query), [weights[0, :, query, : query + 1] for weights in case.theirs.attentions])


def test_every_hidden_state(case: Case) -> None:
    for layer, state in enumerate(case.theirs.hidden_states[:-1]):
        close(case.trace.resid_pre[layer], state[0])
    close(case.trace.resid_pre[0], case.trace.embed)  # no position is added
    assert case.trace.pos_embed is None


def test_a_cached_pass_and_an_extended_trace_give_the_same(case: Case) -> None:
    network, whole = case.network, case.trace
    cache = cache_of(whole, len(IDS) - 1)
    assert cache.k.shape[1] == network.config.n_kv_heads  # once a group
    assert cache.nbytes == 4 * network.config.cached_numbers * (len(IDS) - 1)
    step, longer = read_next(network, IDS[-1], cache)
    again = read_again(network, IDS)
    assert step_difference(step, again) <= TOLERANCE * largest_number(again)
    close(longer.k, whole.rot_k)
    extended = run_trace(network, IDS, prefix=run_trace(network, IDS[:11]))
    for name in ("resid_pre", "resid_mid", "resid_post", "q", "k", "rot_q", "rot_k", "v", "z"):
        close(getattr(extended, name), getattr(whole, name), name)


def test_queries_and_keys_are_kept_after_the_rotation_and_known_before_it(case: Case) -> None:
    network, seen = case.network, dict[str, torch.Tensor]()
    with torch.inference_mode():
        network(torch.tensor(IDS), tap=lambda name, tensor: seen.setdefault(name, tensor), eager=True)
    for name in ("q", "k", "rot_q", "rot_k", "v", "z", "resid_pre", "resid_mid", "resid_post"):
        close(getattr(case.trace, name), torch.stack([seen[f"h.{layer}.{name}"] for layer in range(2)]), name)
    for name in ("ln_1", "ln_2", "attn_out", "mlp_pre", "mlp_pre_linear", "mlp_post", "mlp_out"):
        for layer in range(2):
            close(getattr(case.trace, name)(layer), seen[f"h.{layer}.{name}"], name)
    close(case.trace.queries(1, 5), seen["h.1.rot_q"][5])
    close(case.trace.keys(1, 5), seen["h.1.rot_k"][network.config.kv_of(5)])
    close(case.trace.values(1, 5), seen["h.1.v"][network.config.kv_of(5)])
    assert not np.allclose(case.trace.q, case.trace.rot_q)
    close(case.trace.q[:, :, 0], case.trace.rot_q[:, :, 0])  # the first position turns nothing


def test_a_score_depends_on_the_distance_alone(case: Case) -> None:
    """The same query and key, both moved on by the same number of positions, meet with the same score."""
    config = case.network.config
    q, k = torch.tensor(case.trace.q[0, 0, 7]), torch.tensor(case.trace.k[0, 0, 3])
    scores = []
    for by in (0, 1, 9, 20):
        (cos, sin), half = config.positions.turn(torch.tensor([3 + by, 7 + by]), config.d_head), config.d_head // 2
        turned = [x * cos[i] + torch.cat([-x[half:], x[:half]]) * sin[i] for i, x in ((0, k), (1, q))]
        scores.append(float(turned[0] @ turned[1]))
    close(scores, [case.trace.attn_scores(0, 0, scaled=False)[7, 3]] * 4)


def test_every_step_of_a_block_is_recomputed(case: Case) -> None:
    for layer in range(2):
        for pos in (0, 11, 19):
            steps = block_steps(case.trace, layer, pos)
            assert tuple(steps.checks) == steps_of(case.network)
            assert all(check.holds for check in steps.checks.values()), steps.checks
            close(steps.mlp_out.out, case.trace.mlp_out(layer)[pos])
            for head in range(6):
                table = sum_table(steps, head, most=5)
                close(table.total, case.trace.z[layer, head, pos])
                close(table.k, case.trace.keys(layer, head)[table.keys])
    assert ("qk_norm" in steps.checks) == case.network.config.qk_norm


def test_the_checks_of_what_only_some_have_notice_a_wrong_number(monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_llama(**LLAMAS["qwen3"])
    trace = run_trace(network, IDS)
    assert all(check.holds for check in block_steps(trace, 1, 11).checks.values())
    steps = block_steps(trace, 1, 11)
    assert steps.qk_norm is not None
    assert not dataclasses.replace(steps.qk_norm[0], out=steps.qk_norm[0].out + 0.01).check.holds
    assert steps.mlp_pre_linear is not None
    assert not dataclasses.replace(steps.mlp_pre_linear, out=steps.mlp_pre_linear.out + 0.01).check.holds
    trace._store.q[1, :, 11] += 0.01
    assert not block_steps(trace, 1, 11).checks["rotation"].holds
    monkeypatch.setattr(F, "silu", F.gelu)  # what the network does is not what its config says
    assert not block_steps(trace, 1, 11).checks["mlp_post"].holds


def test_the_three_steps_of_a_head(case: Case) -> None:
    trace, config = case.trace, case.network.config
    for head in (0, 3, 5):
        made = head_projections(case.network, 1, head)
        if not config.qk_norm:
            close(made.q(trace.ln_1(1)), trace.q[1, head])
            close(made.k(trace.ln_1(1)), trace.k[1, config.kv_of(head)])
        close(made.v(trace.ln_1(1)), trace.values(1, head))
        scoring = score(trace.queries(1, head)[9], trace.keys(1, head), query=9, scale=config.attn_scale(1))
        close(sum_values(scoring.weights, trace.values(1, head)).z, trace.z[1, head, 9])
        close(trace.weighted_values(1, head, 9).sum(axis=0), trace.z[1, head, 9])
    close(
        sum(trace.result(1, head) for head in range(6))
        + (0 if case.network.block(1).attn.out.bias is None else case.network.block(1).attn.out.bias.numpy()),
        trace.attn_out(1),
    )


@pytest.mark.parametrize("less_average", [False, True])
def test_the_parts_of_a_logit_add_up_to_it(case: Case, less_average: bool) -> None:
    parts = direct_logits(case.trace, 13, [0, 99, 270], less_average=less_average)
    assert parts.difference <= TOLERANCE * np.abs(parts.logits).max()
    assert parts.pos_embed is None
    assert parts.unembed_bias is None
    assert (parts.attn_bias is None) == (not case.network.config.out_bias)


def test_measures_search_and_thumbnails_are_those_of_the_patterns(case: Case) -> None:
    trace = case.trace
    measured, means, small = measure_heads(trace), mean_weights_to(trace), thumbnails(trace)
    for layer in range(2):
        for head in range(6):
            pattern = trace.pattern(layer, head)
            close(measured["previous_token"][layer, head], np.diagonal(pattern, -1).mean())
            close(means[layer, head], pattern.sum(axis=0) / np.arange(len(IDS), 0, -1))
            close(small.weights[layer, head], pattern)
            alone = measure_head(trace, layer, head)
            for name, value in alone.items():
                np.testing.assert_allclose(value, measured[name][layer, head], atol=TOLERANCE, err_msg=name)


def test_heads_off_and_links_cut(case: Case) -> None:
    changes = Changes((Off(0, 4, "zero"), Off(1, 1, "mean")), (Link(1, 3, 9, 2), Link(0, 2, 5, 5)))
    changed = run_trace(case.network, IDS, changes=changes)
    assert not changed.z[0, 4].any()
    assert np.ptp(changed.z[1, 1], axis=0).max() == 0
    pattern = changed.pattern(1, 3)
    assert pattern[9, 2] == 0
    close(pattern @ changed.values(1, 3), changed.z[1, 3])
    close(changed.pattern(0, 2) @ changed.values(0, 2), changed.z[0, 2])
    close(changed.z[0, 3], case.trace.z[0, 3])  # another head of the same group is as it was


def test_a_trace_file_has_what_the_family_has(case: Case, tmp_path: Path) -> None:
    contents = contents_of(case.trace, layers=[1], parts=("patterns", "mlp", "logits", "result"))
    save_trace(tmp_path / "trace", contents, model="tiny", tokens=[])
    arrays, metadata = read_trace(tmp_path / "trace")
    assert "pos_embed" not in arrays
    for name in ("q", "k", "rot_q", "rot_k", "v", "z"):
        close(arrays[name], getattr(case.trace, name)[1:2], name)
    close(arrays["mlp_pre_linear"][0], case.trace.mlp_pre_linear(1))
    close(arrays["pattern"][0, 4], case.trace.pattern(1, 4))
    assert metadata["axes"]["rot_k"] == ["layer", "kv_head", "pos", "d_head"]
    gpt2 = contents_of(run_trace(random_network(), (5, 17)))
    assert {"pos_embed"} <= set(gpt2.shapes)
    assert not {"rot_q", "rot_k", "mlp_pre_linear"} & set(gpt2.shapes)


def test_multiplications_count_every_product() -> None:
    config = make_llama()
    projections = 48 * (48 + 16 + 16) + 48 * 48 + 3 * 48 * 70
    assert multiplications(config, 1, 9) == 2 * (projections + 2 * 48 * 10) + 48 * 271


def test_the_config_is_read_as_it_is_written() -> None:
    for changes in LLAMAS.values():
        config = make_llama(**changes)
        assert LlamaConfig.from_hugging_face(config.to_hugging_face()) == config


def test_an_older_config_says_the_same() -> None:
    older = make_llama().to_hugging_face()
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    del older["rope_parameters"], older["head_dim"]
    older |= {"rope_theta": 500_000.0, "rope_scaling": scaling | {"original_max_position_embeddings": 8}}
    assert LlamaConfig.from_hugging_face(older) == make_llama(**LLAMAS["llama 3"])
    older["rope_scaling"] = {"type": "linear", "factor": 2.0}
    assert LlamaConfig.from_hugging_face(older).positions == Rotary(500_000.0, "linear", 2.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_key_value_heads": 4}, r"6 query heads \(num_attention_heads\) cannot share 4 key heads"),
        ({"head_dim": 7}, r"a head of 7 \(head_dim\) cannot be paired"),
        ({"hidden_act": "gelu"}, "the activation 'gelu'; this network has silu"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "in a sliding window"),
        ({"use_sliding_window": True}, "in a sliding window"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, "in the way 'yarn'; known are default, linear and"),
        ({"rope_parameters": {"rope_theta": -1}}, "rope_theta = -1; expected a number above 0"),
        ({"rope_parameters": [1]}, r"rope_parameters = \[1\]; expected an object"),
        ({"partial_rotary_factor": 0.5}, "only whole ones"),
        ({"rms_norm_eps": 2}, "rms_norm_eps = 2; expected"),
        ({"num_hidden_layers": 0}, "num_hidden_layers = 0; expected"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LlamaConfig.from_hugging_face(make_llama().to_hugging_face() | changes)
