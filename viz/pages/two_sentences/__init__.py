"""Two sentences: one head on a text and on a changed copy of it."""
