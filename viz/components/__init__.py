"""Streamlit components of our own: plain HTML, CSS and JavaScript, no build step, nothing loaded from elsewhere."""
