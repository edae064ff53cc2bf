"""A Streamlit app whose page does what no page of ours may do; `?faults=raise,image` says what."""

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

faults = st.query_params.get("faults", "none").split(",")
# The line ends matter: text in one line with a slash in it is taken for a path.
script = "\n".join(["export default function() {", *(FAULTS[fault] for fault in faults), "}", ""])
st.components.v2.component("fault", html="<p>Faulty</p>", js=script)(key="fault")
if "exception" in faults:
    raise RuntimeError("raised in the app")
