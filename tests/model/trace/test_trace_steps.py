"""What the pages show of the steps: unscaled scores, the pattern without a mask, the LayerNorms' outputs."""

from __future__ import annotations

import numpy as np
import pytest

from model.trace.trace import Trace
from tests.models import make_config


@pytest.mark.parametrize(("layer", "head"), [(0, 0), (1, 2)])
def test_unscaled_scores_are_the_plain_dot_products(trace: Trace, layer: int, head: int) -> None:
    products = trace.q[layer, head] @ trace.k[layer, head].T
    np.testing.assert_allclose(trace.attn_scores(layer, head, scaled=False), products, atol=1e-5)
    scale = make_config().attn_scale(layer)
    np.testing.assert_allclose(trace.attn_scores(layer, head), products * scale, atol=1e-5)


def test_without_the_mask_every_row_still_adds_up_and_the_last_row_is_the_same(trace: Trace) -> None:
    free = trace.pattern(1, 1, causal=False)
    np.testing.assert_allclose(free.sum(axis=1), 1, atol=1e-6)
    assert (free > 0).all()
    np.testing.assert_allclose(free[-1], trace.pattern(1, 1)[-1], atol=1e-6)


def test_the_layer_norms_feed_attention_and_mlp(trace: Trace) -> None:
    block = trace.network.h[1]
    qkv = trace.ln_1(1) @ block.attn.c_attn.weight.numpy() + block.attn.c_attn.bias.numpy()
    n_heads, d_head = trace.q.shape[1], trace.q.shape[3]
    q = qkv[:, : n_heads * d_head].reshape(trace.n_pos, n_heads, d_head).transpose(1, 0, 2)
    np.testing.assert_allclose(q, trace.q[1], atol=1e-5)
    np.testing.assert_allclose(
        trace.ln_2(1) @ block.mlp.c_fc.weight.numpy() + block.mlp.c_fc.bias.numpy(), trace.mlp_pre(1), atol=1e-5
    )
