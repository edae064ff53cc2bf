"""Traces: what one pass over a text keeps, and how traces are stored, shared, queued for, and written to files."""
