"""A Streamlit app as small as can be, for the tests of the fixtures."""

import time

import streamlit as st

st.title("Plain")
st.write("word · ⏎ 日本語 🤖")
if st.button("Slow"):
    time.sleep(0.5)
    st.write("done")
