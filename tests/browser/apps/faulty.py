"""A Streamlit app whose page does what no page of ours may do; `?fault=` says what."""

import streamlit as st

FAULTS = {
    "console": "console.error('written on the console')",
    "raise": "setTimeout(() => { throw new Error('raised in the page') })",
    "reject": "Promise.reject(new Error('rejected in the page'))",
    "image": "new Image().src = 'http://elsewhere.example/picture.png'",
    "socket": "new WebSocket('ws://elsewhere.example/socket')",
    "exception": "",
    "none": "new Image().src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='",
}

fault = st.query_params.get("fault", "none")
# The line ends matter: text in one line with a slash in it is taken for a path.
script = f"export default function() {{\n{FAULTS[fault]}\n}}\n"
st.components.v2.component("fault", html="<p>Faulty</p>", js=script)(key="fault")
if fault == "exception":
    raise RuntimeError("raised in the app")
