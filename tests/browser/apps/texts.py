"""Every text that a renderer might take for something else, in every place where the app shows typed text."""

import plotly.graph_objects as go
import streamlit as st

from tests.viz.text.texts import TEXTS
from viz.components.plot import plot
from viz.text.html import as_html
from viz.text.markdown import as_text
from viz.text.plotly import plain

HEIGHT = 24

for number, text in enumerate(TEXTS):
    with st.container(key=f"alone_{number}"):
        st.markdown(as_text(text))
    with st.container(key=f"among_{number}"):
        st.markdown(f"1 “{as_text(text)}” is **{as_text(text)}**: {as_text(text)}")
    st.caption(as_text(text))
    st.button(as_text(text), key=f"button_{number}")
    st.html(f'<p title="{as_html(text)}">{as_html(text)}</p>')
st.multiselect("Options", TEXTS, default=TEXTS, key="options")
with st.container(key="warnings"):
    for text in TEXTS:
        st.warning(as_text(text))
figure = go.Figure(
    go.Scatter(
        x=[0] * len(TEXTS), y=list(range(len(TEXTS))), mode="text", texttemplate=[plain(text) for text in TEXTS]
    ),
    {"height": HEIGHT * len(TEXTS)},
)
plot(figure.to_json(), key="plot", alt="Texts", config={}, min_width=0)
