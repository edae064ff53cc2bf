"""Reading config.json: what GPT-2 checkpoints say, and what is refused."""

from __future__ import annotations

import pytest

from model.errors import ConfigError
from model.network.config import GPT2Config
from tests.models import make_config

GPT2_SMALL = {
    "model_type": "gpt2",
    "n_layer": 12,
    "n_head": 12,
    "n_embd": 768,
    "n_positions": 1024,
    "vocab_size": 50257,
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-05,
}


def test_gpt2_small():
    assert GPT2Config.from_hugging_face(GPT2_SMALL) == GPT2Config(
        n_layers=12, n_heads=12, d_model=768, n_ctx=1024, d_vocab=50257, d_mlp=3072
    )
    assert GPT2Config.from_hugging_face(GPT2_SMALL).d_head == 64


def test_the_oldest_files_name_the_context_n_ctx():
    old = {**GPT2_SMALL, "n_ctx": 512}
    del old["n_positions"]
    assert GPT2Config.from_hugging_face(old).n_ctx == 512


@pytest.mark.parametrize(
    "config",
    [
        make_config(),
        make_config(tied=False, tanh_gelu=False, d_mlp=13),
        make_config(scale_attn_by_inverse_layer_idx=True, scale_attn_weights=False, norm_epsilon=0.5),
    ],
)
def test_to_hugging_face_and_back(config):
    assert GPT2Config.from_hugging_face(config.to_hugging_face()) == config


def test_the_scale_of_the_scores():
    assert make_config().attn_scale(1) == pytest.approx(10**-0.5)
    assert make_config(scale_attn_weights=False).attn_scale(1) == 1.0
    assert make_config(scale_attn_by_inverse_layer_idx=True).attn_scale(1) == pytest.approx(10**-0.5 / 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "llama"}, "'llama' model; only 'gpt2'"),
        ({"model_type": None}, "None model; only 'gpt2'"),
        ({"model_type": ["gpt2"]}, "only 'gpt2'"),
        ({"n_layer": None}, r"n_layer = None; expected a whole number from 1 to 1,000"),
        ({"n_layer": 0}, r"n_layer = 0; expected"),
        ({"n_layer": 10**12}, r"n_layer = 1000000000000; expected"),
        ({"n_head": "12"}, r"n_head = '12'; expected"),
        ({"n_head": True}, r"n_head = True; expected"),
        ({"n_head": 5}, r"768 \(n_embd\) cannot be split into 5 heads \(n_head\)"),
        ({"n_embd": 768.0}, r"n_embd = 768.0; expected"),
        ({"n_embd": 10**9}, r"n_embd = 1000000000; expected a whole number from 1 to 100,000"),
        ({"n_positions": -1}, r"n_positions = -1; expected"),
        ({"vocab_size": 10**18}, r"vocab_size = 1000000000000000000; expected"),
        ({"n_inner": 10**18}, r"n_inner = 1000000000000000000; expected"),
        ({"n_inner": 0}, r"n_inner = 0; expected"),
        ({"n_inner": "3072"}, r"n_inner = '3072'; expected"),
        ({"activation_function": "relu"}, r"'relu'; this network has gelu_new"),
        ({"activation_function": ["gelu"]}, r"\['gelu'\]; this network has gelu_new"),
        ({"layer_norm_epsilon": "small"}, r"layer_norm_epsilon = 'small'; expected a number"),
        ({"layer_norm_epsilon": float("nan")}, r"layer_norm_epsilon = nan; expected a number"),
        ({"layer_norm_epsilon": -1e-5}, r"layer_norm_epsilon = -1e-05; expected a number"),
        ({"add_cross_attention": True}, r"cross-attention"),
    ],
)
def test_what_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        GPT2Config.from_hugging_face({**GPT2_SMALL, **changes})


@pytest.mark.parametrize("name", ["n_layer", "n_head", "n_embd", "n_positions", "vocab_size"])
def test_a_size_that_is_missing(name):
    with pytest.raises(ConfigError, match=f"{name} = None"):
        GPT2Config.from_hugging_face({key: value for key, value in GPT2_SMALL.items() if key != name})


@pytest.mark.parametrize("changes", [{"n_layers": 0}, {"d_mlp": -1}, {"n_heads": 7}, {"n_ctx": 2.0}])
def test_a_config_made_by_hand_is_checked_too(changes):
    # (2.0 for a whole number is already refused by the type checks of the tests, where they are on.)
    with pytest.raises((ConfigError, TypeError)) as caught:
        make_config(**changes)
    assert next(iter(changes)) in str(caught.value) or "heads" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "layer", "words"),
    [
        ({"n_heads": 1, "d_model": 64}, 0, "√64 = 8"),
        ({}, 1, "√10 = 3.162"),
        ({"scale_attn_by_inverse_layer_idx": True}, 0, "√10 = 3.162"),
        ({"scale_attn_by_inverse_layer_idx": True}, 1, "√10 × 2 = 6.325"),
        ({"scale_attn_weights": False}, 1, ""),
        ({"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True}, 1, "2"),
    ],
)
def test_the_scale_in_words(changes, layer, words):
    assert make_config(**changes).scale_in_words(layer) == words
