"""Figures: pure functions from NumPy arrays and labels to plotly figures.

Nothing here knows Streamlit or the model. Show a figure with `theme=None` and `config=look.CONFIG`, so that its own
colours, fonts and sizes hold.
"""
