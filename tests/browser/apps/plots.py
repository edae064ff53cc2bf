"""A chart of random bars, and buttons that change it, for its tests."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from viz.components.plot import fetch_library, plot

st.session_state.setdefault("seed", 0)
st.session_state.setdefault("n_bars", 6)
st.session_state.setdefault("clicks", [])
if st.query_params.get("early"):
    fetch_library(key="library")
with st.container(horizontal=True):
    st.button("Other numbers", on_click=lambda: st.session_state.update(seed=st.session_state.seed + 1))
    st.button("More bars", on_click=lambda: st.session_state.update(n_bars=st.session_state.n_bars + 1))
    st.button("Nothing")

n = st.session_state.n_bars
heights = np.random.default_rng(st.session_state.seed).uniform(0.2, 1, n)
layout = {
    "height": 300,
    "dragmode": False,  # as in every figure of the app
    "margin": {"l": 80, "r": 80},
    "meta": {"in_view": n - 1},
    "xaxis": {"range": [-0.5, n - 0.5]},
    "yaxis": {"range": [0, 1]},
}
figure = go.Figure(go.Bar(x=np.arange(n), y=heights), layout)
plot(
    figure.to_json(),
    key="bars",
    alt="Random bars",
    config={"displaylogo": False},
    min_width=500,
    on_click=lambda curve, point: st.session_state.clicks.append((curve, point)),
)
st.text(f"server: seed {st.session_state.seed}, clicks {st.session_state.clicks}")
