"""A token strip over random weights, for its tests. `?tokens=15&heads=1&slow=0.3` sets it up."""

import time

import numpy as np
import streamlit as st

from viz.components.token_strip import StripHead, chosen_query, token_strip
from viz.theme import css_variables

WORDS = [
    "<s>",
    "a",
    "·robot",
    "·must",
    "·obey",
    "·the",
    "·orders",
    "·given",
    "·it",
    "<b>bold</b>",
    "·שלום",
    "🙂",
    "é́",
    "⟨E6⟩⟨A9⟩",
]
WORDS += ["·" + "antidisestablishmentarianism" * 2]


def random_pattern(tokens: int, seed: int) -> np.ndarray:
    """Softmax weights as of a random head."""
    weights = np.tril(np.exp(np.random.default_rng(seed).normal(size=(tokens, tokens)) * 2.2))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


def article_pattern() -> np.ndarray:
    """As a random head, but the ninth token's weights are those of the article's picture."""
    pattern = random_pattern(15, 0)
    pattern[8, :9] = 0.001, 0.3, 0.5, 0.002, 0.001, 0.0003, 0.005, 0.0107, 0.18
    return pattern


@st.fragment
def strip(tokens: int, heads: int, slow: float) -> None:
    """The strip, and below it what the server knows."""
    patterns = [article_pattern() if tokens == 15 else random_pattern(tokens, 0), random_pattern(tokens, 1)]
    query = token_strip(
        [WORDS[i % len(WORDS)] for i in range(tokens)],
        [StripHead(name, pattern) for name, pattern in zip(("L3H7", "L5H1")[:heads], patterns, strict=False)],
        query=st.session_state.query,
        revision=st.session_state.text,
        key="strip",
        on_change=lambda: st.session_state.update(query=chosen_query("strip"), heard=st.session_state.heard + 1),
    )
    time.sleep(slow)
    st.text(f"server: {query}, heard {st.session_state.heard}, text {st.session_state.text}")


st.html(f"<style>{css_variables()}</style>")
parameters = st.query_params
st.session_state.setdefault("query", 8)
st.session_state.setdefault("heard", 0)
st.text_input("Text", "first", key="text")
if st.button("Go to 3"):
    st.session_state.query = 3
strip(int(parameters.get("tokens", 15)), int(parameters.get("heads", 1)), float(parameters.get("slow", 0)))
