"""The network's one seam: what the tap sees, and that what it returns is used."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from model.errors import SelectionError
from model.network import attention
from model.network.gpt2 import GPT2
from model.network.key_value_cache import KeyValueCache
from tests.model.conftest import IDS
from tests.models import make_config, random_network

PER_LAYER = "resid_pre ln_1 q k v attn_scores pattern z attn_out resid_mid ln_2 mlp_pre mlp_post mlp_out resid_post"
EAGER_ONLY = ("attn_scores", "pattern")


def _record(network: GPT2, ids: Tensor, **options) -> tuple[Tensor, list[tuple[str, Tensor]]]:
    seen: list[tuple[str, Tensor]] = []

    def tap(name: str, tensor: Tensor) -> Tensor:
        seen.append((name, tensor.clone()))
        return tensor

    return network(ids, tap=tap, **options), seen


@pytest.mark.parametrize("eager", [False, True])
def test_the_tap_sees_every_documented_name_once_in_order(network, eager):
    _, seen = _record(network, torch.tensor(IDS), eager=eager)
    kinds = [kind for kind in PER_LAYER.split() if eager or kind not in EAGER_ONLY]
    layers = range(network.config.n_layers)
    assert [name for name, _ in seen] == ["embed", "pos_embed"] + [f"h.{n}.{kind}" for n in layers for kind in kinds]


def test_every_activation_has_its_documented_shape(network):
    c, n_pos = network.config, len(IDS)
    heads, matrix = (c.n_heads, n_pos, c.d_head), (c.n_heads, n_pos, n_pos)
    special: dict[str, tuple[int, ...]] = {
        "q": heads,
        "k": heads,
        "v": heads,
        "z": heads,
        "attn_scores": matrix,
        "pattern": matrix,
    }
    special |= {"mlp_pre": (n_pos, c.d_mlp), "mlp_post": (n_pos, c.d_mlp)}
    _, seen = _record(network, torch.tensor(IDS), eager=True)
    for name, tensor in seen:
        assert tensor.shape == special.get(name.split(".")[-1], (n_pos, c.d_model)), name


def test_the_fused_pass_equals_the_eager_pass(network):
    fused_out, fused = _record(network, torch.tensor(IDS))
    eager_out, eager = _record(network, torch.tensor(IDS), eager=True)
    named = dict(eager)
    assert len(fused) == len(named) - 2 * network.config.n_layers
    for name, tensor in fused:
        torch.testing.assert_close(tensor, named[name], atol=1e-5, rtol=0, msg=name)
    torch.testing.assert_close(fused_out, eager_out, atol=1e-5, rtol=0)


@pytest.mark.parametrize("eager", [False, True])
def test_a_tap_that_only_looks_changes_nothing(network, eager):
    looked, _ = _record(network, torch.tensor(IDS), eager=eager)
    assert torch.equal(looked, network(torch.tensor(IDS), eager=eager))


def test_the_network_is_the_steps_one_after_another(network):
    """The activations that the tap saw, each computed again from the one before by the article's functions."""
    out, pairs = _record(network, torch.tensor(IDS), eager=True)
    seen = dict(pairs)
    for layer, block in enumerate(network.h):
        see = {kind: seen[f"h.{layer}.{kind}"] for kind in PER_LAYER.split()}
        parts = (see["ln_1"] @ block.attn.c_attn.weight + block.attn.c_attn.bias).chunk(3, dim=-1)
        for name, part in zip("qkv", parts, strict=True):
            torch.testing.assert_close(see[name], attention.split_heads(part, 3), atol=1e-6, rtol=0)
        scores = attention.attn_scores(see["q"], see["k"], network.config.d_head**-0.5)
        torch.testing.assert_close(see["attn_scores"], attention.apply_mask(scores))
        torch.testing.assert_close(see["pattern"], attention.softmax(see["attn_scores"]))
        torch.testing.assert_close(see["z"], attention.weighted_sum(see["pattern"], see["v"]))
        merged = attention.merge_heads(see["z"])
        torch.testing.assert_close(
            see["attn_out"], merged @ block.attn.c_proj.weight + block.attn.c_proj.bias, atol=1e-5, rtol=0
        )
        torch.testing.assert_close(
            see["mlp_pre"], see["ln_2"] @ block.mlp.c_fc.weight + block.mlp.c_fc.bias, atol=1e-5, rtol=0
        )
        x = see["mlp_pre"]
        gelu = 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
        torch.testing.assert_close(see["mlp_post"], gelu, atol=1e-6, rtol=0)
    assert torch.equal(out, seen["h.1.resid_post"])


