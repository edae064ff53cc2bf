"""GPT-2 with every step of its attention open to look at. Knows no Streamlit and no plotly."""
