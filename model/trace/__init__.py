"""What one pass over a text leaves to look at; how traces are stored, shared, queued for, and written to files."""