def test_layer_norm_gives_mean_0_and_variance_1_before_scale_and_shift(network):
    x = torch.randn(4, 30, generator=torch.Generator().manual_seed(0)) * 7 + 3
    plain = (network.ln_f(x) - network.ln_f.bias) / network.ln_f.weight
    torch.testing.assert_close(plain.mean(dim=-1), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(plain.var(dim=-1, correction=0), torch.ones(4), atol=1e-4, rtol=0)


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("head", [0, 2])
def test_zeroing_a_heads_z_takes_away_its_result_and_nothing_else(network, eager, head):
    layer, d_head = network.config.n_layers - 1, network.config.d_head
    before, after = {}, {}

    def look(name: str, tensor: Tensor) -> Tensor:
        before[name] = tensor.clone()
        return tensor

    def silence(name: str, tensor: Tensor) -> Tensor:
        if name == f"h.{layer}.z":
            tensor = tensor.clone()
            tensor[head] = 0
        after[name] = tensor.clone()
        return tensor

    network(torch.tensor(IDS), tap=look, eager=eager)
    network(torch.tensor(IDS), tap=silence, eager=eager)
    rows = network.h[layer].attn.c_proj.weight[head * d_head : (head + 1) * d_head]
    result = before[f"h.{layer}.z"][head] @ rows
    assert result.abs().max() > 0.1
    torch.testing.assert_close(
        before[f"h.{layer}.resid_mid"] - result, after[f"h.{layer}.resid_mid"], atol=1e-5, rtol=0
    )
    assert torch.equal(before[f"h.{layer}.resid_pre"], after[f"h.{layer}.resid_pre"])


@pytest.mark.parametrize("kind", ["embed", "pos_embed", *(f"h.0.{kind}" for kind in PER_LAYER.split())])
def test_what_the_tap_returns_is_used(network, kind):
    """A change of any activation arrives at the output (a score's only where it shifts the weights)."""

    def double(name: str, tensor: Tensor) -> Tensor:
        return tensor * 2 if name == kind else tensor

    changed = network(torch.tensor(IDS), tap=double, eager=True)
    assert (changed - network(torch.tensor(IDS), eager=True)).abs().max() > 1e-3


def test_a_pattern_can_be_replaced(network):
    """With every weight on the first token, each position's z is the first token's value."""
    seen = {}

    def tap(name: str, tensor: Tensor) -> Tensor:
        if name == "h.0.pattern":
            tensor = torch.zeros_like(tensor)
            tensor[..., 0] = 1
        seen[name] = tensor.clone()
        return tensor

    network(torch.tensor(IDS), tap=tap, eager=True)
    torch.testing.assert_close(seen["h.0.z"], seen["h.0.v"][:, :1].expand_as(seen["h.0.z"]))


def test_a_batch_is_its_texts_side_by_side(network):
    texts = torch.tensor([IDS, IDS[::-1]])
    both = network(texts)
    assert both.shape == (2, len(IDS), network.config.d_model)
    for text, out in zip(texts, both, strict=True):
        torch.testing.assert_close(out, network(text), atol=1e-5, rtol=0)


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("n_past", [1, 6, 9])
@pytest.mark.parametrize("scaled_by_layer", [False, True])
def test_with_cached_keys_and_values_the_rest_is_the_same(n_past, eager, scaled_by_layer):
    network = random_network(make_config(scale_attn_by_inverse_layer_idx=scaled_by_layer))
    whole, pairs = _record(network, torch.tensor(IDS), eager=eager)
    seen = dict(pairs)
    cache = KeyValueCache.empty(network.config, len(IDS)).extended(n_past)
    for name, kept in (("k", cache.k), ("v", cache.v)):
        kept.copy_(torch.stack([seen[f"h.{n}.{name}"][:, :n_past] for n in range(network.config.n_layers)]))
    rest, rest_pairs = _record(network, torch.tensor(IDS[n_past:]), cache=cache, eager=eager)
    torch.testing.assert_close(rest, whole[n_past:], atol=1e-5, rtol=0)
    assert dict(rest_pairs)["h.1.k"].shape[-2] == len(IDS) - n_past


@pytest.mark.parametrize("eager", [False, True])
def test_a_pass_writes_its_keys_and_values_behind_those_in_the_cache(network, eager):
    texts = torch.tensor([IDS, IDS[::-1]])
    _, pairs = _record(network, texts, eager=eager)
    whole, c = dict(pairs), network.config
    shape = (c.n_layers, 2, c.n_heads, len(IDS) + 2, c.d_head)  # two texts side by side, two places to spare
    cache = KeyValueCache(torch.zeros(shape), torch.zeros(shape))
    for n_new in (1, 6, 3):
        network(texts[:, cache.n_pos : cache.n_pos + n_new], cache=cache, eager=eager)
        cache = cache.extended(n_new)
    for layer in range(c.n_layers):
        torch.testing.assert_close(cache.k[layer], whole[f"h.{layer}.k"], atol=1e-5, rtol=0)
        torch.testing.assert_close(cache.v[layer], whole[f"h.{layer}.v"], atol=1e-5, rtol=0)
    assert not cache.memory_k[..., len(IDS) :, :].any()
    with pytest.raises(ValueError, match="memory for 12 positions; 13 are needed"):
        network(texts[:, :3], cache=cache)


@pytest.mark.parametrize("changes", [{}, {"n_heads": 1}, {"n_layers": 3, "n_heads": 5}])
def test_a_heads_own_weights_make_its_q_k_and_v_and_what_it_adds_to_the_stream(changes):
    network = random_network(make_config(**changes))
    _, pairs = _record(network, torch.tensor(IDS))
    seen, c = dict(pairs), network.config
    close = {"atol": 1e-5, "rtol": 0}
    for layer in range(c.n_layers):
        x, z = seen[f"h.{layer}.ln_1"], seen[f"h.{layer}.z"]
        for head in range(c.n_heads):
            for name in "qkv":
                w, b = (getattr(network, f"{kind}_{name}")(layer, head) for kind in "wb")
                assert (w.shape, b.shape) == ((c.d_model, c.d_head), (c.d_head,))
                torch.testing.assert_close(seen[f"h.{layer}.{name}"][head], x @ w + b, **close)
        added = sum(z[head] @ network.w_o(layer, head) for head in range(c.n_heads))
        bias = network.block(layer).attn.c_proj.bias
        torch.testing.assert_close(seen[f"h.{layer}.attn_out"], added + bias, **close)


def test_a_heads_weights_are_views_and_a_head_that_is_not_there_has_none(network):
    assert network.w_q(1, 2).untyped_storage().data_ptr() == network.block(1).attn.c_attn.weight.data_ptr()
    for name in ("w_q", "w_k", "w_v", "b_q", "b_k", "b_v", "w_o"):
        for layer, head in ((-1, 0), (2, 0), (0, -1), (0, 3)):
            with pytest.raises(SelectionError, match="There is no"):
                getattr(network, name)(layer, head)


def test_a_tied_head_reads_the_token_embedding_and_an_untied_one_its_own():
    for tied in (True, False):
        network = random_network(make_config(tied=tied))
        resid = torch.randn(3, 30, generator=torch.Generator().manual_seed(1))
        unembed = network.state_dict()["wte.weight" if tied else "lm_head.weight"]
        torch.testing.assert_close(network.logits(resid), network.ln_f(resid) @ unembed.T, atol=1e-5, rtol=0)
        assert ("lm_head.weight" in network.state_dict()) is not tied


def test_a_new_network_takes_no_memory():
    network = GPT2(make_config(n_layers=48, d_model=1_500, n_heads=3, d_vocab=50_257, d_mlp=6_000))
    assert {parameter.device.type for parameter in network.parameters()} == {"meta"}


def test_init_weights_is_gpt2s_random_start():
    config = make_config(n_layers=2, n_heads=4, d_model=128, d_mlp=512, d_vocab=1_000)
    network = GPT2(config).init_weights(seed=1)
    stds = {name: float(p.detach().std()) for name, p in network.named_parameters() if p.ndim == 2}
    for name, std in stds.items():
        assert std == pytest.approx(0.01 if "c_proj" in name else 0.02, rel=0.05), name
    assert torch.equal(network.ln_f.weight, torch.ones(128))
    assert not network.state_dict()["h.0.attn.c_attn.bias"].any()
    again = GPT2(config).init_weights(seed=1).state_dict()
    other = GPT2(config).init_weights(seed=2).state_dict()
    assert all(torch.equal(again[name], tensor) for name, tensor in network.state_dict().items())
    assert not torch.equal(other["wte.weight"], network.wte.weight)
